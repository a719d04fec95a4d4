"""Whether the home is still there under a running daemon: SQLite goes on writing to files that nobody can find."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import structlog

from hermes.clock import Clock
from hermes.home import Home

__all__ = ["Presence"]

log = structlog.get_logger("gateway.presence")

_EVERY = 2.0

_Identity = tuple[int, int] | None


class Presence:
    """Looks at the home's place every two seconds; `fault` is a sentence once another database or none is there.

    on_taken: called once when another process has made a home in that place. Two must not go on side by side: both
    would ask the platforms for the same messages.
    """

    def __init__(self, home: Home, clock: Clock, on_taken: Callable[[], None]) -> None:
        self.fault: str | None = None
        self._home = home
        self._clock = clock
        self._on_taken = on_taken

    async def watch(self) -> None:
        """Run until the home is another's."""
        first_state, first_lock = await self._look()
        while True:
            await self._clock.sleep(_EVERY)
            state, lock = await self._look()
            if lock not in (None, first_lock):
                log.error("home.taken", home=str(self._home.root))
                self._on_taken()
                return
            self._judge(same=state == first_state)

    def _judge(self, *, same: bool) -> None:
        if not same and self.fault is None:
            self.fault = (
                f"{self._home.state} was removed or replaced under the running daemon: what is written now is "
                "lost at its end. Put the home back and restart Hermes."
            )
            log.error("home.gone", state=str(self._home.state))
        elif same:
            self.fault = None

    async def _look(self) -> tuple[_Identity, _Identity]:
        def look() -> tuple[_Identity, _Identity]:
            return _identity(self._home.state), _identity(self._home.lock)

        return await asyncio.to_thread(look)


def _identity(path: Path) -> _Identity:
    try:
        found = os.stat(path)  # noqa: PTH116  one call
    except OSError:
        return None
    return found.st_dev, found.st_ino
