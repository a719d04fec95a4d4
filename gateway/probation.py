"""Who may run beside whom after a crash, so that a turn that kills the process is found and nobody else is blamed for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

__all__ = ["Probation"]


class Probation:
    """Turns on their last start run one at a time, and the other resumed turns wait for them.

    A turn is on probation until it stores a step or ends. If the process dies meanwhile, it was that turn: whatever else had been
    open then has not begun. Turns that are new are not held up.
    """

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._left = 0
        self._over = asyncio.Event()
        self._over.set()

    def expect(self) -> None:
        """A turn on its last start will come; said for each of them before any resumed turn runs."""
        self._left += 1
        self._over.clear()

    @asynccontextmanager
    async def entered(self, *, resumed: bool, last_start: bool) -> AsyncIterator[Callable[[], None]]:
        """Wait until such a turn may run. Gives what to call when the turn has stored a step."""
        if not last_start:
            if resumed:
                await self._over.wait()
            yield lambda: None
            return
        passed = asyncio.Event()
        try:
            await self._one.acquire()
            try:
                yield lambda: self._passed(passed, release=True)
            finally:
                self._passed(passed, release=True)
        finally:
            self._passed(passed, release=False)

    def _passed(self, passed: asyncio.Event, *, release: bool) -> None:
        """Once: let the next one run."""
        if passed.is_set():
            return
        passed.set()
        if release:
            self._one.release()
        self._left -= 1
        if self._left <= 0:
            self._over.set()
