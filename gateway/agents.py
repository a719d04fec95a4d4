"""The cache of live agents: at most `size`, least recently used out first, idle ones after `idle_ttl` seconds.

An agent at work is pinned and never evicted. Evicting loses nothing: the next message rebuilds the agent from
the store. While one
is being closed, whoever asks for its session waits, so that a session never has two.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hermes.agent import Agent, AgentHost, SessionSpec
from hermes.clock import Clock

__all__ = ["Agents"]


@dataclass(slots=True, eq=False)
class _Slot:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    agent: Agent | None = None
    pins: int = 0
    used_at: float = 0.0
    dropped: bool = False


class Agents:
    """The cache. `opened` and `closed` count for the metrics."""

    def __init__(self, host: AgentHost, clock: Clock, *, size: int, idle_ttl: float) -> None:
        self._host = host
        self._clock = clock
        self.size = size
        self.idle_ttl = idle_ttl
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self.opened = 0
        self.closed = 0

    @property
    def live(self) -> int:
        """How many agents live now."""
        return sum(slot.agent is not None for slot in self._slots.values())

    @property
    def pinned(self) -> int:
        """How many are at work now."""
        return sum(slot.pins > 0 for slot in self._slots.values())

    @asynccontextmanager
    async def at_work(self, spec: SessionSpec) -> AsyncIterator[Agent]:
        """The session's agent, pinned for the time of the block. Raises what `AgentHost.open` raises."""
        slot = self._slots.setdefault(spec.key, _Slot())
        slot.pins += 1
        try:
            async with slot.lock:
                if slot.dropped and slot.agent is not None:
                    await self._close(slot)
                slot.dropped = False
                if slot.agent is None:
                    slot.agent = await self._host.open(spec)
                    self.opened += 1
            yield slot.agent
        finally:
            slot.pins -= 1
            slot.used_at = self._clock.monotonic()
            await self._after_work(spec.key, slot)

    async def _after_work(self, key: str, slot: _Slot) -> None:
        if slot.dropped and slot.pins == 0:
            await self._evict(key, slot)
        elif slot.agent is None and slot.pins == 0:
            self._slots.pop(key, None)
        else:
            self._slots.move_to_end(key)
        await self.trim()

    async def trim(self) -> None:
        """Evict what is over the size or idle for too long."""
        now = self._clock.monotonic()
        over = len(self._slots) - self.size
        for key, slot in list(self._slots.items()):
            if slot.pins > 0:
                continue
            if over > 0 or now - slot.used_at >= self.idle_ttl:
                over -= 1
                await self._evict(key, slot)

    async def drop(self, key: str) -> None:
        """Forget the session's agent: at once when idle, after its turn when at work."""
        slot = self._slots.get(key)
        if slot is None:
            return
        slot.dropped = True
        if slot.pins == 0:
            await self._evict(key, slot)

    async def _evict(self, key: str, slot: _Slot) -> None:
        async with slot.lock:
            await self._close(slot)
            if slot.pins == 0 and self._slots.get(key) is slot:
                del self._slots[key]

    async def _close(self, slot: _Slot) -> None:
        agent, slot.agent = slot.agent, None
        if agent is not None:
            self.closed += 1
            await agent.aclose()

    async def sweep(self) -> None:
        """Run for ever: evict idle agents in time."""
        while True:
            await self._clock.sleep(min(60.0, max(1.0, self.idle_ttl / 4)))
            await self.trim()

    async def aclose(self) -> None:
        """Close them all."""
        for key, slot in list(self._slots.items()):
            await self._evict(key, slot)
