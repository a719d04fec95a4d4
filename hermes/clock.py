"""Time as a service, so that nothing that waits has to be slow in a test."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Wall time, monotonic time and sleep. All in seconds."""

    def time(self) -> float:
        """Seconds since the epoch; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of monotonic time; cancellable."""
        ...


class SystemClock:
    """The machine's clock."""

    def time(self) -> float:
        """See `Clock.time`."""
        return time.time()

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`; nothing and less are a turn of the loop."""
        await asyncio.sleep(max(0.0, seconds))
