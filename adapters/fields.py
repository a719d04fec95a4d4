"""Fields of what platforms send, read with care. Pure; whatever is not as it should be is a `ValueError`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hermes.messages import scrub_surrogates

__all__ = ["integer", "mapping", "objects", "text", "whole"]


def whole(value: object, what: str) -> Mapping[str, Any]:
    """What was sent, which is an object."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is no object")  # noqa: TRY004  what came from outside is a wrong value
    return value


def mapping(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object."""
    return whole(holder.get(key), key)


def objects(holder: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; what is none is passed over, and so is a list that is none."""
    value = holder.get(key)
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, Mapping))


def integer(holder: Mapping[str, Any], key: str) -> int:
    """A whole number."""
    value = holder.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} is no integer")  # noqa: TRY004  what came from outside is a wrong value
    return value


def text(holder: Mapping[str, Any], key: str) -> str:
    """A text, empty where there is none. Halves of surrogate pairs, which nothing can store, are replaced."""
    value = holder.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")  # noqa: TRY004  what came from outside is a wrong value
    return scrub_surrogates(value)
