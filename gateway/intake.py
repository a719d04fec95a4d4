"""The way in: judge, store, and only then tell. One `InstanceIntake` per platform instance."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import structlog

from gateway import ledger
from gateway.commands import Invocation, parse_command, parse_typed
from gateway.delivery import Delivery
from gateway.directory import Directory
from gateway.door import Decision, DoorRules, RateBook, Standing, judge
from gateway.edits import amend, has_same_files
from gateway.feeds import Feeds
from gateway.ledger import InboxRow, Judged
from gateway.linking import Linking
from gateway.outbox import Draft
from gateway.pairing import Pairings
from gateway.rights import is_private
from gateway.router import Route
from gateway.sessions import Sessions, is_unrated
from gateway.tickets import ticket
from gateway.uncut import uncut
from hermes.adapter import AdapterState
from hermes.agent import TurnEnded, TurnState, TurnUpdate
from hermes.clock import Clock
from hermes.errors import StoreUnavailable
from hermes.events import Deleted, Event, Ignored, Parsed, Role, Target, Unparsable, Verdict, Watermark
from hermes.failpoint import reached
from hermes.store import Job, Store

__all__ = ["InstanceIntake", "IntakeParts", "StateReport"]

_LINES = 10
"""Of a message in which a code may stand."""
log = structlog.get_logger("gateway.intake")


class StateReport(Protocol):
    """Where an adapter's state goes (the supervisor)."""

    def state(self, instance: str, state: AdapterState, reason: str | None) -> None: ...

    def alive(self, instance: str) -> None: ...


@dataclass(frozen=True, slots=True)
class IntakeParts:
    """What every intake shares.

    rules: an instance's door rules, read anew for each batch, since settings may change. edits: `gateway.edits`.
    """

    store: Store
    sessions: Sessions
    delivery: Delivery
    feeds: Feeds
    pairings: Pairings
    linking: Linking
    rates: RateBook
    clock: Clock
    rules: Callable[[str], DoorRules]
    route: Callable[[Event], Route]
    say: Callable[..., str]
    report: StateReport
    directory: Directory
    edits: Callable[[], Literal["ignore", "rerun"]] = lambda: "ignore"


