"""The process that holds a home, seen from another one."""

from __future__ import annotations

import fcntl
import os
import select
import time
from contextlib import suppress

from gateway.home import read_pid
from hermes.home import Home

__all__ = ["has_ended", "holder"]


def holder(home: Home) -> int | None:
    """The pid of the process that has the home's lock; `None` when nobody has it."""
    try:
        descriptor = os.open(home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return read_pid(home.lock)
    finally:
        os.close(descriptor)  # which lets go of the lock
    return None


def has_ended(pid: int, seconds: float) -> bool:
    """Whether the process ends within `seconds`; waits for it."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):
        return _has_ended_seen_by_looking(pid, seconds)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def _has_ended_seen_by_looking(pid: int, seconds: float) -> bool:
    """For systems without pidfd_open(2), where nothing tells that somebody else's process ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(PermissionError):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
        time.sleep(0.05)
    return False
