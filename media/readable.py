"""Which media types can be read, and who reads them; what a reader gives and raises.

A reader is a function of an open file that yields the text piece by piece. It runs in the child process alone, where it
may take what it likes and raise what it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from hermes.reading import Reason
from media.packages import DOCX, PPTX, XLSX

__all__ = ["READERS", "Piece", "Read", "Unreadable", "reader_of"]

_ODF = "application/vnd.oasis.opendocument."
READERS: Mapping[str, str] = {
    "application/pdf": "media.formats.pdf:read",
    DOCX: "media.formats.office:read_words",
    PPTX: "media.formats.office:read_slides",
    XLSX: "media.formats.sheets:read",
    _ODF + "text": "media.formats.opendocument:read",
    _ODF + "presentation": "media.formats.opendocument:read",
    _ODF + "spreadsheet": "media.formats.opendocument:read",
    "application/x-ole-storage": "media.formats.ole:read",
    "text/html": "media.formats.hypertext:read",
}
_TEXT = "media.formats.plain:read"
_ALSO_TEXT = frozenset({"application/json", "application/xml", "image/svg+xml"})


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text, and where in the document it ends ("page 3 of 9"); "" where there are no such places."""

    text: str
    place: str = ""


Read = Callable[[BinaryIO], Iterator[Piece]]


class Unreadable(Exception):
    """The document's text cannot be had."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


def reader_of(mime: str) -> str | None:
    """The reader of a media type as "module:function"; `None`: nobody reads it."""
    found = READERS.get(mime)
    if found is None and (mime.startswith("text/") or mime in _ALSO_TEXT):
        return _TEXT
    return found
