"""Replies out, once and in order: one lane per chat, the platform's pace, retries, unknown outcomes, dead letters.

A row is set to `sending` and committed before the call. A receipt closes it; after a failure `fate` decides.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from gateway import outbox
from gateway.composing import Captioned, Content, composed, largest_file
from gateway.fate import DeliveryRules, decide
from gateway.outbox import Draft, OutboxRow
from gateway.roads import Roads
from gateway.signs import Signs
from hermes.adapter import Adapter, EditingAdapter, Receipt
from hermes.clock import Clock
from hermes.errors import (
    AdapterError,
    ConfigError,
    Gone,
    OutcomeUnknown,
    Rejected,
    StoreUnavailable,
)
from hermes.events import Target
from hermes.failpoint import reached
from hermes.files import StoredFile
from hermes.store import Store

__all__ = ["Delivery", "Places"]

log = structlog.get_logger("gateway.delivery")


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are. stored: the path of a file; `None`: nobody looks.

    resolve: a target with its chat's id in place of a name; raises `ConfigError`.
    """

    stored: Callable[[StoredFile], Path] | None = None
    resolve: Callable[[Target], Target] = lambda target: target


@dataclass(slots=True, eq=False)
class _Lane:
    rows: deque[OutboxRow] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None
    tried: int = 0
    """When its first row was last tried, as `Outages.mark` counts."""


