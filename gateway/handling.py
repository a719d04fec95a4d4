"""One message of a mailbox, or one turn that an earlier process left open, from its turn in the queue to its end."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from gateway import ledger, outbox
from gateway.active import ActiveTurn, TurnWork
from gateway.answers import Answers, Surroundings
from gateway.busy import pause_for
from gateway.commands import Reply, parse_command
from gateway.edits import turn_to_rerun
from gateway.ledger import InboxRow
from gateway.mailbox import MOST_GATHERED, Mailbox
from gateway.parts import Parts
from gateway.settings import Busy
from gateway.turns import Turns
from hermes.agent import SessionSpec, TurnInput
from hermes.events import Target

__all__ = ["Handling"]

_SENDING = 30.0
"""Seconds that an answer which is to be changed may take to be sent first."""
log = structlog.get_logger("gateway.sessions")


class Handling:
    """What becomes of what is taken out of a mailbox.

    closing: set once no new work is begun. mode: what becomes of a message that comes while others are handled. around: what
    commands may do to the session of a row. put: hands on a message whose conversation is another one by now.
    """

    def __init__(
        self,
        parts: Parts,
        turns: Turns,
        closing: asyncio.Event,
        *,
        mode: Callable[[InboxRow], Busy],
        around: Callable[[InboxRow], Surroundings],
        put: Callable[[InboxRow], None],
    ) -> None:
        self._store = parts.store
        self._delivery = parts.delivery
        self._clock = parts.clock
        self._say = parts.say
        self._answers = Answers(parts)
        self._turns = turns
        self._mode = mode
        self._closing = closing
        self._around = around
        self._put = put

    async def one(self, box: Mailbox, item: InboxRow | TurnWork) -> None:
        """Bring it to its end; whatever goes wrong is told there and raised to nobody."""
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
        reply = await self._answers.of(row, self._around(row))
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
                self._put(replace(row, session_key=key))
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
                box.gather(mode, self._clock.monotonic())
                pause = pause_for(rows[-1], mode)
                before = len(box.work)
                if pause <= 0 or len(rows) >= MOST_GATHERED:
                    return tuple(rows)
                box.arrived.clear()
                more = await self.arrived(box, pause)
                if self._closing.is_set() or box.gathering is not rows:  # a /stop took them
                    return ()
                if not more or len(box.work) == before:
                    return tuple(rows)
        finally:
            box.gathering = []

    async def arrived(self, box: Mailbox, seconds: float) -> bool:
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

    async def command(self, row: InboxRow) -> None:
        """A command that passes its mailbox."""
        if not await self._admitted((row,)):
            return
        reply = await self._answers.of(row, self._around(row))
        if not reply.later:
            await self._answers.close(row, reply)


def _spec(row: InboxRow) -> SessionSpec:
    e = row.event
    return SessionSpec(row.session_key, row.agent_id, e.platform, e.instance, e.kind, e.chat, e.thread)
