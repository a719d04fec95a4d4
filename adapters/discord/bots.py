"""How often another bot is heard: two that answer each other would never end. Pure bookkeeping."""

from __future__ import annotations

from collections import OrderedDict, deque

from hermes.config import Rate

__all__ = ["BotBook"]

_BOTS = 256


class BotBook:
    """Times (monotonic seconds) at which each bot was heard; those heard least recently go first."""

    def __init__(self, rate: Rate | None) -> None:
        self._rate = rate
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def hears(self, bot: str, now: float) -> bool:
        """Whether a message of `bot` may pass now; then it is booked."""
        if self._rate is None:
            return True
        times = self._times.setdefault(bot, deque())
        self._times.move_to_end(bot)
        if len(self._times) > _BOTS:
            self._times.popitem(last=False)
        while times and times[0] <= now - self._rate.seconds:
            times.popleft()
        if len(times) >= self._rate.count:
            return False
        times.append(now)
        return True
