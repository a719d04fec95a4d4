"""PDF, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from pypdf import PdfReader
from pypdf.errors import DependencyError

from media.readable import Piece, Unreadable

__all__ = ["read"]


def read(file: BinaryIO) -> Iterator[Piece]:
    """The text of each page under its number. A page that cannot be read leaves the others alone."""
    document = _opened(file)
    total = len(document.pages)
    damaged = 0
    for number in range(1, total + 1):
        place = f"page {number} of {total}"
        try:
            text = document.pages[number - 1].extract_text().strip()
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # fonts and streams are broken in more ways than the library has errors
            damaged += 1
            yield Piece(f"[Page {number} cannot be read.]\n\n" if damaged < number else "", place)
            continue
        yield Piece(f"[Page {number}]\n{text}\n\n" if text else "", place)
    if damaged == total:
        raise Unreadable("damaged")


def _opened(file: BinaryIO) -> PdfReader:
    document = PdfReader(file)
    try:
        # Most locked documents are only locked against printing: their password for reading is empty.
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("protected")
    except DependencyError as error:
        raise Unreadable("not_installed") from error
    return document
