"""What goes wrong in a row while an adapter connects or listens: how long to wait, what to say, and not too often."""

from __future__ import annotations

import random

import structlog

from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import AdapterError, Conflict, NotTaken, OutcomeUnknown, Unauthorized, Unreachable

__all__ = ["Troubles", "pause_after"]

_log = structlog.get_logger("adapters")
_LONGEST_PAUSE = 30.0
_SAID_EVERY = 60.0


def pause_after(failures: int, error: AdapterError, chance: float) -> float:
    """Seconds to wait after that many failures in a row; `chance` (0 to 1) spreads what fails together."""
    if isinstance(error, NotTaken) and error.retry_after is not None:
        return error.retry_after
    pause = min(_LONGEST_PAUSE, float(2 ** min(failures, 10)))
    return pause if isinstance(error, Conflict) else pause * (0.5 + chance / 2)


class Troubles:
    """Failures in a row, until one try succeeds. conflicts: those in which somebody else used the account."""

    def __init__(self, clock: Clock, instance: str, intake: Intake) -> None:
        self._clock = clock
        self._instance = instance
        self._intake = intake
        self._said: dict[str, float] = {}
        self._reported: str | None = "new"
        self.failures = 0
        self.conflicts = 0

    async def met(self, error: AdapterError) -> None:
        """Report a failure and wait. Raises it when waiting cannot help."""
        if isinstance(error, Unauthorized):
            raise error
        self.failures += 1
        if isinstance(error, Conflict):
            self.conflicts += 1
        reason = "conflict" if isinstance(error, Conflict) else str(error)
        if reason != self._reported:
            self._reported = reason
            self._intake.state("connecting", reason)
        pause = pause_after(self.failures, error, random.random())
        self._say(error, pause)
        await self._wait(pause, answered=not isinstance(error, Unreachable | OutcomeUnknown))

    def over(self) -> None:
        """The connection works."""
        self.failures = self.conflicts = 0
        if self._reported is not None:
            self._reported = None
            self._intake.state("connected")

    async def _wait(self, pause: float, *, answered: bool) -> None:
        """Wait. A server that answers is alive, however long it makes us wait; starting anew would not help."""
        while pause > 0:
            if answered:
                self._intake.alive()
            step = min(_LONGEST_PAUSE, pause)
            await self._clock.sleep(step)
            pause -= step

    def _say(self, error: AdapterError, pause: float) -> None:
        now, kind = self._clock.monotonic(), type(error).__name__
        if now - self._said.get(kind, float("-inf")) >= _SAID_EVERY:
            self._said[kind] = now
            _log.warning("adapter.trouble", instance=self._instance, error=str(error), pause=round(pause, 1))
