"""The bytes of a mail that goes out, in blocks: what is written here, and files, which are read while they are sent."""

from __future__ import annotations

import asyncio
import re
from base64 import encodebytes
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes.errors import Rejected
from hermes.files import StoredFile

__all__ = ["Content", "Where", "encoded_size", "wrapped"]

_LINE = 57
"""Bytes in a line of base64: RFC 2045, section 6.8, wants at most 76 signs."""
_PIECE = _LINE * 1024


Where = Callable[[StoredFile], Path]
"""Where a file lies; raises `FileNotFoundError`."""


def _nowhere(file: StoredFile) -> Path:
    raise FileNotFoundError(file.name)


@dataclass(frozen=True, slots=True)
class Content:
    """A whole mail. Each block ends with a line's end, so that each begins a line. where: its files are found by it."""

    blocks: tuple[bytes | StoredFile, ...]
    where: Where = _nowhere

    @property
    def size(self) -> int:
        """Its bytes, as they go over the wire before dots are doubled."""
        return sum(len(b) if isinstance(b, bytes) else encoded_size(b.size) for b in self.blocks)

    def check(self) -> None:
        """Raises `Rejected` when one of its files is not there as it was. Blocking."""
        for block in self.blocks:
            if isinstance(block, StoredFile):
                try:
                    found = self.where(block).stat().st_size
                except OSError:
                    found = -1
                if found != block.size:
                    raise Rejected(f"The file {block.name} is no longer there.")

    async def pieces(self) -> AsyncIterator[bytes]:
        """All of it in pieces of whole lines; files are read beside the loop. Raises `Rejected` as `check`."""
        for block in self.blocks:
            if isinstance(block, bytes):
                yield block
                continue
            lines = _read(block, self.where)
            while (piece := await asyncio.to_thread(next, lines, None)) is not None:
                yield piece


def _read(file: StoredFile, where: Where) -> Iterator[bytes]:
    """The file's base64. One that has become shorter or longer is noticed before its last line."""
    left = file.size
    try:
        with where(file).open("rb") as stream:
            while left > 0:
                data = stream.read(min(_PIECE, left))
                left -= len(data)
                if not data or (left == 0 and stream.read(1)):
                    break
                yield encodebytes(data).replace(b"\n", b"\r\n")
            else:
                return
    except OSError as e:
        raise Rejected(f"The file {file.name} cannot be read: {e.strerror}.") from e
    raise Rejected(f"The file {file.name} is no longer as it was.")


def encoded_size(size: int) -> int:
    """Bytes that a file of that size takes in a mail."""
    return (size + 2) // 3 * 4 + (size + _LINE - 1) // _LINE * 2


def wrapped(block: bytes) -> bytes:
    """A block as SMTP sends it, with the dots at the beginning of lines doubled: RFC 5321, section 4.5.2."""
    return re.sub(rb"(?m)^\.", b"..", block)
