"""How late the event loop is: the one figure that tells whether something blocks it."""

from __future__ import annotations

import asyncio

import structlog

__all__ = ["LoopLag"]

log = structlog.get_logger("gateway.lag")

_EVERY = 0.5
_NOTABLE = 0.5


class LoopLag:
    """Measures by sleeping: `last` and `worst` (since start) in seconds; `tasks` that the loop holds."""

    def __init__(self) -> None:
        self.last = 0.0
        self.worst = 0.0
        self.tasks = 0

    async def measure(self) -> None:
        """Run for ever."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(_EVERY)
            self.last = max(0.0, loop.time() - before - _EVERY)
            self.worst = max(self.worst, self.last)
            self.tasks = len(asyncio.all_tasks())
            if self.last > _NOTABLE:
                log.warning("loop.late", seconds=round(self.last, 3))