class InstanceIntake:
    """See `hermes.adapter.Intake`."""

    def __init__(self, instance: str, parts: IntakeParts) -> None:
        self._instance = instance
        self._parts = parts
        self.open = True
        self._released = asyncio.Event()
        self._released.set()

    def hold(self) -> None:
        """Let what comes wait: until recovery is done, a new row would be taken up twice, and before older ones."""
        self._released.clear()

    def release(self) -> None:
        """Take again."""
        self._released.set()

    async def take(self, items: Sequence[Parsed], watermark: Watermark | None = None) -> Sequence[Verdict]:
        """See `Intake.take`."""
        p = self._parts
        await self._released.wait()
        if not self.open:
            raise StoreUnavailable("Hermes is stopping.")
        if p.store.fault is not None:
            raise StoreUnavailable(p.store.fault)
        now = p.clock.time()
        undo: list[Callable[[], None]] = []
        judged = [self._judge(item, now, undo) for item in items]
        work = self._stored(judged, watermark, now, undo)
        return (await uncut(work, name=f"intake {self._instance}")).verdicts

    async def _stored(
        self,
        judged: Sequence[Judged],
        watermark: Watermark | None,
        now: float,
        undo: list[Callable[[], None]],
    ) -> ledger.Taken:
        """Commit, and tell who goes on with it."""
        p = self._parts
        try:
            taken: ledger.Taken = (await p.store.write(ledger.accept(judged, watermark, now)))[0]
        except StoreUnavailable:  # they come again, and shall be judged as if for the first time
            for step in reversed(undo):
                step()
            raise
        reached("ledger.accepted")
        p.delivery.wake(taken.outgoing)
        for row in taken.rows:
            p.sessions.put(row)
        for item in judged:
            if item.changes is not None:
                p.sessions.amend(item.changes)
        return taken

    def _judge(self, item: Parsed, now: float, undo: list[Callable[[], None]]) -> Judged:
        match item:
            case Ignored(reason=reason, text=text):
                return Judged("ignored", self._instance, reason, jobs=self._voided(parse_typed(text), undo))
            case Unparsable():
                log.warning("update.unparsable", instance=self._instance, error=item.error)
                return Judged("unparsable", self._instance, "unparsable", raw=item)
            case Deleted():
                return self._judge_deletion(item, now, undo)
            case Event(edited=True):
                return self._judge_edit(item, now, undo)
            case Event():
                return self._judge_event(item, now, undo)

    def _judge_deletion(self, item: Deleted, now: float, undo: list[Callable[[], None]]) -> Judged:
        """What waits still is dropped; it leaves its mailbox at once, so that its turn cannot begin meanwhile."""
        row = self._parts.sessions.withdraw(self._instance, item.chat, item.message_id)
        if row is None:
            return Judged("ignored", self._instance, "deleted")
        undo.append(lambda: self._parts.sessions.restore(row))
        return Judged(
            "ignored", self._instance, "deleted", jobs=(ledger.close([row.id], "stopped", "", None, now),)
        )

    def _judge_edit(self, event: Event, now: float, undo: list[Callable[[], None]]) -> Judged:
        """A new version of a message: see `gateway.edits`. Nobody is told of what becomes of it."""
        p = self._parts
        rules, route = p.rules(self._instance), p.route(event)
        ignored = Judged("ignored", self._instance, "edited")
        if parse_command(event) is not None:
            return replace(ignored, jobs=self._void(event, undo))
        again = p.edits() == "rerun"
        waiting = p.sessions.standing(route.key, event, running=False)
        known = waiting or (None if again else p.sessions.standing(route.key, event, running=True))
        if known is None and not again:
            return ignored
        is_same = known is not None and known.event.text == event.text
        if is_same and (waiting is None or has_same_files(event, waiting.event)):
            return ignored  # something else about it has changed; a turn has its files already
        decision = self._decide(event, rules, now, undo)
        if decision.kind != "accepted":
            return ignored
        if decision.not_before:  # what comes in time is the message; a change is no way round the rate
            undo.pop()()
            if waiting is None:
                return ignored
        if known is None:  # it waits for the message's turn to end
            return self._accepted(event, route, decision, undo)
        row = replace(known, event=replace(event, edited=False))
        return replace(ignored, jobs=(amend(row.id, row.event),), changes=row)

    def _judge_event(self, event: Event, now: float, undo: list[Callable[[], None]]) -> Judged:
        rules = self._parts.rules(self._instance)
        decision = self._decide(event, rules, now, undo)
        if decision.kind == "accepted":
            judged = self._accepted(event, self._parts.route(event), decision, undo)
        else:
            judged = self._turned_away(event, decision, rules, now, undo)
        voided = self._void(event, undo)
        return replace(judged, jobs=(*judged.jobs, *voided)) if voided else judged

    def _void(self, event: Event, undo: list[Callable[[], None]]) -> tuple[Job, ...]:
        """A code of `/link` that is typed where others read it is used up, whoever typed it and whether he is heard or not."""
        return () if is_private(event) else self._voided(parse_command(event), undo)

    def _voided(self, said: Invocation | None, undo: list[Callable[[], None]]) -> tuple[Job, ...]:
        codes = self._parts.linking.codes
        if said is None or said.name != "link":
            return ()
        now, lines = self._parts.clock.time(), said.arguments.splitlines()[:_LINES]
        code = next((found for line in lines if (found := codes.find(line, now)) is not None), None)
        if code is None:
            return ()
        undo.append(lambda: codes.put_back(code))
        return (codes.spend(code),)

    def _decide(self, event: Event, rules: DoorRules, now: float, undo: list[Callable[[], None]]) -> Decision:
        """The door's decision; what it lets in is booked for the sender's rate."""
        p = self._parts
        control = is_unrated(InboxRow(0, "", event, "", "", "anyone", now))
        who = (self._instance, event.sender.id)
        booked = (self._instance, f"{event.sender.id}\0command") if control else who
        passed = p.clock.monotonic()  # the book must not be confused by a wall clock that is set back
        album = None if event.edited else event.album
        joined = p.rates.joined(booked, album)
        if joined is not None:
            slot, deferred = max(joined, passed), 0
        else:
            slot, deferred = (passed, 0) if rules.rate is None else p.rates.slot(booked, rules.rate, passed)
        standing = self._standing(event, now + slot - passed, deferred)
        decision = judge(event, rules, standing, now, control=control)
        is_rated = rules.rate is not None and event.admitted is None and joined is None
        if decision.kind == "accepted" and is_rated:
            at = slot if decision.not_before else passed
            p.rates.book(booked, at, album)
            undo.append(lambda: p.rates.unbook(booked, at))
        return decision

    def _standing(self, event: Event, slot: float, deferred: int) -> Standing:
        linking = self._parts.linking
        rights, said = linking.rights, parse_command(event)
        known = rights.admits(event)
        code = None if known or said is None or said.name != "link" else linking.typed(event, said.line)
        paired = self._parts.pairings.approved(self._instance, event.sender.id)
        return Standing(paired, slot, deferred, rights.is_linked(event), code)

    def _accepted(
        self, event: Event, route: Route, decision: Decision, undo: list[Callable[[], None]]
    ) -> Judged:
        place = route.own if event.kind == "direct" and event.private_notice else None
        who = (self._instance, event.sender.id)
        people = self._parts.linking.people
        noted = people.settle(who, place) if place is not None else None
        if noted is not None:
            undo.append(lambda: people.unsettle(who))
        jobs = [noted] if noted is not None else []
        for learned in (self._parts.directory.follow(event), self._learn(event)):
            if learned is not None:
                jobs.append(learned[0])
                undo.append(learned[1])
        return Judged(
            "accepted",
            self._instance,
            event=event,
            ticket=ticket(),
            session_key=route.key,
            agent_id=route.spec.agent_id,
            admission=decision.admission,
            jobs=tuple(jobs),
            not_before=decision.not_before,
        )

    def _learn(self, event: Event) -> tuple[Job, Callable[[], None]] | None:
        """What the chat is called: of guests nothing is learned, lest a stranger's chat takes another's name."""
        p = self._parts
        if not event.chat_name or p.linking.rights.role(event) == "guest":
            return None
        return p.directory.learn(event, p.clock.time())

    def _turned_away(
        self, event: Event, decision: Decision, rules: DoorRules, now: float, undo: list[Callable[[], None]]
    ) -> Judged:
        p = self._parts
        drafts: list[Draft] = []
        jobs: list[Job] = []
        if decision.pair:
            code, jobs = p.pairings.ask(self._instance, event.sender.id, event.sender.name, now)
            if code is not None:
                undo.append(lambda: p.pairings.take_back(self._instance, event.sender.id))
                drafts = self._notice(event, "pairing", now, code=code)
        elif decision.notice is not None:
            what = event.unsupported or next((a.kind for a in event.attachments), "")
            fields = {"what": what, "chars": len(event.text), "limit": rules.chars}
            drafts = self._notice(event, decision.notice, now, **fields)
        kind: Literal["ignored", "refused"] = "ignored" if decision.kind == "ignored" else "refused"
        return Judged(kind, self._instance, decision.reason, drafts=tuple(drafts), jobs=tuple(jobs))

    def _notice(self, event: Event, key: str, now: float, **fields: object) -> list[Draft]:
        """One notice per message, and of "backlog" one a minute per sender, whatever is delivered again."""
        part = f"{event.sender.id}:{int(now // 60)}" if key == "backlog" else event.dedupe_key
        name = hashlib.sha256(f"{self._instance}|{key}|{part}".encode()).hexdigest()[:32]
        targets: tuple[Target, ...] = event.reply_to[:1]
        return self._parts.delivery.compose(targets, self._parts.say(key, **fields), f"door:{name}", "notice")

    async def read_watermark(self, name: str) -> str | None:
        """See `Intake.read_watermark`."""
        return await ledger.watermark(self._parts.store, self._instance, name)

    def role(self, event: Event) -> Role | None:
        """See `Intake.role`."""
        rights = self._parts.linking.rights
        return rights.role(event) if rights.admits(event) else None

    def state(self, state: AdapterState, reason: str | None = None) -> None:
        """See `Intake.state`."""
        self._parts.report.state(self._instance, state, reason)

    def alive(self) -> None:
        """See `Intake.alive`."""
        self._parts.report.alive(self._instance)

    async def follow(self, ticket: str) -> AsyncIterator[TurnUpdate]:
        """See `Intake.follow`."""
        feed = self._parts.feeds.get(ticket)
        if feed is None:
            found = await ledger.answer_of(self._parts.store, ticket)
            if found is None:
                yield TurnEnded("failed", "")
                return
            state, answer, usage = found
            if state not in ("waiting", "running"):
                yield TurnEnded(_turn_state(state), answer, usage)
                return
            feed = self._parts.feeds.open(ticket)
        async for update in feed.watch():
            yield update

    async def abandon(self, ticket: str) -> None:
        """See `Intake.abandon`."""
        await self._parts.sessions.abandon(ticket)


def _turn_state(state: str) -> TurnState:
    known: dict[str, TurnState] = {
        "answered": "answered",
        "silent": "silent",
        "stopped": "stopped",
        "dead": "dead",
    }
    return known.get(state, "failed")
