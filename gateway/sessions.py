"""The mailboxes: one per session, handled one message at a time in the order of arrival.

Sessions never wait for each other.

A mailbox exists while it has work. Control commands (/stop, /status) pass it, since they are about the turn
that runs.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace

import structlog

from gateway import ledger, outbox
from gateway.active import ActiveTurn, TurnWork
from gateway.answers import Answers, Surroundings
from gateway.busy import is_same_place, pause_for
from gateway.commands import COMMANDS, Reply, parse_command
from gateway.edits import turn_to_rerun, version_among
from gateway.ledger import InboxRow
from gateway.mailbox import Mailbox
from gateway.modes import Modes
from gateway.parts import Parts
from gateway.settings import Busy
from gateway.turns import Turns
from hermes.agent import SessionSpec, TurnInput
from hermes.events import Event, Target
from hermes.failpoint import reached

__all__ = ["Sessions", "is_control", "is_unrated"]

_MOST_GATHERED = 50
_SENDING = 30.0
"""Seconds that an answer which is to be changed may take to be sent first."""
log = structlog.get_logger("gateway.sessions")


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
        self._store = parts.store
        self._turns = turns
        self._answers = Answers(parts)
        self._delivery = parts.delivery
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
            task = asyncio.create_task(self._control(row), name=f"command {row.id}")
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
        box.gather(self._mode(box.gathering[-1]), _MOST_GATHERED, self._clock.monotonic())
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
                    await self._arrived(box, box.next_slot(self._clock.monotonic()))
                else:
                    await self._one(box, item)
        finally:
            box.task = None
            if not box.work and self._boxes.get(key) is box:
                del self._boxes[key]
            if not self._boxes or self._closing.is_set():
                self._check_idle()

    async def _one(self, box: Mailbox, item: InboxRow | TurnWork) -> None:
        rows = item.rows if isinstance(item, TurnWork) else (item,)
        try:
            if isinstance(item, TurnWork):
                await self._turn(box, item)
            else:
                await self._handle(box, item)
        except Exception:  # whatever went wrong with one message, the next one of the session is handled
            log.exception("session.failed", session=rows[-1].session_key)
            for row in rows:
                await self._answers.close(row, Reply(self._say("internal")), state="failed")

    def _check_idle(self) -> None:
        if all(box.task is None for box in self._boxes.values()):
            self._idle.set()

    async def _turn(self, box: Mailbox, work: TurnWork) -> None:
        def started(active: ActiveTurn | None) -> None:
            box.active = active

        late = await self._turns.run(work, started)
        box.put_back(late)

    async def _handle(self, box: Mailbox, row: InboxRow) -> None:
        invocation = parse_command(row.event)
        if not await self._admitted((row,)):
            return
        if invocation is None:
            if row.event.edited:
                await self._again(box, row)
            elif rows := await self._admitted(await self._gather(box, row)):
                await self._turn(box, TurnWork(uuid.uuid4().hex, _spec(row), rows))
            return
        reply = await self._answers.of(row, self._surroundings(row))
        if reply.redo is not None:
            most = reply.redo.role or "guest"
            await self._turn(box, TurnWork(uuid.uuid4().hex, _spec(row), (row,), redo=reply.redo, most=most))
            return
        if not reply.later:
            await self._answers.close(row, reply)

    async def _admitted(self, rows: Sequence[InboxRow]) -> tuple[InboxRow, ...]:
        """Those whose senders are let in still, and have a part in the conversation.

        The others are closed without an answer, or go to the conversation that is theirs now.
        """
        kept = []
        for row in rows:
            key = self._answers.key_now(row)
            if not self._answers.admits(row):
                await self._answers.close(row, Reply(""), state="stopped")
            elif key != row.session_key:
                await self._store.write(ledger.move(row.id, key))
                self.put(replace(row, session_key=key))
            else:
                kept.append(row)
        return tuple(kept)

    async def _again(self, box: Mailbox, row: InboxRow) -> None:
        """A message that was changed after its answer: its turn runs again, where it can."""
        turn_id = await turn_to_rerun(self._store, row)
        if turn_id is None:
            await self._answers.close(row, Reply(""), state="silent")
            return
        shown = await self._shown(turn_id, row.event.reply_to)
        e = row.event
        asked = TurnInput(e.text, e.sender.id, untrusted=e.untrusted, quoted=e.quoted)
        work = TurnWork(uuid.uuid4().hex, _spec(row), (row,), redo=asked, shown=shown)
        await self._turn(box, work)

    async def _shown(self, turn_id: str, targets: Sequence[Target]) -> tuple[str, ...]:
        """The messages in which a turn's answer stands, once all of it was sent."""
        if len(targets) != 1:
            return ()
        target = self._delivery.resolved(targets[0])
        rows = await outbox.answer_rows(self._store, turn_id, target)
        await self._delivery.closed([r.id for r in rows], _SENDING)
        rows = await outbox.answer_rows(self._store, turn_id, target)
        named = (r.message_id for r in rows if r.state == "sent" and r.message_id is not None)
        return tuple(dict.fromkeys(named))

    async def _gather(self, box: Mailbox, row: InboxRow) -> tuple[InboxRow, ...]:
        """The row with what belongs to it: the other parts of a paste, or a burst.

        Nothing when we stop before all of it is there: it waits for the next start. Nothing either when a
        `/stop` came meanwhile.
        """
        box.gathering = rows = [row]
        try:
            while True:
                mode = self._mode(row)
                box.gather(mode, _MOST_GATHERED, self._clock.monotonic())
                pause = pause_for(rows[-1], mode)
                before = len(box.work)
                if pause <= 0 or len(rows) >= _MOST_GATHERED:
                    return tuple(rows)
                box.arrived.clear()
                more = await self._arrived(box, pause)
                if self._closing.is_set() or box.gathering is not rows:  # a /stop took them
                    return ()
                if not more or len(box.work) == before:
                    return tuple(rows)
        finally:
            box.gathering = []

    async def _arrived(self, box: Mailbox, seconds: float) -> bool:
        """Whether something comes into the mailbox within the time, and we go on."""
        arrived = asyncio.ensure_future(box.arrived.wait())
        late = asyncio.ensure_future(self._clock.sleep(seconds))
        closing = asyncio.ensure_future(self._closing.wait())
        waits = (arrived, late, closing)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return box.arrived.is_set() and not self._closing.is_set()
        finally:
            for wait in waits:
                wait.cancel()

    async def _control(self, row: InboxRow) -> None:
        if not await self._admitted((row,)):
            return
        reply = await self._answers.of(row, self._surroundings(row))
        if not reply.later:
            await self._answers.close(row, reply)

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


def _spec(row: InboxRow) -> SessionSpec:
    e = row.event
    return SessionSpec(row.session_key, row.agent_id, e.platform, e.instance, e.kind, e.chat, e.thread)
