"""Whether the home is still there under a running daemon: SQLite goes on writing to files that nobody can find."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import structlog

from hermes.clock import Clock

__all__ = ["Presence"]

log = structlog.get_logger("gateway.presence")

_EVERY = 2.0


class Presence:
    """Looks at the database's place every two seconds; `fault` is a sentence once another file or none is there."""

    def __init__(self, state: Path, clock: Clock) -> None:
        self.fault: str | None = None
        self._state = state
        self._clock = clock

    async def watch(self) -> None:
        """Run for ever."""
        first = await asyncio.to_thread(_identity, self._state)
        while True:
            await self._clock.sleep(_EVERY)
            same = await asyncio.to_thread(_identity, self._state) == first
            if not same and self.fault is None:
                self.fault = (
                    f"{self._state} was removed or replaced under the running daemon: what is written now is "
                    "lost at its end. Put the home back and restart Hermes."
                )
                log.error("home.gone", state=str(self._state))
            elif same:
                self.fault = None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  one call
    except OSError:
        return None
    return found.st_dev, found.st_ino
