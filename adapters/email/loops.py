"""Two machines that answer each other, and neither says that it is one: the bound for mails that are answered."""

from __future__ import annotations

from collections import OrderedDict, deque

from hermes.config import Rate
from hermes.events import Event, Ignored, Parsed

__all__ = ["LoopGuard"]

_MOST = 10_000


class LoopGuard:
    """Counts what is answered, per sender and per sender in a conversation (monotonic seconds).

    Bounded: who was heard least recently goes first.
    """

    def __init__(self, thread: Rate | None, sender: Rate | None) -> None:
        self._rates = {"thread": thread, "sender": sender}
        self._times: OrderedDict[tuple[str, ...], deque[float]] = OrderedDict()

    def judge(self, item: Parsed, now: float) -> Parsed:
        """The item, or why it is not answered: silently, since a notice would keep the loop alive."""
        if not isinstance(item, Event):
            return item
        who = item.sender.id  # a forged mail does not count against the one it claims to be from
        places = (("thread", who, item.thread or ""), ("sender", who))
        for place in places:
            if self._is_full(place, now):
                return Ignored(f"too many mails in one {'conversation' if place[0] == 'thread' else 'hour'}")
        for place in places:
            self._note(place, now)
        return item

    def _is_full(self, place: tuple[str, ...], now: float) -> bool:
        rate, times = self._rates[place[0]], self._times.get(place)
        if rate is None or times is None:
            return False
        while times and times[0] <= now - rate.seconds:
            times.popleft()
        return len(times) >= rate.count

    def _note(self, place: tuple[str, ...], now: float) -> None:
        self._times.setdefault(place, deque()).append(now)
        self._times.move_to_end(place)
        if len(self._times) > _MOST:
            self._times.popitem(last=False)
