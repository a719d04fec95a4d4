"""Reading what a request of the control socket holds.

Texts can be stored: an argument that is no UTF-8 reaches us with lone surrogates in it, which nothing would take.
"""

from __future__ import annotations

from hermes.errors import HermesError
from hermes.messages import JSONObject, scrub_surrogates

__all__ = ["number", "text", "texts"]


def text(request: JSONObject, name: str) -> str:
    """The text `name`. Raises `HermesError` where there is none."""
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise HermesError(f"The request needs a text {name!r}.")
    return scrub_surrogates(value)


def texts(request: JSONObject, name: str) -> list[str]:
    """The list of texts `name`, not empty. Raises `HermesError`."""
    value = request.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(v, str) and v for v in value):
        raise HermesError(f"The request needs a list of texts {name!r}.")
    return [scrub_surrogates(v) for v in value]


def number(request: JSONObject, name: str, default: int, most: int) -> int:
    """The whole number `name`, from 1 to `most`. Raises `HermesError` for what is none."""
    value = request.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise HermesError(f"The request needs a whole number {name!r}.")
    return max(1, min(value, most))
