"""The container of Office before 2007, in which an encrypted document of today lies as well ([MS-OFFCRYPTO] 2.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from media.readable import Piece, Unreadable

__all__ = ["read"]

_LOCKED = "EncryptedPackage".encode("utf-16-le")
_MOST = 64 * 1024**2


def read(file: BinaryIO) -> Iterator[Piece]:
    """Nothing but the reason: it needs a password, or it is too old to be read."""
    yield Piece("")
    raise Unreadable("protected" if _LOCKED in file.read(_MOST) else "unsupported")
