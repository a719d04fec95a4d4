"""What hostile input may cost, said without seconds: machines differ, and so do two moments of one machine."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["assert_linear", "cost"]

_TIMES = 16
_SLACK = 5  # between the 16 of what is linear and the 256 of what goes by the square
_LEAST = 0.01  # s of CPU: less is noise


def assert_linear(run: Callable[[int], object], size: int) -> None:
    """Fail if `run(size)` takes more than five times what sixteen times `run(size / 16)` takes, in CPU of this thread."""
    run(2)  # what is imported or compiled on first use
    small = max(min(cost(run, size // _TIMES) for _ in range(2)), _LEAST)
    allowed = _TIMES * _SLACK * small
    # A moment in which the machine is slow is not held against it.
    assert any(cost(run, size) < allowed for _ in range(2)), f"{size} take more than {allowed:.2f} s"


def cost(run: Callable[[int], object], size: int) -> float:
    """Seconds of CPU that this thread takes for it."""
    began = time.thread_time()
    run(size)
    return time.thread_time() - began
