"""Small notes on disk, one a file, that outlive a kill and a power cut. Synchronous: called in a thread."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["Notes"]

_KEPT = 7 * 86_400.0
_NAME = re.compile(r"[0-9a-f]{1,64}")
_LONGEST = 200


class Notes:
    """Notes by name (hexadecimal) in a folder, which is made on first use. They are kept for a week."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._now = now

    def read(self, name: str) -> str | None:
        """What was noted."""
        try:
            return (self._folder / name).read_text(encoding="utf-8")[:_LONGEST] or None
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, text: str) -> None:
        """Note it, in place of what was noted. When this returns it is on disk."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()
        fresh = self._folder / f"{name}.new"
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._folder / name)
        _sync(self._folder)

    def _sweep(self) -> None:
        oldest = self._now() - _KEPT
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                if _NAME.fullmatch(path.stem) and path.stat().st_mtime < oldest:
                    path.unlink()


def _sync(folder: Path) -> None:
    """A file's new name is on disk when its folder is."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
