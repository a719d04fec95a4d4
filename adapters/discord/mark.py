"""How far Discord was read: the watermark. Pure.

Discord keeps nothing for a bot that is away, but two things help it: a session that is gone on with gets what it
missed (`session`), and channels can be read by REST (`since`, `channels`). Ids of messages grow with time
(https://discord.com/developers/docs/reference#snowflakes).
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field

__all__ = ["CHANNELS", "Mark", "at_time", "time_of"]

CHANNELS = 50
"""Channels whose own last message is remembered: those heard most recently."""
_EPOCH = 1_420_070_400_000
_SKEW = 60.0
"""Seconds by which events of different channels may come out of order."""


def at_time(seconds: float) -> int:
    """The smallest id of that time (epoch seconds)."""
    return max(0, int(seconds * 1000) - _EPOCH) << 22


def time_of(number: int) -> float:
    """When the thing with that id was made (epoch seconds)."""
    return ((number >> 22) + _EPOCH) / 1000


@dataclass(slots=True)
class Mark:
    """session: id, number of the last event, address. since: every message before it was seen, in any channel."""

    session: tuple[str, int, str] | None = None
    since: int | None = None
    channels: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def saw(self, channel: str, message: int) -> None:
        """A message of that channel got its verdict."""
        self.channels[channel] = max(message, self.channels.get(channel, 0))
        self.channels.move_to_end(channel)
        if len(self.channels) > CHANNELS:
            self.channels.popitem(last=False)

    def after(self, channel: str, oldest: int) -> int:
        """The id after which that channel is to be read, no older than `oldest`."""
        since = self.since or 0
        rough = max(0, since - (int(_SKEW * 1000) << 22))
        return max(oldest, self.channels.get(channel, rough))

    def to_text(self) -> str:
        """As it is stored."""
        session = list(self.session) if self.session else None
        return json.dumps([session, self.since, dict(self.channels)], separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> Mark:
        """The inverse of `to_text`; an empty one for anything else."""
        try:
            session, since, channels = json.loads(text or "")
            known = OrderedDict((str(k), int(v)) for k, v in channels.items())
            kept = (str(session[0]), int(session[1]), str(session[2])) if session else None
            return cls(kept, None if since is None else int(since), known)
        except (ValueError, TypeError, AttributeError, IndexError):
            return cls()
