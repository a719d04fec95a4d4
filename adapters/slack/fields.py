"""Fields of what Slack sends, read with care. Pure; whatever is not as it should be is a `ValueError`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hermes.messages import scrub_surrogates

__all__ = ["identifier", "mapping", "number", "text"]

_TS = re.compile(r"[0-9]{1,15}(\.[0-9]{1,12})?")


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is no object")  # noqa: TRY004  what came from outside is a wrong value
    return value


def identifier(holder: Mapping[str, Any], key: str) -> str:
    """The id of something: a text that is there and not endless."""
    value = text(holder, key)
    if not value or len(value) > 256:
        raise ValueError(f"{key} is no id")
    return value


def number(holder: Mapping[str, Any], key: str) -> str:
    """A message's number. It is text: as a float its last digits would be lost."""
    value = text(holder, key)
    if not _TS.fullmatch(value):
        raise ValueError(f"{key} is no message number")
    return value


def text(holder: Mapping[str, Any], key: str) -> str:
    """A text, empty where there is none. Halves of surrogate pairs, which nothing can store, are replaced."""
    value = holder.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")  # noqa: TRY004  what came from outside is a wrong value
    return scrub_surrogates(value)
