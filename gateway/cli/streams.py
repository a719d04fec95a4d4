"""Standard streams that are always there and take any text."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

__all__ = ["make_ready"]


def make_ready() -> None:
    """Have both streams open, and letters that their encoding lacks written as escapes."""
    _open_missing()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _open_missing() -> None:
    # Of the descriptors 0 to 2, what whoever started us had closed becomes /dev/null. Otherwise the next socket or
    # database gets that number, and whatever prints writes into it.
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
