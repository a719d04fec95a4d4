"""Children that nobody waits for: as process 1 of a container, a program gets everybody's orphans.

Whatever a tool or `docker exec` left behind is given to process 1 by the kernel (wait(2), credentials(7)) and stays in the
table of processes until that waits for it. Children of our own are waited for by whoever began them, at once; so
only what was found dead at two looks, some time apart, is an orphan's.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from hermes.clock import Clock

__all__ = ["bury", "is_everybodys_parent", "watch"]

_EVERY = 10.0
_PROC = Path("/proc")


def is_everybodys_parent() -> bool:
    """Whether orphans come to this process."""
    return os.getpid() == 1


async def watch(clock: Clock) -> None:
    """Look for dead orphans for ever."""
    dead: frozenset[int] = frozenset()
    while True:
        await clock.sleep(_EVERY)
        dead = await asyncio.to_thread(bury, dead)


def bury(before: frozenset[int]) -> frozenset[int]:
    """Wait for those children that are dead and were so `before`; returns the other dead ones. Blocks shortly."""
    dead = _dead_children()
    for pid in dead & before:
        with suppress(ChildProcessError):  # somebody has waited for it meanwhile
            os.waitpid(pid, os.WNOHANG)
    return dead - before


def _dead_children() -> frozenset[int]:
    """Process ids; proc_pid_stat(5): `pid (name) state parent ...`, where the name may hold anything."""
    ours, dead = str(os.getpid()), set()
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):  # it ended while we looked
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[:2] == ["Z", ours]:
                dead.add(int(folder.name))
    return frozenset(dead)
