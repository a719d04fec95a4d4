"""Text in whatever encoding it is."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from media.charset import charset_of
from media.latin import is_rather_western, is_western
from media.readable import Piece, Unreadable

__all__ = ["read"]

_CHUNK = 65_536


def read(file: BinaryIO) -> Iterator[Piece]:
    """The text as it stands."""
    head = file.read(_CHUNK)
    codec = charset_of(head)
    if codec is None:
        raise Unreadable("damaged")
    decoder = codecs.getincrementaldecoder(_guessed(head) if codec == "cp1252" else codec)("replace")
    chunk = head
    while chunk:
        yield Piece(decoder.decode(chunk))
        chunk = file.read(_CHUNK)
    yield Piece(decoder.decode(b"", final=True))


def _guessed(head: bytes) -> str:
    """The codec of one byte a character. Many look alike: what is not plainly Western is asked of who has seen many.

    Who has takes Western text of few such letters for Central European.
    """
    if is_western(head):
        return "cp1252"
    try:
        from charset_normalizer import from_bytes  # noqa: PLC0415  # a part of the extra
    except ModuleNotFoundError:
        return "cp1252"
    best = from_bytes(head).best()
    if best is None or (best.encoding == "cp1250" and is_rather_western(head)):
        return "cp1252"
    return best.encoding
