"""Joining the accounts of one person: `/link` gives a code, `/link CODE` from another account joins, `/unlink` parts.

A code goes from whom the system knows to an account that it knows less: who types one gains its giver's rights, never
the other way round, so that nobody is talked into giving his own away by typing a stranger's code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import structlog

from gateway.codes import CODE_LIFE, Code, Codes, is_digest_of
from gateway.delivery import Delivery
from gateway.ledger import InboxRow
from gateway.outbox import Draft
from gateway.people import Account, NotJoined, People, Who, written
from gateway.rights import Rights, is_private, rank
from gateway.router import place_of
from hermes.clock import Clock
from hermes.events import Event, Target
from hermes.store import Job

__all__ = ["Linked", "Linking"]

log = structlog.get_logger("gateway.linking")


@dataclass(frozen=True, slots=True)
class Linked:
    """What to say, what to commit with it, what to tell others; `secret`: what is said is not kept."""

    text: str
    jobs: tuple[Job, ...] = ()
    also: tuple[Draft, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Linking:
    """Decides and prepares; nothing is stored or sent here. enabled: whether chats may join accounts at all."""

    people: People
    codes: Codes
    rights: Rights
    delivery: Delivery
    clock: Clock
    say: Callable[..., str]
    enabled: Callable[[], bool]

    def typed(self, event: Event, text: str) -> Literal["right", "wrong"] | None:
        """What a stranger's `/link TEXT` is worth; `None`: it is to be treated like any message of his."""
        who = (event.instance, event.sender.id)
        tick = self.clock.monotonic()
        if not text or event.kind != "direct" or not event.private_notice or not self.enabled():
            return None
        if not self.codes.may_try(who, tick):
            return None
        if self.codes.find(text, self.clock.time()) is not None:
            return "right"
        self.codes.tried(who, tick)
        return "wrong"

    def link(self, row: InboxRow, text: str) -> Linked:
        """The answer to `/link` and `/link CODE`."""
        if not self.enabled():
            return Linked(self.say("link_off"))
        if not is_private(row.event):  # a code in it was void when it came in
            return Linked(self.say("link_in_private"))
        return self._join(row, text) if text else self._give(row)

    def _give(self, row: InboxRow) -> Linked:
        event = row.event
        if self.rights.role(event) == "guest":
            return Linked(self.say("link_guest"))
        place = place_of(row.session_key) if event.kind == "direct" else None
        target = next(iter(event.reply_to), None)
        given = self.codes.give(
            _who(event), _name(event), place, target, self.clock.time(), self.clock.monotonic()
        )
        if given is None:
            return Linked(self.say("link_often"))
        text, job = given
        return Linked(self.say("link_code", code=text, minutes=int(CODE_LIFE // 60)), (job,), secret=True)

    def _join(self, row: InboxRow, text: str) -> Linked:
        event, now = row.event, self.clock.time()
        who, tick = _who(event), self.clock.monotonic()
        known = self.people.account(who)
        if known is not None and known.person is not None and known.code and is_digest_of(known.code, text):
            return Linked(self._joined(event))  # typed twice
        code = self.codes.find(text, now) if self.codes.may_try(who, tick) else None
        if code is None or code.who == who:
            self.codes.tried(who, tick)
            return Linked(self.say("link_wrong"))
        giver = self._giver(code)
        if giver is None or rank(self.rights.role(event)) > rank(giver):
            return Linked(self.say("link_other_way"))
        place = place_of(row.session_key) if event.kind == "direct" else None
        first = self.people.account(code.who)
        if first is None or first.person is None:
            first = Account(*code.who, code.name, None, code.place)
        elif first.place is None:  # he was given a role since he asked for the code, and has not written
            first = replace(first, place=code.place)
        other = Account(*who, _name(event), None, place, code=code.digest, giver=code.who)
        try:
            job = self.people.join(first, other, now)
        except NotJoined:
            return Linked(self.say("link_taken"))
        log.info("people.joined", first=written(code.who), other=written(who))
        return Linked(self._joined(event), (job, self.codes.spend(code)), self._told(row, code))

    def _giver(self, code: Code) -> Literal["owner", "member"] | None:
        """What the code's giver is now; `None`: no longer anybody who may give one."""
        if not self.rights.is_admitted(code.who):
            return None
        person = self.people.of(code.who)
        own = self.rights.own_role(code.who) if person is None else self.rights.role_of(person)
        return None if own == "guest" else own

    def _joined(self, event: Event) -> str:
        person = self.people.of(_who(event))
        accounts = self.people.accounts(person) if person is not None else []
        others = ", ".join(written(a.who) for a in accounts if a.who != _who(event))
        text = self.say("linked", accounts=others)
        if person is None or not self.rights.per_person() or event.kind != "direct":
            return text
        here = self.people.account(_who(event))
        goes_on_here = here is not None and person.place == here.place
        return f"{text}\n{self.say('linked_here' if goes_on_here else 'linked_there')}"

    def _told(self, row: InboxRow, code: Code) -> tuple[Draft, ...]:
        """The giver is told who joined him, so that a code which was stolen is noticed."""
        targets: tuple[Target, ...] = (code.target,) if code.target is not None else ()
        event = row.event
        text = self.say("link_used", name=_name(event), account=written(_who(event)))
        return tuple(self.delivery.compose(targets, text, f"{row.ticket}:link", "notice"))

    def unlink(self, row: InboxRow) -> Linked:
        """The answer to `/unlink`."""
        if not is_private(row.event):
            return Linked(self.say("link_in_private"))
        who = _who(row.event)
        joined = self.rights.accounts(row.event)
        fallen = [written(a.who) for a in self.people.let_in_by(who)]
        try:
            jobs = self.part(who)
        except LookupError:
            return Linked(self.say("not_linked"))
        if len(fallen) == len(joined) - 1 > 0:
            return Linked(self.say("unlinked_all", accounts=", ".join(fallen)), jobs)
        shared = self.rights.per_person() and row.event.kind == "direct"
        text = self.say("unlinked_shared" if shared else "unlinked")
        also = self.say("unlinked_too", accounts=", ".join(fallen)) if fallen else ""
        return Linked("\n".join(filter(None, [text, also])), jobs)

    def part(self, who: Who) -> tuple[Job, ...]:
        """Take an account out of its person, and what it let in by codes. Raises `LookupError` for one that is alone."""
        gone = [who, *(a.who for a in self.people.let_in_by(who))]
        job = self.people.leave(who, shared=self.rights.per_person())
        for each in gone:
            log.info("people.parted", account=written(each))
        return job, *(self.codes.take_back(each) for each in gone)

    def revoke(self, who: Who) -> tuple[Job, ...]:
        """Take an account out, and back what the owner gave it, unless that was to be a guest. Empty: there is nothing."""
        jobs: list[Job] = []
        with suppress(LookupError):
            jobs += self.part(who)
        person = self.people.of(who)
        if person is not None and person.role not in (None, "guest"):
            jobs.append(self.people.give_role(who, "", None, self.clock.time()))
        return tuple(jobs)


def _who(event: Event) -> Who:
    return event.instance, event.sender.id


def _name(event: Event) -> str:
    return (event.sender.name or event.sender.username or event.sender.id)[:80]
