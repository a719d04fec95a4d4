"""Standard streams that are always there."""

from __future__ import annotations

import os
import sys

__all__ = ["open_missing"]


def open_missing() -> None:
    """Open /dev/null as each of the descriptors 0 to 2 that whoever started us had closed.

    Otherwise the next socket or database gets that number, and whatever prints writes into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
