"""What waits for one session, and whose turn it is."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gateway.active import ActiveTurn, TurnWork
from gateway.busy import gathered
from gateway.commands import parse_command
from gateway.ledger import InboxRow

__all__ = ["MOST_GATHERED", "Mailbox"]

MOST_GATHERED = 50
"""Messages of one turn."""

Work = InboxRow | TurnWork


@dataclass(slots=True, eq=False)
class Mailbox:
    """One session's messages and open turns, in the order of arrival. `now` is in monotonic seconds.

    active: the turn that runs. gathering: messages whose other parts are waited for; who takes them from here
    (a `/stop`) has them.
    """

    work: deque[Work] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    active: ActiveTurn | None = None
    gathering: list[InboxRow] = field(default_factory=list)

    def has_command(self) -> bool:
        """Whether a command waits, such as /new: what is said after it is not for the turn before it."""
        return any(isinstance(w, InboxRow) and parse_command(w.event) is not None for w in self.work)

    def waiting(self) -> list[InboxRow]:
        """Messages whose turn has not begun, also those that are gathered for one."""
        return [*self.gathering, *(w for w in self.work if isinstance(w, InboxRow))]

    def running(self) -> list[InboxRow]:
        """Messages of the turn that runs and those said to it, the newest first."""
        active = self.active
        return [] if active is None else [*active.said[::-1], *active.joined[::-1], *active.work.rows[::-1]]

    def change(self, row: InboxRow) -> bool:
        """Put a waiting message's new version in its place. False: it does not wait any more."""
        for place in (self.gathering, self.work):
            for i, known in enumerate(place):
                if isinstance(known, InboxRow) and known.id == row.id:
                    place[i] = replace(row, free_at=known.free_at)
                    return True
        return False

    def put_back(self, rows: Sequence[InboxRow]) -> None:
        """Rows that were not taken up after all wait again, in the order of arrival."""
        waiting = sorted((*rows, *self.work), key=lambda w: w.id if isinstance(w, InboxRow) else 0)
        self.work = deque(waiting)

    def take_next(self, now: float) -> Work | None:
        """The first whose sender the rate does not hold back; each sender's own messages keep their order."""
        held: set[tuple[str, str]] = set()
        for item in self.work:
            if isinstance(item, InboxRow):
                sender = _sender(item)
                if sender in held or item.held(now) > 0:
                    held.add(sender)
                    continue
            self.work.remove(item)
            return item
        return None

    def next_slot(self, now: float) -> float:
        """Seconds until the rate lets the next of the waiting messages through."""
        heads: dict[tuple[str, str], float] = {}
        for item in self.work:
            if isinstance(item, InboxRow):
                heads.setdefault(_sender(item), item.held(now))
        return min(heads.values(), default=0.0)

    def gather(self, mode: str, now: float) -> int:
        """Move what belongs to the gathered messages to them; how many. Who is held back does not stand between."""
        sender = _sender(self.gathering[0])
        open_ = [
            w for w in self.work if not (isinstance(w, InboxRow) and _sender(w) != sender and w.held(now) > 0)
        ]
        count = min(gathered(self.gathering[-1], open_, mode), MOST_GATHERED - len(self.gathering))
        for item in open_[: max(count, 0)]:
            self.work.remove(item)
            if isinstance(item, InboxRow):
                self.gathering.append(item)
        return max(count, 0)


def _sender(row: InboxRow) -> tuple[str, str]:
    """Who wrote it; ids of two platforms may be alike."""
    return row.event.instance, row.event.sender.id
