"""How fast we send: sliding windows per bot and per chat. Pure bookkeeping; the waiting is delivery's.

Typing and other small signs give way: they are only let through when nothing else wants the room.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from hermes.adapter import Pace
from hermes.config import Rate

__all__ = ["Pacer", "Window"]

_MARGIN = 1.02
"""Windows are this much longer than the platform says: two calls an interval apart here may arrive closer together there."""


class Window:
    """At most `count` in any `seconds`."""

    __slots__ = ("_count", "_seconds", "_times")

    def __init__(self, rate: Rate) -> None:
        self._count = rate.count
        self._seconds = rate.seconds * _MARGIN
        self._times: deque[float] = deque()

    def wait(self, now: float) -> float:
        """Seconds until there is room; 0 when there is."""
        while self._times and self._times[0] <= now - self._seconds:
            self._times.popleft()
        if len(self._times) < self._count:
            return 0.0
        return self._times[-self._count] + self._seconds - now

    def book(self, at: float) -> None:
        """Something is sent at `at`."""
        self._times.append(at)

    def share(self, now: float) -> float:
        """How much of the room is used, 0 to 1."""
        self.wait(now)
        return len(self._times) / self._count


class Pacer:
    """The windows of one platform instance."""

    def __init__(self, pace: Pace, chats: int = 4096) -> None:
        self._pace = pace
        self._chats = chats
        self._bot = Window(pace.bot) if pace.bot else None
        self._windows: OrderedDict[str, list[Window]] = OrderedDict()
        self._hushed: dict[str, float] = {}

    def wait(self, chat: str, now: float, *, group: bool = False) -> float:
        """Seconds until something may go to `chat`."""
        windows = self._of(chat, group=group)
        return max((w.wait(now) for w in windows), default=0.0)

    def book(self, chat: str, now: float, *, group: bool = False) -> None:
        """Something goes to `chat` now."""
        for w in self._of(chat, group=group):
            w.book(now)

    def may_sign(self, chat: str, now: float, *, group: bool = False) -> bool:
        """Whether there is room to spare for a typing sign: half of the bot's window, and the chat's own."""
        if self._hushed.get(chat, now) > now:
            return False
        if self._bot is not None and self._bot.share(now) > 0.5:
            return False
        return self.wait(chat, now, group=group) == 0.0

    def hush(self, chat: str, now: float, until: float) -> None:
        """The platform asked for a pause: no signs to `chat` before `until`."""
        self._hushed = {c: t for c, t in self._hushed.items() if t > now}
        self._hushed[chat] = until

    def sign(self, now: float) -> None:
        """A typing sign goes out: it counts for the bot, not against the chat's next message."""
        if self._bot is not None:
            self._bot.book(now)

    def _of(self, chat: str, *, group: bool) -> list[Window]:
        own = self._windows.get(chat)
        if own is None:
            rates = [r for r in (self._pace.chat, self._pace.group if group else None) if r is not None]
            own = [Window(r) for r in rates]
            self._windows[chat] = own
            if len(self._windows) > self._chats:
                self._windows.popitem(last=False)
        else:
            self._windows.move_to_end(chat)
        return own if self._bot is None else [self._bot, *own]
