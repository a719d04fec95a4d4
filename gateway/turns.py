"""One turn from the first row to the last: begin, think, close.

The only place where an answer becomes part of the books.

    fetch    the files of its messages come into the home  each noted in its message's row
    begin    the agent's turn row + the inbox rows         one transaction
    run      the agent stores each of its steps itself
    close    message rows + outbox rows + inbox rows       one transaction

When the store cannot commit, a finished answer waits in memory for `ANSWER_KEPT` seconds; after that the turn
counts as interrupted
and is run again once the store is back.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog

from gateway import ledger, outbox
from gateway.active import ActiveTurn, TurnWork, input_of
from gateway.albums import albums
from gateway.composing import Content, numbered
from gateway.ledger import InboxRow, InboxState
from gateway.live import LiveView
from gateway.outbox import Draft, OutboxRow
from gateway.parts import Parts
from gateway.presenter import showing_typing
from gateway.probation import Probation
from gateway.replies import Replies
from gateway.rights import rank
from hermes.agent import Agent, GivenFile, SessionSpec, TurnEnded, TurnInput, TurnOutcome, TurnRequest
from hermes.errors import StoreCorrupt, StoreUnavailable
from hermes.events import Role, Target
from hermes.failpoint import reached
from hermes.messages import Usage
from hermes.store import Job

__all__ = ["ANSWER_KEPT", "Turns"]

log = structlog.get_logger("gateway.turns")

ANSWER_KEPT = 600.0
"""Seconds that a finished answer is kept in memory while it cannot be committed."""


class _Interrupted(Exception):
    """The store went away in the middle; the turn is open on disk."""


class Turns:
    """Runs turns."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store
        self._agents = parts.agents
        self._delivery = parts.delivery
        self._feeds = parts.feeds
        self._clock = parts.clock
        self._say = parts.say
        self._live = parts.live
        self._replies = Replies(parts.delivery, parts.say, parts.keep, parts.long_reply)
        self._rights = parts.linking.rights
        self._files = parts.files
        self._probation = Probation()
        self.running = 0
        self.finished = 0

    def expect(self, work: TurnWork) -> None:
        """A turn that an earlier process left open will be run; said of all of them before the first one runs."""
        if work.last_start:
            self._probation.expect()

    async def run(self, work: TurnWork, started: Callable[[ActiveTurn | None], None]) -> Sequence[InboxRow]:
        """Run the turn to its end. Returns the messages that were said to it too late to join it.

        `started` gets the active turn when it can be stopped, and `None` when it no longer can.

        Raises nothing but `CancelledError`: then the turn is open on disk, and the next start takes it up.
        """
        self.running += 1
        try:
            probation = self._probation.entered(resumed=work.resumed, last_start=work.last_start)
            async with probation as stored:
                late: list[InboxRow] = []
                while True:
                    feeds = tuple(f for r in work.rows if (f := self._feeds.get(r.ticket)) is not None)
                    active = ActiveTurn(
                        work,
                        feeds,
                        stored,
                        self._say,
                        role=self._role(work, work.most),
                        may_join=self.may_join,
                        bring=functools.partial(self._brought, work.spec),
                    )
                    try:
                        await self._attempt(active, started)
                    except _Interrupted:
                        log.warning("turn.interrupted", turn=work.turn_id)
                        await self._store.wait_healthy()
                        joined, not_joined = await self._who_joined(active)
                        late += [*not_joined, *active.said]
                        rows = (*work.rows, *joined)
                        work = TurnWork(work.turn_id, work.spec, rows, resumed=True, most=active.role)
                    else:
                        taken = {row.id for row in work.rows}  # a new version of them comes too late
                        return [row for row in (*late, *active.said) if row.id not in taken]
        finally:
            started(None)
            self.running -= 1
            self.finished += 1

    def _role(self, work: TurnWork, most: Role | None) -> Role:
        return self._rights.least([row.event for row in work.rows], most)

    def may_join(self, active: ActiveTurn, row: InboxRow) -> bool:
        """Whether a message may be said to the turn: the turn lends its sender nothing."""
        rights, event = self._rights, row.event
        stays = rights.key_now(event, row.agent_id, row.session_key) == row.session_key
        return stays and rights.admits(event) and rank(rights.role(event)) >= rank(active.role)

    async def _who_joined(self, active: ActiveTurn) -> tuple[list[InboxRow], list[InboxRow]]:
        """Of the messages that the agent took in: those whose step was committed, and the others."""
        rows = await self._store.read("SELECT id FROM inbox WHERE turn_id = ?", (active.work.turn_id,))
        ids = {r["id"] for r in rows}
        return [r for r in active.joined if r.id in ids], [r for r in active.joined if r.id not in ids]

    async def _attempt(self, active: ActiveTurn, started: Callable[[ActiveTurn | None], None]) -> None:
        work = active.work
        started(active)
        try:
            async with self._agents.at_work(work.spec) as agent:
                async with showing_typing(self._delivery.signs, self._targets(work), self._clock):
                    if not work.resumed:  # else they stand in its first step
                        await self._fetch(active)
                    request = self._request(active)
                    await self._begin(agent, request, work)
                    reached("turn.begun")
                    async with self._growing(active):
                        outcome = await self._think(agent, request, active)
                reached("turn.finished")
                await self._close(agent, request, active, outcome)
        except StoreCorrupt as error:
            log.exception("turn.history_unreadable", session=work.spec.key, error=str(error))
            await self._fail(active, "history_unreadable")
        except StoreUnavailable as error:
            if self._store.fault is None:
                log.exception("turn.store_unavailable", session=work.spec.key, error=str(error))
            raise _Interrupted from error
        finally:
            if active.bringing:
                await active.let_go()

    async def _fetch(self, active: ActiveTurn) -> None:
        """What came with the messages; a /stop leaves out what is not here yet."""
        rows = [row for row in active.work.rows if row.event.attachments]
        if rows:  # the parts of an album come side by side
            found = await asyncio.gather(*(self._files.given(row, active.stop) for row in rows))
            bounded = self._files.bounded(active.work.spec, found)
            active.files |= {row.id: files for row, files in zip(rows, bounded, strict=True)}

    async def _brought(self, session: SessionSpec, row: InboxRow) -> tuple[GivenFile, ...]:
        """What came with a message that is said to a running turn."""
        (files,) = self._files.bounded(session, [await self._files.given(row)])
        return files

    @asynccontextmanager
    async def _growing(self, active: ActiveTurn) -> AsyncIterator[None]:
        """The answer grows at its target for the time of the block, where it has just one that can show it."""
        targets = self._targets(active.work)
        if len(targets) != 1 or self._delivery.signs.editor(targets[0]) is None:
            yield
            return
        turn_id = active.work.turn_id
        known = next(iter(active.work.shown), None)
        if active.work.resumed:
            known = await outbox.live_message(self._store, turn_id)
        active.live = LiveView(
            self._delivery.signs, self._clock, self._live(), targets[0], turn_id, self._say
        )
        active.live.start(known)
        try:
            yield
        finally:
            await active.live.finish()

    def _targets(self, work: TurnWork) -> tuple[Target, ...]:
        return tuple(map(self._delivery.resolved, work.targets()))

    def _largest_file(self, work: TurnWork) -> int | None:
        """What all of the turn's targets take that take files at all."""
        found = [most for t in work.targets() if (most := self._delivery.largest_file(t)) is not None]
        return min(found, default=None)

    def _request(self, active: ActiveTurn) -> TurnRequest:
        work = active.work
        active.role = self._role(work, active.role)  # files were waited for
        inputs = tuple(input_of(group, active.files) for group in albums(work.rows))
        if work.redo is not None:
            last, again = inputs[-1], work.redo
            given = (*again.files, *last.files)
            (files,) = self._files.bounded(work.spec, [given])  # for the model of today
            asked = TurnInput(
                again.text,
                last.sender_id,
                last.sender_name,
                last.at,
                untrusted=again.untrusted or last.untrusted,
                quoted=again.quoted,
                files=files,
            )
            inputs = (asked,)
        return TurnRequest(
            work.turn_id,
            work.spec,
            inputs,
            work.rows[-1].admission,
            resumed=work.resumed,
            redo=work.redo is not None,
            role=active.role,
            largest_file=self._largest_file(work),
            origin=next(iter(self._targets(work)), None),
        )

    async def _begin(self, agent: Agent, request: TurnRequest, work: TurnWork) -> None:
        try:
            await self._store.write(
                agent.begin(request), ledger.begin(work.turn_id, [row.id for row in work.rows])
            )
        except StoreUnavailable:
            if work.resumed:
                raise
            # Nothing was committed, so this is not yet a turn that could be resumed: try the very same thing
            # again.
            await self._store.wait_healthy()
            await self._begin(agent, request, work)

    async def _think(self, agent: Agent, request: TurnRequest, active: ActiveTurn) -> TurnOutcome:
        try:
            return await agent.run(request, active)
        except (StoreUnavailable, StoreCorrupt):
            raise
        except (
            Exception
        ):  # the turn's boundary: a fault in it must not take the session down, and is told to the user
            log.exception("turn.failed", turn=request.turn_id)
            return TurnOutcome("failed", error="internal")

    async def _close(
        self, agent: Agent, request: TurnRequest, active: ActiveTurn, outcome: TurnOutcome
    ) -> None:
        shown = self._shown(outcome)
        # Another bot would answer our sentence about a missing answer, and we its answer, for ever.
        said = outcome.text.strip() if active.work.is_for_a_bot() else shown
        files = outcome.files if outcome.state in ("answered", "silent") else ()
        choices = outcome.choices if outcome.state in ("answered", "silent") else ()
        # Who looks on reads the choices; and where nothing was said they are all that was shown.
        if choices and (outcome.state == "silent" or not active.work.targets()):
            shown = numbered(shown, choices)
        content = Content(said, files, choices)
        drafts = await self._replies.drafts(active.work.targets(), content, request.turn_id)
        drafts = self._in_place(active, outcome, drafts)
        active.closing = True
        jobs, more = self._stop_jobs(active)
        if drafts and not shown:  # the message that grew says already that it was stopped
            more = []
        now = self._clock.time()
        answer_jobs = (
            agent.close(request, outcome, shown),
            *_closings(active, outcome.state, shown, outcome.usage, now),
            outbox.enqueue([*drafts, *more], now),
        )
        outgoing = (await self._commit((*jobs, *answer_jobs)))[-1]
        reached("turn.closed")
        agent.settled(request, outcome, shown)
        self._announce(active, outcome.state, shown, outcome.usage, outgoing)

    def _in_place(self, active: ActiveTurn, outcome: TurnOutcome, drafts: list[Draft]) -> list[Draft]:
        """The final answer takes the place of the message in which it grew. One that grew to nothing says how it ended."""
        message_id = active.live.message_id if active.live is not None else None
        if message_id is None:
            return drafts
        words = [d for d in drafts if d.kind != "file"]
        files = [d for d in drafts if d.kind == "file"]
        if not words:
            ending = self._say("stopped" if outcome.state == "stopped" else "done")
            words = self._compose(active.work.targets(), ending, active.work.turn_id)
        places = [message_id, *active.work.shown[1:]]
        more = len(places) - len(words)
        if words and more > 0:  # the old answer had more messages than the new one
            gone = self._compose(active.work.targets(), self._say("superseded"), f"{active.work.turn_id}:old")
            words = [*words, *(replace(gone[0], key=f"{gone[0].key}:{i}") for i in range(more))]
        placed = [replace(d, edits=places[i]) if i < len(places) else d for i, d in enumerate(words)]
        return [*placed, *files]

    async def _commit(self, jobs: Sequence[Job]) -> list[list[OutboxRow]]:
        """Commit an answer; while the store is away it waits here, up to `ANSWER_KEPT` seconds."""
        deadline = self._clock.monotonic() + ANSWER_KEPT
        while True:
            try:
                return await self._store.write(*jobs)
            except StoreUnavailable:
                if self._clock.monotonic() >= deadline:
                    raise
                await self._clock.sleep(1.0)

    def _stop_jobs(self, active: ActiveTurn) -> tuple[list[Job], list[Draft]]:
        text = self._say("stopped")
        jobs: list[Job] = []
        drafts: list[Draft] = []
        for row in active.stop_rows:
            jobs.append(ledger.close([row.id], "answered", text, None, self._clock.time()))
            drafts += self._compose(row.event.reply_to, text, row.ticket)
        return jobs, drafts

    def _announce(
        self, active: ActiveTurn, state: InboxState, shown: str, usage: Usage, outgoing: Sequence[OutboxRow]
    ) -> None:
        self._delivery.wake(outgoing)
        ended = TurnEnded(
            state if state in ("answered", "silent", "failed", "stopped") else "dead",
            shown,
            usage,
            active.work.turn_id,
        )
        for row in (*active.work.rows, *active.joined):
            self._feeds.end(row.ticket, ended)
        for row in active.stop_rows:
            self._feeds.end(row.ticket, TurnEnded("answered", self._say("stopped")))

    async def _fail(self, active: ActiveTurn, key: str) -> None:
        """Close the rows without the agent, with one sentence."""
        shown = self._say(key)
        drafts = self._compose(active.work.targets(), shown, active.work.turn_id)
        jobs, more = self._stop_jobs(active)
        now = self._clock.time()
        outgoing = (
            await self._commit(
                (
                    *jobs,
                    *_closings(active, "failed", shown, None, now),
                    outbox.enqueue([*drafts, *more], now),
                )
            )
        )[-1]
        self._announce(active, "failed", shown, Usage(), outgoing)

    def _shown(self, outcome: TurnOutcome) -> str:
        """What people see: the answer, or the sentence that says why there is none; then the notices."""
        parts = [outcome.text.strip()] if outcome.state != "failed" or outcome.error is None else []
        if outcome.error is not None:
            parts.append(self._sentence(outcome.error, **outcome.error_fields))
        parts += [self._sentence(n.key, **n.fields) for n in outcome.notices]
        return "\n\n".join(p for p in parts if p)

    def _sentence(self, key: str, **fields: object) -> str:
        try:
            return self._say(key, **fields)
        except KeyError:
            log.exception("sentence.missing", key=key)
            return self._say("internal")

    def _compose(self, targets: Sequence[Target], text: str, key: str) -> list[Draft]:
        return self._delivery.compose(targets, text, key) if text else []


def _closings(
    active: ActiveTurn, state: InboxState, shown: str, usage: Usage | None, now: float
) -> list[Job]:
    """The ends of all rows of a turn: the last one is answered, what was merged into it or said to it says so."""
    rows = active.work.rows
    jobs = [ledger.close([rows[-1].id], state, shown, usage, now)]
    if rows[:-1]:
        jobs.append(ledger.close([r.id for r in rows[:-1]], "merged", shown, None, now))
    if active.joined:
        jobs.append(ledger.close([r.id for r in active.joined], "steered", shown, None, now))
    return jobs
