"""The cache of live agents: who may leave it, who closes whom, and never two agents of one session."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import pytest

from gateway.agents import Agents
from hermes.agent import Agent, AgentHost, SessionSpec
from hermes.errors import StoreCorrupt
from hermes.testing import FakeClock


@dataclass
class Counted:
    """An agent that is only opened and closed."""

    key: str
    desk: Desk

    async def aclose(self) -> None:
        self.desk.closing.set()
        if self.desk.gate is not None:
            await self.desk.gate.wait()
        self.desk.alive[self.key] -= 1
        self.desk.closed += 1


@dataclass
class Desk:
    """Opens agents and counts them."""

    alive: Counter[str] = field(default_factory=Counter)
    most: int = 0
    opened: int = 0
    closed: int = 0
    gate: asyncio.Event | None = None
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    broken: bool = False

    async def open(self, spec: SessionSpec) -> Agent:
        await asyncio.sleep(0)
        if self.broken:
            raise StoreCorrupt("Stored message 1 cannot be read.")
        self.opened += 1
        self.alive[spec.key] += 1
        self.most = max(self.most, *self.alive.values())
        return cast("Agent", Counted(spec.key, self))

    @property
    def live(self) -> int:
        return sum(self.alive.values())


def spec(key: str) -> SessionSpec:
    return SessionSpec(key, "main", "telegram", "telegram", "direct", key)


def cache(desk: Desk, clock: FakeClock, *, size: int, ttl: float = 3600.0) -> Agents:
    return Agents(cast("AgentHost", desk), clock, size=size, idle_ttl=ttl)


async def visit(agents: Agents, key: str) -> None:
    async with agents.at_work(spec(key)):
        await asyncio.sleep(0)


async def test_SE_09_an_agent_at_work_is_closed_only_after_its_turn() -> None:
    desk = Desk()
    agents = cache(desk, FakeClock(), size=2)
    async with agents.at_work(spec("s1")) as busy:
        for key in ("s2", "s3", "s4"):
            await visit(agents, key)
        await agents.drop("s1")  # /new while it works
        assert desk.alive["s1"] == 1
        assert isinstance(busy, Counted)
    assert desk.alive["s1"] == 0
    assert agents.live <= 2


async def test_SE_09_more_at_work_than_the_size_are_all_kept_until_they_rest() -> None:
    desk = Desk()
    agents = cache(desk, FakeClock(), size=2)
    gate = asyncio.Event()

    async def works(key: str) -> None:
        async with agents.at_work(spec(key)):
            await gate.wait()
            assert desk.alive[key] == 1

    async with asyncio.TaskGroup() as group:
        for n in range(5):
            group.create_task(works(f"s{n}"))
        while agents.live < 5:
            await asyncio.sleep(0)
        await agents.trim()
        assert desk.live == 5
        gate.set()
    assert desk.live == agents.live == 2


async def test_SE_10_a_turn_longer_than_the_idle_time_keeps_its_agent() -> None:
    clock, desk = FakeClock(), Desk()
    agents = cache(desk, clock, size=8, ttl=3600.0)
    sweeping = asyncio.create_task(agents.sweep())
    await visit(agents, "idle")
    async with agents.at_work(spec("busy")):
        await clock.advance(7200)
        assert desk.alive == Counter({"busy": 1, "idle": 0})
    await clock.advance(3000)
    assert desk.alive["busy"] == 1  # idle only since its end
    await clock.advance(700)
    assert desk.live == 0
    sweeping.cancel()


@pytest.mark.parametrize("how", ["size", "drop", "sweep"])
async def test_SE_10_a_message_that_comes_while_its_agent_is_closed_gets_one_new_agent(how: str) -> None:
    clock, desk = FakeClock(), Desk()
    agents = cache(desk, clock, size=1, ttl=60.0)
    await visit(agents, "s1")
    desk.gate = asyncio.Event()
    if how == "size":
        evicting = asyncio.create_task(visit(agents, "s2"))
    elif how == "drop":
        evicting = asyncio.create_task(agents.drop("s1"))
    else:
        await clock.advance(61)
        evicting = asyncio.create_task(agents.trim())
    await desk.closing.wait()
    visits = [asyncio.create_task(visit(agents, "s1")) for _ in range(3)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert not any(task.done() for task in visits)
    assert desk.alive["s1"] == 1
    desk.gate.set()
    await asyncio.gather(evicting, *visits)
    assert desk.most == 1
    assert desk.live == agents.live <= 1
    assert (agents.opened, agents.closed) == (desk.opened, desk.closed)


async def test_SE_11_five_hundred_sessions_leave_no_agent_open() -> None:
    desk = Desk()
    agents = cache(desk, FakeClock(), size=128)
    tasks = len(asyncio.all_tasks())
    for n in range(500):
        await visit(agents, f"s{n}")
        if n % 3 == 0:
            await agents.drop(f"s{n}")
    assert desk.live == agents.live <= 128
    assert desk.closed == desk.opened - agents.live
    await agents.aclose()
    assert (desk.live, desk.closed) == (0, 500)
    assert len(asyncio.all_tasks()) == tasks


async def test_a_session_whose_agent_cannot_be_opened_takes_no_place() -> None:
    desk = Desk(broken=True)
    agents = cache(desk, FakeClock(), size=1)
    with pytest.raises(StoreCorrupt):
        await visit(agents, "s1")
    desk.broken = False
    await visit(agents, "s1")
    assert desk.live == agents.live == 1
