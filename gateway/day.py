"""The day of whoever runs the daemon."""

from __future__ import annotations

import time

__all__ = ["midnight"]


def midnight(now: float | None = None, *, days_ago: int = 0) -> float:
    """When today began, or a day before it, in the process's time zone; epoch seconds.

    Days of 23 and of 25 hours count as days. Where a clock change leaves a midnight out, its day began with the change.
    """
    today = time.localtime(now)
    noon = (today.tm_year, today.tm_mon, today.tm_mday - days_ago, 12, 0, 0, 0, 0, -1)
    wanted = time.localtime(time.mktime(noon))[:3]  # a month and a year further back where need be
    begins = (time.mktime((*wanted, 0, 0, 0, 0, 0, is_summer)) for is_summer in (-1, 0, 1))
    return min(begin for begin in begins if time.localtime(begin)[:3] == wanted)
