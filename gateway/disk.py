"""How much of the disk a home takes, by kind, and whether there is room left. Blocks; imports next to nothing."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from hermes.home import Home

__all__ = ["Disk", "DiskUse", "is_full", "low", "measure"]

_FRESH = 5.0
"""Seconds that a measurement is used again."""
_LEAST_FREE = 0.1
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_SQLITE_FULL = 13
_DEEPEST = 64


class Disk(TypedDict):
    """Bytes: those of the home by kind, and the free and all of the disk that it lies on."""

    kinds: dict[str, int]
    free: int
    total: int


def measure(home: Home) -> Disk:
    """Look at the disk now. What is not there counts nothing; what vanishes meanwhile is passed over."""
    state = home.state
    kinds = {
        "database": _size(state),
        "wal": _size(Path(f"{state}-wal")),
        "transcripts": _below(home.root / "agents"),
        "spills": _below(home.spills),
        "media": _below(home.media),
        "logs": _below(home.logs),
        "backups": _below(home.backups) + sum(map(_size, home.root.glob("state.db.*bak"))),
        "models": _below(home.models),
    }
    free, total = _room(home.root)
    return Disk(kinds=kinds, free=free, total=total)


def low(disk: Disk) -> str | None:
    """A sentence when less than a tenth is free; pure."""
    if disk["free"] >= disk["total"] * _LEAST_FREE:
        return None
    share = 100 * disk["free"] / max(disk["total"], 1)
    return f"only {disk['free'] / 1e9:.1f} GB ({share:.0f} %) of the home's disk are free; make room"


def is_full(error: BaseException | None) -> bool:
    """Whether a full disk (or quota) is behind the error, however deep."""
    for _ in range(_DEEPEST):
        if error is None:
            return False
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF == _SQLITE_FULL or (isinstance(error, OSError) and error.errno in _FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


class DiskUse:
    """Measures a home, and remembers it for a few seconds. To be called in threads."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._last: tuple[float, Disk] | None = None

    def now(self) -> Disk:
        """The last measurement, or a new one when it is old."""
        last = self._last
        if last is not None and time.monotonic() - last[0] < _FRESH:
            return last[1]
        found = measure(self._home)
        self._last = (time.monotonic(), found)
        return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _below(folder: Path) -> int:
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118  a third of a Path's time
            except OSError:
                continue


def _room(root: Path) -> tuple[int, int]:
    for place in (root, *root.parents):
        try:
            found = os.statvfs(place)
        except OSError:
            continue
        return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    return 0, 0
