"""The mailboxes: one per session, handled one message at a time in the order of arrival.

Sessions never wait for each other.

A mailbox exists while it has work. Control commands (/stop, /status) pass it, since they are about the turn
that runs.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from gateway import ledger
from gateway.active import ActiveTurn, TurnWork
from gateway.answers import Answers, Surroundings
from gateway.busy import is_same_place
from gateway.commands import COMMANDS, Reply, parse_command
from gateway.edits import version_among
from gateway.handling import Handling
from gateway.ledger import InboxRow
from gateway.mailbox import Mailbox
from gateway.modes import Modes
from gateway.parts import Parts
from gateway.settings import Busy
from gateway.turns import Turns
from hermes.events import Event
from hermes.failpoint import reached

__all__ = ["Sessions", "is_control", "is_unrated"]


def is_control(row: InboxRow) -> bool:
    """Whether the row is a command that passes the mailbox."""
    invocation = parse_command(row.event)
    command = COMMANDS.get(invocation.name) if invocation else None
    return command is not None and command.control


def is_unrated(row: InboxRow) -> bool:
    """Whether the row never waits for the rate: a control command that carries no words for the model."""
    invocation = parse_command(row.event)
    command = COMMANDS.get(invocation.name) if invocation else None
    if invocation is None or command is None or not command.control:
        return False
    return not (command.speaks and invocation.arguments)


class Sessions:
    """All mailboxes."""

    def __init__(self, parts: Parts, turns: Turns, modes: Modes) -> None:
        self._turns = turns
        self._answers = Answers(parts)
        self._feeds = parts.feeds
        self._clock = parts.clock
        self._say = parts.say
        self._busy = parts.busy
        self._modes = modes
        self._boxes: dict[str, Mailbox] = {}
        self._controls: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._handling = Handling(
            parts, turns, self._closing, mode=self._mode, around=self._surroundings, put=self.put
        )

    @property
    def waiting(self) -> int:
        """Messages and turns that wait in mailboxes."""
        return sum(len(box.work) for box in self._boxes.values())

    @property
    def busy(self) -> int:
        """Sessions that have work, and commands that are being answered beside them."""
        return len(self._boxes) + len(self._controls)

    def put(self, row: InboxRow) -> None:
        """A new message, committed."""
        row = row.clocked(self._clock.time(), self._clock.monotonic())
        if row.event.kind in ("api", "terminal"):
            self._feeds.open(row.ticket)
        if is_control(row) and not self._is_early(row):
            task = asyncio.create_task(self._handling.command(row), name=f"command {row.id}")
            self._controls.add(task)
            task.add_done_callback(self._controls.discard)
            return
        if not self._spoken_to(row):
            self._add(row.session_key, row)
        reached("session.queued")

    def _is_early(self, row: InboxRow) -> bool:
        """Whether the rate holds the row back still."""
        return row.held(self._clock.monotonic()) > 0

    def _mode(self, row: InboxRow) -> Busy:
        return self._modes.get(row.session_key) or self._busy(row.event.instance)

    def _spoken_to(self, row: InboxRow) -> bool:
        """Give the message to the running turn, where the mode says so; or ask that turn to stop for it."""
        mode, box = self._mode(row), self._boxes.get(row.session_key)
        active = box.active if box is not None else None
        if box is None or active is None or active.closing or parse_command(row.event) is not None:
            return False
        if self._is_early(row):
            return False
        if mode == "steer" and not box.has_command() and self._may_join(active, row):
            active.hear(row)
            return True
        if mode == "interrupt":
            active.stop.set()
        return False

    def _may_join(self, active: ActiveTurn, row: InboxRow) -> bool:
        """Whether the turn can still take the message, would answer where it came from, and lends it no higher rights."""
        if active.closing or active.stop.is_set() or not is_same_place(active.work.rows[-1], row):
            return False
        return self._turns.may_join(active, row)

    def steer(self, key: str, row: InboxRow) -> bool:
        """Give one message to the running turn, whatever the mode. False: none runs that could still take it."""
        box = self._boxes.get(key)
        if box is None or box.active is None or not self._may_join(box.active, row):
            return False
        box.active.hear(row)
        return True

    def standing(self, key: str, event: Event, *, running: bool) -> InboxRow | None:
        """The message of the session that `event` is a new version of, while it waits or (`running`) its turn runs.

        Never a command.
        """
        box = self._boxes.get(key)
        if box is None:
            return None
        found = version_among(event, (*box.waiting(), *(box.running() if running else ())))
        return None if found is None or parse_command(found.event) is not None else found

    def amend(self, row: InboxRow) -> None:
        """An open message as it is now: while it waits it is what will be handled, later it is said to its turn."""
        box = self._boxes.get(row.session_key)
        if box is None or box.change(row):
            return
        if any(known.id == row.id for known in box.running()):
            # The words have changed; its files are in the turn already.
            event = replace(row.event, edited=True, command_text=False, attachments=())
            self.steer(row.session_key, replace(row, event=event))

    def withdraw(self, instance: str, chat: str, message_id: str) -> InboxRow | None:
        """Take a message that waits still out of its mailbox; `None` when there is none."""
        wanted = (instance, chat, message_id)
        for box in self._boxes.values():
            for item in box.work:
                if isinstance(item, InboxRow) and wanted == (
                    item.event.instance,
                    item.event.chat,
                    item.event.message_id,
                ):
                    box.work.remove(item)
                    return item
        return None

    def restore(self, row: InboxRow) -> None:
        """What was withdrawn waits again, in its place."""
        self._add(row.session_key, row)
        self._boxes[row.session_key].put_back(())

    def queue(self, key: str, row: InboxRow) -> None:
        """Let one message wait for its turn, whatever the mode."""
        self._add(key, row)

    def resume(self, work: TurnWork) -> None:
        """A turn that an earlier process left open; before any new message of its session."""
        for row in work.rows:
            if row.event.kind in ("api", "terminal"):
                self._feeds.open(row.ticket)
        self._turns.expect(work)
        self._add(work.spec.key, work)

    def _add(self, key: str, item: InboxRow | TurnWork) -> None:
        box = self._boxes.get(key)
        if box is None:
            box = self._boxes[key] = Mailbox()
            self._idle.clear()
        box.work.append(item)
        box.arrived.set()
        if box.task is None and not self._closing.is_set():
            box.task = asyncio.create_task(self._drain(key, box), name=f"session {key}")

    def stop(self, key: str, row: InboxRow | None = None) -> bool:
        """Ask the session's running turn to stop; its end answers `row`.

        What is gathered for a turn that has not begun is dropped. False when there is neither.
        """
        box = self._boxes.get(key)
        if box is None or box.active is None or box.active.closing:
            return box is not None and self._drop_gathered(box, row)
        if row is not None:
            box.active.stop_rows.append(row)
        box.active.stop.set()
        return True

    def _drop_gathered(self, box: Mailbox, stop: InboxRow | None) -> bool:
        if not box.gathering or stop is None:
            return False
        box.gather(self._mode(box.gathering[-1]), self._clock.monotonic())
        rows, box.gathering = box.gathering, []
        box.arrived.set()
        jobs = (ledger.close([r.id for r in rows], "stopped", "", None, self._clock.time()),)
        task = asyncio.create_task(self._answers.close(stop, Reply(self._say("stopped"), jobs), dropped=rows))
        self._controls.add(task)
        task.add_done_callback(self._controls.discard)
        return True

    async def abandon(self, ticket: str) -> None:
        """Nobody waits for that event any more: it leaves the mailbox, or its turn is stopped."""
        for key, box in self._boxes.items():
            if box.active is not None and any(r.ticket == ticket for r in box.active.work.rows):
                self.stop(key)
                return
            said = box.active.said if box.active is not None else []
            for item in (*said, *box.work):
                if isinstance(item, InboxRow) and item.ticket == ticket:
                    (said if item in said else box.work).remove(item)
                    await self._answers.close(item, Reply(self._say("cancelled")), state="stopped")
                    return

    async def _drain(self, key: str, box: Mailbox) -> None:
        try:
            while box.work and not self._closing.is_set():
                item = box.take_next(self._clock.monotonic())
                if item is None:
                    box.arrived.clear()
                    await self._handling.arrived(box, box.next_slot(self._clock.monotonic()))
                else:
                    await self._handling.one(box, item)
        finally:
            box.task = None
            if not box.work and self._boxes.get(key) is box:
                del self._boxes[key]
            if not self._boxes or self._closing.is_set():
                self._check_idle()

    def _check_idle(self) -> None:
        if all(box.task is None for box in self._boxes.values()):
            self._idle.set()

    def _surroundings(self, row: InboxRow) -> Surroundings:
        box = self._boxes.get(row.session_key)
        return Surroundings(
            len(box.work) if box else 0,
            lambda: self.stop(row.session_key, row),
            lambda text: self._say_to_turn(row, text),
            lambda mode: self._modes.choose(row.session_key, mode, self._clock.time()),
        )

    def _say_to_turn(self, row: InboxRow, text: str) -> None:
        """`/steer TEXT`: the text joins the running turn; without one it is handled like any message."""
        words = replace(row, event=replace(row.event, text=text, command_text=False))
        if not self.steer(row.session_key, words):
            self._add(row.session_key, words)

    async def drain(self, seconds: float) -> bool:
        """Begin no new work and let what runs end, for at most `seconds`. Whether all ended."""
        self._closing.set()
        self._check_idle()
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def aclose(self) -> None:
        """Cut what still runs; it is open on disk and goes on after the next start."""
        self._closing.set()
        tasks = [b.task for b in self._boxes.values() if b.task is not None] + list(self._controls)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
