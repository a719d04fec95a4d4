"""What everything that goes out shares: the platforms, their pace, their outages, and the books it is written down in."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.outages import Outages
from gateway.pace import Pacer
from hermes.adapter import Adapter
from hermes.clock import Clock
from hermes.errors import StoreUnavailable
from hermes.events import Target
from hermes.store import Job, Store

__all__ = ["Roads"]


class Roads:
    """The ways to the platforms of this process."""

    def __init__(self, store: Store, adapters: Mapping[str, Adapter], clock: Clock) -> None:
        self.store = store
        self.adapters = adapters
        self.clock = clock
        self.outages = Outages(clock)
        self._pacers: dict[str, Pacer] = {}

    def pacer(self, instance: str, adapter: Adapter) -> Pacer:
        """The windows of a platform instance."""
        pacer = self._pacers.get(instance)
        if pacer is None:
            pacer = self._pacers[instance] = Pacer(adapter.capabilities.pace)
        return pacer

    def is_group(self, target: Target) -> bool:
        """Whether the pace of groups holds there."""
        adapter = self.adapters.get(target.instance)
        return adapter is not None and adapter.capabilities.pace.is_group(target.chat)

    async def record(self, job: Job) -> None:
        """Commit what happened, however long the store is away: this is the only memory of it."""
        while True:
            try:
                await self.store.write(job)
            except StoreUnavailable:
                await self.store.wait_healthy()
                await self.clock.sleep(0.2)
            else:
                return
