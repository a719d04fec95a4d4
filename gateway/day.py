"""The day of whoever runs the daemon."""

from __future__ import annotations

import time

__all__ = ["midnight"]


def midnight(now: float | None = None) -> float:
    """When today began, in the process's time zone; epoch seconds."""
    day = time.localtime(now)
    return time.mktime((day.tm_year, day.tm_mon, day.tm_mday, 0, 0, 0, 0, 0, -1))
