"""A turn while it runs: the messages that it answers, and what is said to it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from gateway import ledger
from gateway.albums import albums, as_one
from gateway.feeds import Feed
from gateway.ledger import InboxRow
from gateway.live import LiveView
from hermes.agent import GivenFile, SessionSpec, Steering, TurnInput, TurnUpdate
from hermes.events import Role, Target

__all__ = ["ActiveTurn", "TurnWork", "input_of"]


@dataclass(frozen=True, slots=True)
class TurnWork:
    """What a turn is made of. redo: what the last turn was asked, which this one takes the place of.

    shown: the messages in which that one's answer stands; the new one is shown in them.
    most: the role that it has at the most, whoever asks for it: that of whose words it asks again, or it was begun with.
    """

    turn_id: str
    spec: SessionSpec
    rows: tuple[InboxRow, ...]
    resumed: bool = False
    redo: TurnInput | None = None
    shown: tuple[str, ...] = ()
    last_start: bool = False
    most: Role | None = None

    def targets(self) -> tuple[Target, ...]:
        """Where the answer goes: as the last event says."""
        return self.rows[-1].event.reply_to

    def is_for_a_bot(self) -> bool:
        """Whether no person has a part in it."""
        return all(row.event.sender.is_bot for row in self.rows)


def _whoever(_turn: ActiveTurn, _row: InboxRow) -> bool:
    return True


async def _nothing_comes(_: InboxRow) -> tuple[GivenFile, ...]:
    return ()


@dataclass(slots=True, eq=False)
class ActiveTurn:
    """A turn that runs: the `TurnIO` its agent is lent.

    stop_rows: /stop commands that its end answers. said: messages that shall join it; joined: those that did.
    files: what came with its messages, by row, once it is here; bringing: what fetches them for `said`.
    role: what it may do; may_join: whether a message's sender may no less, and is let in, still when it joins.
    """

    work: TurnWork
    feeds: tuple[Feed, ...]
    on_step: Callable[[], None]
    say: Callable[..., str]
    role: Role = "guest"
    may_join: Callable[[ActiveTurn, InboxRow], bool] = _whoever
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stop_rows: list[InboxRow] = field(default_factory=list)
    closing: bool = False
    live: LiveView | None = None
    said: list[InboxRow] = field(default_factory=list)
    joined: list[InboxRow] = field(default_factory=list)
    files: dict[int, tuple[GivenFile, ...]] = field(default_factory=dict)
    bring: Callable[[InboxRow], Awaitable[tuple[GivenFile, ...]]] = _nothing_comes
    bringing: set[asyncio.Task[None]] = field(default_factory=set)

    def hear(self, row: InboxRow) -> None:
        """A message is said to the turn; it joins when its files are here, and what comes after it waits for that."""
        self.said.append(row)
        if row.event.attachments:
            task = asyncio.create_task(self._brought(row), name=f"files {row.id}")
            self.bringing.add(task)
            task.add_done_callback(self.bringing.discard)

    async def _brought(self, row: InboxRow) -> None:
        self.files[row.id] = await self.bring(row)

    async def let_go(self) -> None:
        """Nothing is fetched for the turn any more."""
        tasks = list(self.bringing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def steered(self) -> Steering | None:
        here = list(takewhile(lambda r: not r.event.attachments or r.id in self.files, self.said))
        rows = [r for r in here if self.may_join(self, r)]
        if not rows:
            return None
        self.said = [r for r in self.said if not any(r is taken for taken in rows)]
        self.joined += rows
        inputs = tuple(self._said(group) for group in albums(rows))
        return Steering(inputs, ledger.begin(self.work.turn_id, [r.id for r in rows]))

    def _said(self, group: Sequence[InboxRow]) -> TurnInput:
        """What a message says to the turn; a new version of one of the turn's own says that it is one."""
        words = input_of(group, self.files)
        return replace(words, text=self.say("edited", text=words.text)) if group[0].event.edited else words

    def emit(self, update: TurnUpdate) -> None:
        if self.live is not None:
            self.live.put(update)
        for feed in self.feeds:
            feed.put(update)

    def step_stored(self) -> None:
        self.on_step()


def input_of(group: Sequence[InboxRow], files: Mapping[int, tuple[GivenFile, ...]]) -> TurnInput:
    """A message, or the parts of an album, as the agent gets it."""
    row = as_one(group)
    event = row.event
    return TurnInput(
        event.text,
        event.sender.id,
        event.sender.name or event.sender.username or "",
        event.sent_at or row.received_at,
        event.untrusted,
        event.quoted,
        event.history,
        tuple(file for part in group for file in files.get(part.id, ())),
    )
