"""Fields that Slack alone has. Pure; whatever is not as it should be is a `ValueError`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adapters.fields import text

__all__ = ["identifier", "number"]

_TS = re.compile(r"[0-9]{1,15}(\.[0-9]{1,12})?")


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
