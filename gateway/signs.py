"""What may be left out where there is no room for it: that somebody is writing, and the growing of an answer.

Everything that must arrive goes before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import structlog

from gateway import outbox
from gateway.outbox import Draft
from gateway.roads import Roads
from hermes.adapter import Adapter, EditingAdapter, Piece
from hermes.errors import AdapterError, Gone, NotTaken, OutcomeUnknown, StoreUnavailable
from hermes.events import Target
from hermes.failpoint import reached

__all__ = ["Grown", "Signs"]

Grown = Literal["shown", "left out", "gone"]
"""What became of an edit: left out for lack of room, or its message is no longer there."""

log = structlog.get_logger("gateway.delivery")


class Signs:
    """has_lane: whether something waits for the target's chat, or is being sent to it."""

    def __init__(self, roads: Roads, has_lane: Callable[[Target], bool]) -> None:
        self._roads = roads
        self._has_lane = has_lane
        self._store = roads.store
        self._adapters = roads.adapters
        self._clock = roads.clock

    async def typing(self, target: Target) -> None:
        """Show that somebody is writing, if there is room for it and an answer could be stored."""
        adapter = self._adapters.get(target.instance)
        if adapter is None or not adapter.capabilities.typing or self._store.fault is not None:
            return
        if not self._may_sign(target, adapter):
            return
        self._roads.pacer(target.instance, adapter).sign(self._clock.monotonic())
        try:
            await adapter.typing(target)
        except NotTaken as e:
            self._hush(target, adapter, e)
        except AdapterError as e:
            log.debug("delivery.typing_failed", instance=target.instance, error=str(e))

    def editor(self, target: Target) -> EditingAdapter | None:
        """The target's adapter, if an answer can grow there."""
        adapter = self._adapters.get(target.instance)
        if isinstance(adapter, EditingAdapter) and adapter.capabilities.edits:
            return adapter
        return None

    async def begin_live(self, draft: Draft) -> str | None:
        """Send a growing answer's first message; its id, or `None` when there is no room for it now.

        A row of its own records it, at `sending` before the call. One whose outcome is unknown is given up and
        reported: at worst a part of an answer is left standing. So that there is no second one, nobody shall
        begin again after an error. Raises `AdapterError`.
        """
        adapter = self._adapters.get(draft.target.instance)
        if adapter is None or not self._may_sign(draft.target, adapter):
            return None
        self._book(draft.target, adapter)
        try:
            (row_id,) = await self._store.write(outbox.begin_live(draft, self._clock.time()))
        except StoreUnavailable:
            return None
        reached("live.claimed")
        try:
            receipt = await adapter.send(draft.target, draft.piece, key=draft.key)
        except AdapterError as error:
            await self.drop_live(row_id, error)
            raise
        except Exception as fault:  # an adapter's fault: nobody knows how far it came
            unknown = OutcomeUnknown(f"{type(fault).__name__}; see the log")
            await self.drop_live(row_id, unknown)
            log.exception("delivery.adapter_failed", instance=draft.target.instance, row=row_id)
            raise unknown from fault
        self._roads.outages.show(draft.target.instance, "taken")
        reached("live.sent")
        await self._roads.record(outbox.receipt(row_id, receipt.message_id, receipt.note, self._clock.time()))
        reached("live.receipted")
        return receipt.message_id

    async def drop_live(self, row_id: int, error: AdapterError) -> None:
        """Give up a growing answer's first message."""
        if isinstance(error, OutcomeUnknown):
            log.warning("live.left_over", row=row_id, error=str(error))
        await self._roads.record(outbox.write_off(row_id, "dropped", str(error), self._clock.time()))

    async def edit_live(self, target: Target, message_id: str, piece: Piece) -> Grown:
        """Let a growing answer grow, if there is room for it. An edit that failed is left to the next one."""
        adapter = self._adapters.get(target.instance)
        if not isinstance(adapter, EditingAdapter) or not self._may_sign(target, adapter):
            return "left out"
        self._book(target, adapter)
        try:
            await adapter.edit(target, message_id, piece)
        except Gone:
            return "gone"
        except NotTaken as error:
            self._hush(target, adapter, error)
            return "left out"
        except AdapterError as error:
            log.debug("live.edit_failed", instance=target.instance, error=str(error))
        reached("live.edited")
        return "shown"

    def _may_sign(self, target: Target, adapter: Adapter) -> bool:
        """Whether there is room for what may be left out: nothing waits for the chat, and the pace allows it."""
        pacer, now = self._roads.pacer(target.instance, adapter), self._clock.monotonic()
        if self._has_lane(target) or self._store.fault is not None:
            return False
        return pacer.may_sign(target.chat, now, group=self._roads.is_group(target))

    def _hush(self, target: Target, adapter: Adapter, error: NotTaken) -> None:
        """Small signs are the first to keep a pause that the platform asks for."""
        if error.retry_after is not None:
            now = self._clock.monotonic()
            self._roads.pacer(target.instance, adapter).hush(target.chat, now, now + error.retry_after)

    def _book(self, target: Target, adapter: Adapter) -> None:
        pacer = self._roads.pacer(target.instance, adapter)
        pacer.book(target.chat, self._clock.monotonic(), group=self._roads.is_group(target))