class Delivery:
    """Sends what stands in the outbox."""

    def __init__(
        self,
        store: Store,
        adapters: Mapping[str, Adapter],
        clock: Clock,
        rules: Callable[[], DeliveryRules],
        *,
        unheard: Collection[str] = (),
        places: Places | None = None,
    ) -> None:
        """unheard: instances that this process sends for, but does not listen to."""
        self._places = places or Places()
        self._roads = Roads(store, adapters, clock)
        self.signs = Signs(self._roads, lambda target: (target.instance, target.chat) in self._lanes)
        self._store = store
        self._unheard = frozenset(unheard)
        self._adapters = adapters
        self._clock = clock
        self._rules = rules
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._calls: set[asyncio.Task[OutboxRow | None]] = set()
        self._closed: dict[int, asyncio.Event] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._nowhere: str | None = None
        self.sent = 0
        self.lost = 0
        self.dead = 0

    @property
    def waiting(self) -> int:
        """Rows that wait or are being sent."""
        return sum(len(lane.rows) for lane in self._lanes.values())

    def serves(self, instance: str) -> bool:
        """Whether this process sends for that platform."""
        return instance in self._adapters

    def hears(self, instance: str) -> bool:
        """Whether this process also listens to that platform: then its messages are answered here."""
        return instance in self._adapters and instance not in self._unheard

    def resolved(self, target: Target) -> Target:
        """The target with its chat's id in place of a name. One that names no chat stays: its platform refuses it."""
        try:
            return self._places.resolve(target)
        except ConfigError:
            return target

    def _told(self, target: Target, key: str) -> Target:
        """As `resolved`, with a line in the log where a message, `key`, is for no chat. It may be composed twice."""
        try:
            return self._places.resolve(target)
        except ConfigError as error:
            if key != self._nowhere:
                log.warning("delivery.no_such_chat", instance=target.instance, error=str(error))
            self._nowhere = key
            return target

    def largest_file(self, target: Target) -> int | None:
        """Bytes of the largest file that can be sent there; `None`: none can."""
        return largest_file(self._adapters.get(self.resolved(target).instance))

    def compose(
        self,
        targets: Sequence[Target],
        markdown: str,
        key: str,
        kind: outbox.OutboxKind = "reply",
        files: Sequence[Captioned] = (),
    ) -> list[Draft]:
        """The outbox rows for a reply, rendered by the targets' adapters.

        Targets of platforms that are not there are left out, with a log line; so are files that a target's adapter
        does not send (`largest_file`).
        """
        return [
            draft
            for n, target in enumerate(targets)
            for draft in self.compose_one(target, Content(markdown, files), f"{key}:{n}", kind)
        ]

    def compose_one(
        self, target: Target, content: Content, key: str, kind: outbox.OutboxKind = "reply"
    ) -> list[Draft]:
        """As `compose`, for one target."""
        target = self._told(target, key)
        adapter = self._adapters.get(target.instance)
        if adapter is None:
            log.error("delivery.no_such_platform", instance=target.instance)
            return []
        return composed(adapter, target, content, key, kind)

    async def recover(self) -> None:
        """Take up the rows of an earlier process; those at `sending` have an unknown outcome.

        Before the adapters start. Rows for platforms that are not run here wait for a process that runs them.
        """
        for row in await outbox.open_outbox(self._store):
            if not self.serves(row.target.instance):
                continue
            if row.state != "sending":
                self.wake([row])
                continue
            if row.kind == "live":
                await self.signs.drop_live(
                    row.id, OutcomeUnknown("the process ended while an answer began to show")
                )
                continue
            await self._settle_failure(
                row, OutcomeUnknown("the process ended between send and receipt"), first=True
            )

    def wake(self, rows: Sequence[OutboxRow]) -> None:
        """New rows, committed, in order."""
        for row in rows:
            lane = self._lanes.setdefault((row.target.instance, row.target.chat), _Lane())
            lane.rows.append(row)
            self._idle.clear()
            if lane.task is None:
                name = f"lane {row.target.instance}"
                lane.task = asyncio.create_task(
                    self._drain(lane, (row.target.instance, row.target.chat)), name=name
                )

    def connected(self, instance: str) -> None:
        """The platform's adapter has just connected: what waited for that goes on."""
        self._roads.outages.show(instance, "connected")

    async def closed(self, row_ids: Collection[int], seconds: float) -> None:
        """Return when none of these rows waits any more, or after `seconds`."""
        waiting = {row.id for lane in self._lanes.values() for row in lane.rows}
        events = [self._closed.setdefault(i, asyncio.Event()) for i in row_ids if i in waiting]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for event in events:
                    await event.wait()

    async def flush(self) -> None:
        """Return when nothing waits any more."""
        await self._idle.wait()

    async def aclose(self) -> None:
        """Stop sending; what was not sent stays in the outbox.

        A call under way is waited for briefly, so that its receipt is stored.
        """
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            task.cancel()
        if under_way := {*tasks, *self._calls}:
            await asyncio.wait(under_way, timeout=5.0)

    async def _drain(self, lane: _Lane, key: tuple[str, str]) -> None:
        try:
            while lane.rows:
                row = await self._wait_turn(lane.rows[0], lane.tried)
                lane.tried = self._roads.outages.mark()
                rest = await self._send(row)
                if rest is None:
                    lane.rows.popleft()
                    if (waited_for := self._closed.pop(row.id, None)) is not None:
                        waited_for.set()
                else:
                    lane.rows[0] = rest
        finally:
            lane.task = None
            if self._lanes.get(key) is lane and not lane.rows:
                del self._lanes[key]
            if not self._lanes:
                self._idle.set()

    async def _wait_turn(self, row: OutboxRow, tried: int) -> OutboxRow:
        """Wait for the row's time, the store, and the platform's pace; the row as it is then."""
        due = row.early(self._clock.time())
        if due > 0 and await self._roads.outages.pause(row, due, tried):
            row = replace(row, away=0)
        await self._store.wait_healthy()
        adapter = self._adapters.get(row.target.instance)
        if adapter is None:
            return row
        pacer = self._roads.pacer(row.target.instance, adapter)
        group = self._roads.is_group(row.target)
        while (wait := pacer.wait(row.target.chat, self._clock.monotonic(), group=group)) > 0:
            await self._clock.sleep(wait)
        pacer.book(row.target.chat, self._clock.monotonic(), group=group)
        return row

    async def _send(self, row: OutboxRow) -> OutboxRow | None:
        """Send the row once; the row as it waits on, or `None` when it is closed."""
        adapter = self._adapters.get(row.target.instance)
        if adapter is None:
            return await self._settle_failure(row, Rejected("this platform is not set up any more"))
        if (gone := await self._missing(row)) is not None:
            return await self._settle_failure(row, Rejected(gone))
        # From here to the receipt a cancelled lane finishes its call: a claim without its call, or a receipt that is
        # not stored, would be a message lost or sent twice.
        call = asyncio.create_task(self._claimed(adapter, row), name="send")
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return await asyncio.shield(call)

    async def _claimed(self, adapter: Adapter, row: OutboxRow) -> OutboxRow | None:
        try:
            await self._store.write(outbox.claim(row.id, self._clock.time()))
        except StoreUnavailable:
            return replace(row, due_at=self._clock.time() + 1.0)
        reached("outbox.claimed")
        return await self._call(adapter, row)

    async def _missing(self, row: OutboxRow) -> str | None:
        """Why the row cannot be sent: a file of it is no longer kept."""
        files, stored = outbox.files_of(row.piece), self._places.stored
        if not files or stored is None:
            return None
        gone = await asyncio.to_thread(lambda: [f.name for f in files if not _stands(stored, f)])
        return f"the file {', '.join(gone)} is no longer kept here" if gone else None

    async def _call(self, adapter: Adapter, row: OutboxRow) -> OutboxRow | None:
        try:
            receipt = await _bring(adapter, row)
        except Gone:
            log.info("delivery.edit_gone", instance=row.target.instance, row=row.id)
            await self._roads.record(outbox.forget_edit(row.id))
            return replace(row, edits=None)
        except AdapterError as error:
            return await self._settle_failure(row, error)
        except Exception as error:  # an adapter's fault: nobody knows how far it came, and the lane goes on
            log.exception("delivery.adapter_failed", instance=row.target.instance, row=row.id)
            return await self._settle_failure(row, OutcomeUnknown(f"{type(error).__name__}; see the log"))
        reached("outbox.sent")
        if receipt.note:
            log.info("delivery.note", instance=row.target.instance, note=receipt.note)
        self.sent += 1
        self._roads.outages.show(row.target.instance, "taken")
        await self._roads.record(outbox.receipt(row.id, receipt.message_id, receipt.note, self._clock.time()))
        reached("outbox.receipted")
        return None

    async def _settle_failure(
        self, row: OutboxRow, error: AdapterError, *, first: bool = False
    ) -> OutboxRow | None:
        adapter = self._adapters.get(row.target.instance)
        now = self._clock.time()
        window = adapter.capabilities.dedupe_window if adapter else 0.0
        fresh = row.claimed_at is None or now - row.claimed_at < window
        deduplicates = adapter is not None and adapter.capabilities.deduplicates and fresh
        # To change a message twice to the same text is to change it once.
        deduplicates = deduplicates or row.edits is not None
        fate = decide(row, error, self._rules(), deduplicates=deduplicates, now=now, jitter=random.random())
        if fate.state == "queued":
            delay = 0.0 if first else fate.delay
            await self._roads.record(
                outbox.requeue(
                    row.id, due_at=now + delay, again=fate.again, attempts=fate.attempts, error=str(error)
                )
            )
            log.info(
                "delivery.retry", instance=row.target.instance, seconds=round(delay, 1), error=str(error)
            )
            again = row.again or fate.again
            waiting = replace(
                row,
                due_at=now + delay,
                again=again,
                attempts=fate.attempts,
                waits_for=fate.waits_for,
                away=fate.away,
            )
            if first:
                self.wake([waiting])
            return waiting
        if fate.state == "dropped":
            self.lost += 1
        else:
            self.dead += 1
        log.warning(
            "delivery.given_up", state=fate.state, instance=row.target.instance, row=row.id, error=str(error)
        )
        await self._roads.record(outbox.write_off(row.id, fate.state, str(error), now))
        return None


async def _bring(adapter: Adapter, row: OutboxRow) -> Receipt:
    """One call for a row: a message anew, or the change of one."""
    if row.edits is not None and isinstance(adapter, EditingAdapter):
        return await adapter.edit(row.target, row.edits, row.piece)
    return await adapter.send(row.target, row.piece, key=row.key, again=row.again)


def _stands(stored: Callable[[StoredFile], Path], file: StoredFile) -> bool:
    try:
        return stored(file).is_file()
    except FileNotFoundError:
        return False
