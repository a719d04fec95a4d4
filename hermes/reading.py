"""What a document says, or why that is not known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["ReadDocument", "Reading", "ReadingLimits", "Reason"]

Reason = Literal[
    "protected", "damaged", "empty", "unsupported", "too_long", "timeout", "memory", "not_installed", "failed"
]
"""Why a document's text is not there, or not whole.

protected: it needs a password. damaged: it cannot be read as what it is. empty: it holds no text (a scan).
unsupported: nobody here reads this type. too_long: the rest is left out. timeout, memory: reading took more than it may.
not_installed: the extra `documents` is missing. failed: the file could not be opened, or its reader not be started.
"""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one document may take.

    characters: of the text. seconds: until its end. memory: bytes of address space of the process that reads.
    """

    characters: int = 60_000
    seconds: float = 20.0
    memory: int = 768 * 1024**2


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a document.

    Without a reason that is all of it. With a reason and a text, the text is the first part, and `place` says where it
    ends ("page 12 of 50", "" where there are no such places); with a reason and no text there is nothing to show.
    """

    text: str = ""
    reason: Reason | None = None
    place: str = ""


ReadDocument = Callable[[Path, str, ReadingLimits], Awaitable[Reading]]
"""Reads the file at a path as the media type that its content has. Whatever the file holds, nothing is raised."""
