"""The way in: every delivery is stored before Slack is told that we have it.

Slack repeats what it was not told about: after some seconds, a minute, five minutes, and then no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from adapters.slack.gestures import Gestures
from adapters.slack.parse import Reading, parse_delivery
from adapters.slack.people import People, rooms, senders
from adapters.slack.threads import Threads, thread_name
from hermes import failpoint
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import StoreUnavailable
from hermes.events import Event, Parsed, Verdict, Watermark

__all__ = ["Delivery", "Taking"]

FirstMessage = Callable[[str, str], Awaitable[str | None]]
"""The words of the first message of a thread (chat, thread)."""

_log = structlog.get_logger("adapters.slack")
_BATCH = 64
_WAITING = 512


@dataclass(frozen=True, slots=True)
class Delivery:
    """What Slack has brought. kind: the envelope's type. told: tells Slack that it is stored."""

    kind: str
    payload: object
    told: Callable[[], Awaitable[None]]


class Taking:
    """Stores deliveries in the order in which they came, many at once where many wait."""

    def __init__(
        self, reading: Reading, people: People, gestures: Gestures, clock: Clock, first: FirstMessage
    ) -> None:
        self._reading = reading
        self._first = first
        self._people = people
        self._gestures = gestures
        self._clock = clock
        self._name = f"threads:{reading.account.id}"
        self._seen_name = f"seen:{reading.account.id}"
        self._threads: Threads | None = None
        self._seen: str | None = None
        self._one_at_a_time = asyncio.Lock()
        self._waiting: asyncio.Queue[Delivery] = asyncio.Queue(_WAITING)

    def put(self, delivery: Delivery) -> None:
        """Let it wait for `run`. When too many wait it is passed over, and Slack will repeat it."""
        try:
            self._waiting.put_nowait(delivery)
        except asyncio.QueueFull:
            _log.warning("slack.too_many_wait", instance=self._reading.instance, waiting=_WAITING)

    async def position(self, intake: Intake) -> tuple[str | None, Sequence[str]]:
        """The newest message that was taken (`None`: there was none yet), and our threads, the newest first."""
        pause = 1.0
        while True:
            try:
                threads = self._threads or await self._load(intake)
            except StoreUnavailable:
                await self._clock.sleep(pause)
                pause = min(5.0, pause * 1.5)
            else:
                return self._seen, threads.newest()

    async def settled(self) -> None:
        """Return when nothing waits."""
        await self._waiting.join()

    async def run(self, intake: Intake) -> None:
        """Store what waits, and tell Slack, until cancelled."""
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < _BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            await self._stubbornly(batch, intake)
            for delivery in batch:
                await delivery.told()
                self._waiting.task_done()
            failpoint.reached("intake.acknowledged")

    async def take(self, batch: Sequence[tuple[str, object]], intake: Intake) -> Sequence[Verdict]:
        """Store deliveries (kind, payload). Raises `StoreUnavailable`: then nothing of them was taken."""
        async with self._one_at_a_time:
            threads = self._threads or await self._load(intake)
            payloads = [payload for _, payload in batch]
            names = await self._people.names(senders(payloads), rooms(payloads))
            reading = replace(self._reading, threads=threads, names=names)
            items: list[Parsed] = []
            joined: list[str | None] = []
            for kind, payload in batch:
                items.append(parse_delivery(kind, payload, reading))
                joined.append(_join(threads, items[-1]))
            begun = [
                n for n, name in enumerate(joined) if name and _begun_by(payloads[n]) == reading.account.user
            ]
            found = await asyncio.gather(*(self._with_beginning(items[n], intake) for n in begun))
            for n, item in zip(begun, found, strict=True):
                items[n] = item
            failpoint.reached("intake.parsed")
            seen = _newest(items, self._seen)
            mark = self._mark(threads, seen, has_joined=any(joined))
            try:
                verdicts = await intake.take(items, mark)
            except StoreUnavailable:
                _leave(threads, joined)
                raise
            self._seen = seen
            _leave(threads, [n for n, v in zip(joined, verdicts, strict=True) if v.kind == "refused"])
            for (_, payload), item, verdict in zip(batch, items, verdicts, strict=True):
                self._gestures.offer(payload, item, verdict)
            return verdicts

    async def _with_beginning(self, item: Parsed, intake: Intake) -> Parsed:
        """The first message in a thread below ours, with what it answers: our words stand in no conversation yet."""
        if not isinstance(item, Event) or item.quoted or item.thread is None or intake.role(item) is None:
            return item
        return replace(item, quoted=await self._first(item.chat, item.thread))

    def _mark(self, threads: Threads, seen: str | None, *, has_joined: bool) -> Watermark | None:
        """One commit moves one watermark; that of the threads, which is long, moves seldom and says both."""
        if has_joined:
            return Watermark(self._reading.instance, self._name, f"{seen or ''} {threads.to_text()}")
        if seen is None or seen == self._seen:
            return None
        return Watermark(self._reading.instance, self._seen_name, seen)

    async def _load(self, intake: Intake) -> Threads:
        seen = await intake.read_watermark(self._seen_name) or ""
        earlier, _, names = (await intake.read_watermark(self._name) or "").partition(" ")
        numbers = [number for number in (seen, earlier) if number]
        self._seen = max(numbers, key=float, default=None)
        self._threads = Threads.from_text(names)
        return self._threads

    async def _stubbornly(self, batch: Sequence[Delivery], intake: Intake) -> None:
        """Try until it is stored; meanwhile Slack is told nothing."""
        pause = 1.0
        while True:
            try:
                await self.take([(d.kind, d.payload) for d in batch], intake)
            except StoreUnavailable:
                await self._clock.sleep(pause)
                pause = min(5.0, pause * 1.5)
            else:
                return


def _begun_by(payload: object) -> object:
    """Who wrote the first message of the thread in which an event's message stands."""
    event = payload.get("event") if isinstance(payload, Mapping) else None
    return event.get("parent_user_id") if isinstance(event, Mapping) else None


def _join(threads: Threads, item: Parsed) -> str | None:
    """The thread in which this message makes us take part, if that is new."""
    if (
        not isinstance(item, Event)
        or item.edited
        or item.kind != "group"
        or item.thread is None
        or not item.addressed
    ):
        return None
    name = thread_name(item.chat, item.thread)
    return name if threads.join(name) else None


def _newest(items: Sequence[Parsed], seen: str | None) -> str | None:
    """The number of the newest message among these and `seen`."""
    numbers = [item.message_id for item in items if isinstance(item, Event) and item.message_id]
    return max([*numbers, *([seen] if seen else [])], key=float, default=None)


def _leave(threads: Threads, names: Sequence[str | None]) -> None:
    for name in names:
        if name is not None:
            threads.leave(name)
