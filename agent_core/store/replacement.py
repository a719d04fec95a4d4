"""A file's next content, written piece by piece and put in its place at once, durably, with mode 0600.

Everything here blocks; call it off the event loop.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

__all__ = ["Replacement", "replace_file", "sync_file", "write_all"]

_numbers = itertools.count()


class Replacement:
    """What `path` shall hold. Nothing of it is seen before `commit`; `discard` it after an error.

    Raises `OSError`, and then the old file stays.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        own = f".{path.name}.{os.getpid()}."
        for left in path.parent.glob(f".{path.name}.*.tmp"):
            if not left.name.startswith(own):  # of a process that was killed: a home has one at a time
                left.unlink(missing_ok=True)
        self._unfinished = path.with_name(f"{own}{next(_numbers)}.tmp")
        self._descriptor: int | None = os.open(self._unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    def write(self, text: str) -> None:
        """Append a piece."""
        if self._descriptor is None:
            raise ValueError("this replacement is closed")
        write_all(self._descriptor, text.encode())

    def commit(self) -> None:
        """Put it in the file's place."""
        if self._descriptor is None:
            raise ValueError("this replacement is closed")
        os.fsync(self._descriptor)
        self._close()
        self._unfinished.replace(self._path)

    def discard(self) -> None:
        """Leave the old file as it is; nothing after `commit`."""
        self._close()
        self._unfinished.unlink(missing_ok=True)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def replace_file(path: Path, text: str) -> None:
    """Replace the file atomically and durably. Raises `OSError`, and then the old one stays."""
    fresh = Replacement(path)
    try:
        fresh.write(text)
        fresh.commit()
    finally:
        fresh.discard()


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_file(path: Path) -> None:
    """Have a file or folder on disk when this returns. Not for an open database: closing would drop its locks."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
