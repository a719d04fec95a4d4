"""The pauses of what waits for a platform that is away, and their end when it is there again.

Rows whose send did not reach the platform wait with growing pauses. What the platform then shows (`fate.Sign`) ends these
pauses at once; how fast the rows go is the pace's business, as ever.
"""

from __future__ import annotations

import asyncio

from gateway.fate import Sign, is_over
from gateway.outbox import OutboxRow, WaitsFor
from hermes.clock import Clock

__all__ = ["Outages"]

_LEAST = 1 / 16
"""Of a pause, that is kept in any case: what fails alone, while others are taken, is not tried with each of them."""


class Outages:
    """Shared by all lanes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._signs = 0
        self._last: dict[tuple[str, Sign], int] = {}
        self._pauses: dict[tuple[str, WaitsFor], set[asyncio.Task[None]]] = {}

    def mark(self) -> int:
        """The present, for `pause`: what a platform shows from here on is news."""
        return self._signs

    def show(self, instance: str, sign: Sign) -> None:
        """A platform shows that it is there."""
        self._signs += 1
        self._last[instance, sign] = self._signs
        for (name, waits_for), pauses in self._pauses.items():
            if name == instance and is_over(waits_for, sign):
                for pause in pauses:
                    pause.cancel()

    async def pause(self, row: OutboxRow, seconds: float, since: int) -> bool:
        """Return after `seconds`, or before when the row's platform shows what the row waits for, or did after `since`.

        Whether it has shown it.
        """
        if row.waits_for == "time":
            await self._clock.sleep(seconds)
            return False
        await self._clock.sleep(seconds * _LEAST)
        if not self._has_shown(row, since):
            await self._unless_shown(row, seconds * (1 - _LEAST))
        return self._has_shown(row, since)

    def _has_shown(self, row: OutboxRow, since: int) -> bool:
        return any(
            number > since and instance == row.target.instance and is_over(row.waits_for, sign)
            for (instance, sign), number in self._last.items()
        )

    async def _unless_shown(self, row: OutboxRow, seconds: float) -> None:
        pause = asyncio.create_task(self._clock.sleep(seconds), name="pause")
        pauses = self._pauses.setdefault((row.target.instance, row.waits_for), set())
        pauses.add(pause)
        try:
            await asyncio.wait((pause,))
        finally:
            pauses.discard(pause)
            pause.cancel()
