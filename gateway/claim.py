"""Taking a home for this process: made, looked at, locked. A chat that holds it is asked to let go."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from gateway.control import Role
from gateway.control_client import ControlRefused, ask
from gateway.home import HomeLock, prepare
from hermes.errors import HomeHeld
from hermes.home import Home

__all__ = ["YIELD_SECONDS", "claim_home"]

YIELD_SECONDS = 30.0
"""How long a starting daemon waits for a chat to finish its turn and let go."""
_LOOK_EVERY = 0.1


async def claim_home(home: Home, stack: AsyncExitStack, role: Role) -> str | None:
    """Hold the home until `stack` closes. Returns a note for the log.

    Raises `HomeError`, and `HomeHeld` (exit 73).
    """
    note = await asyncio.to_thread(prepare, home)
    lock = HomeLock(home)
    await asyncio.to_thread(_acquire, home, lock, role)
    stack.callback(lock.release)
    return note


def _acquire(home: Home, lock: HomeLock, role: Role) -> None:
    try:
        lock.acquire()
    except HomeHeld:
        if role == "chat" or not _asked_to_yield(home):
            raise
    else:
        return
    deadline = time.monotonic() + YIELD_SECONDS
    while True:
        try:
            lock.acquire()
        except HomeHeld:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_LOOK_EVERY)  # in a thread: the kernel tells nobody when a lock becomes free
        else:
            return


def _asked_to_yield(home: Home) -> bool:
    """Whether whoever holds the home is a chat that will let go."""
    try:
        answer = ask(home, "yield")
    except ControlRefused:
        return False
    return answer is not None
