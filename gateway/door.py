"""Who may come in.

Pure: an event, the rules and what is known of its sender give a decision; nothing is stored here.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Literal

from hermes.config import Rate
from hermes.events import Admission, Event

__all__ = ["Decision", "DoorRules", "RateBook", "Standing", "judge", "listed"]


@dataclass(frozen=True, slots=True)
class DoorRules:
    """One instance's rules. allow_from: `None` means pairing; "*" anyone. rate, backlog: inbound per sender.

    chars: longest text. fetches: files that came with a message can be had.
    """

    allow_from: tuple[str, ...] | None
    rate: Rate | None
    backlog: int
    chars: int
    fetches: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a sender. slot: when the rate lets the message through (epoch seconds).

    deferred: messages that already wait. linked: his person is admitted by another account. code: a stranger's message
    is `/link` with a code that is valid, or with another one; `None`: it is none, or he tried too many.
    """

    paired: bool = False
    slot: float = 0.0
    deferred: int = 0
    linked: bool = False
    code: Literal["right", "wrong"] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The door's verdict. notice: a key of the table of sentences to answer with.

    pair: the sender may be given a pairing code.
    """

    kind: Literal["accepted", "refused", "ignored"]
    reason: str = ""
    admission: Admission = "anyone"
    not_before: float = 0.0
    notice: str | None = None
    pair: bool = False


def judge(
    event: Event, rules: DoorRules, standing: Standing, now: float, *, control: bool = False
) -> Decision:
    """Decide on one event.

    `control`: a command such as /stop. It never waits, so the `standing` is that of its sender's commands alone,
    and what is over the rate is refused.
    """
    if event.admitted is None and event.sender.is_bot:
        return Decision("ignored", "sender is a bot")
    if not event.addressed:
        return Decision("ignored", "not addressed")
    admission = _admission(event, rules, standing)
    if admission is None and standing.code == "right":
        admission = "linked"
    if admission is None:
        if standing.code == "wrong":
            return Decision("refused", "wrong code", notice="link_wrong")
        pairing = rules.allow_from is None and event.private_notice
        return Decision("refused", "unknown sender", pair=pairing)
    if not event.text.strip() and not (event.attachments and rules.fetches):
        if event.unsupported is not None or event.attachments:
            return Decision("refused", "unsupported", admission, notice="unsupported")
        return Decision("ignored", "empty")
    if len(event.text) > rules.chars:
        return Decision("refused", "too long", admission, notice="too_long")
    return _rated(event, rules, standing, now, admission, control=control)


def _admission(event: Event, rules: DoorRules, standing: Standing) -> Admission | None:
    if event.admitted is not None:
        return event.admitted
    own = listed(event.sender.id, rules, paired=standing.paired)
    return "linked" if standing.linked and own in (None, "anyone") else own


def listed(sender: str, rules: DoorRules, *, paired: bool) -> Admission | None:
    """By what right the rules let a sender in; `None`: they do not."""
    if rules.allow_from is None:
        return "paired" if paired else None
    if sender in rules.allow_from:
        return "listed"
    return "anyone" if "*" in rules.allow_from else None


def _rated(
    event: Event, rules: DoorRules, standing: Standing, now: float, admission: Admission, *, control: bool
) -> Decision:
    free = rules.rate is None or event.admitted is not None or standing.slot <= now
    if free:
        return Decision("accepted", admission=admission)
    if control or standing.deferred >= rules.backlog:
        return Decision("refused", "backlog", admission, notice="backlog")
    return Decision("accepted", "deferred", admission, not_before=standing.slot)


class RateBook:
    """Remembers, per sender, when messages were let through or will be (monotonic seconds).

    The parts of an album are one message: the first is booked. Bounded: the senders heard least recently go first.
    """

    def __init__(self, senders: int = 10_000) -> None:
        self._senders = senders
        self._times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._albums: OrderedDict[tuple[str, str], tuple[str, float]] = OrderedDict()

    def slot(self, who: tuple[str, str], rate: Rate, now: float) -> tuple[float, int]:
        """When the next message of `who` may pass, and how many of his already wait for later."""
        times = self._times.get(who)
        if times is None:
            return now, 0
        while times and times[0] <= now - rate.seconds:
            times.popleft()
        deferred = sum(1 for t in times if t > now)
        if len(times) < rate.count:
            return now, deferred
        return max(now, times[-rate.count] + rate.seconds), deferred

    def joined(self, who: tuple[str, str], album: str | None) -> float | None:
        """When the part of the album that is booked passes; `None`: this one is its first."""
        known = self._albums.get(who) if album is not None else None
        return known[1] if known is not None and known[0] == album else None

    def book(self, who: tuple[str, str], at: float, album: str | None = None) -> None:
        """A message of `who` passes at `at`."""
        if album is not None:
            self._albums[who] = album, at
            if len(self._albums) > self._senders:
                self._albums.popitem(last=False)
        times = self._times.setdefault(who, deque())
        times.append(at)
        self._times.move_to_end(who)
        if len(self._times) > self._senders:
            self._times.popitem(last=False)

    def unbook(self, who: tuple[str, str], at: float) -> None:
        """The message of `who` that was booked for `at` was not taken."""
        if self._albums.get(who, ("", None))[1] == at:
            del self._albums[who]
        times = self._times.get(who)
        if times is not None and at in times:
            times.remove(at)
