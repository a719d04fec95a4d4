"""The wall clock jumps an hour, there or back, in the middle of things: nobody waits an hour, nothing is done twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.housekeeping import Housekeeping
from hermes.errors import NotTaken
from hermes.testing import Answer, FakeAdapter, FakeClock, ScriptedModel
from tests.gatewayrig import OPEN, Rig, message, rig, until

HOUR = 3600.0
either_way = pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["ahead", "back"])


async def _waits_to_be_sent_again(g: Rig) -> None:
    async with asyncio.timeout(10):
        while not await g.rows("SELECT 1 FROM outbox WHERE state = 'queued' AND due_at > 0"):
            await asyncio.sleep(0.001)


@either_way
async def test_D6_a_retry_comes_when_it_would_have_come(tmp_path: Path, jump: float) -> None:
    clock, adapter = FakeClock(), FakeAdapter(failures=[NotTaken("flood", retry_after=30)])
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await g.send("hi")
        await _waits_to_be_sent_again(g)
        await until(lambda: 30.0 in clock.due)
        clock.jump(jump)
        await clock.advance(29)
        assert g.texts == []
        await clock.advance(2)
        assert await g.answered(1) == ["echo: hi"]
        await g.quiet()
        assert await g.rows("SELECT state, attempts FROM outbox") == [("sent", 0)]


@either_way
async def test_D6_a_message_that_the_rate_holds_back_comes_when_it_would_have_come(
    tmp_path: Path, jump: float
) -> None:
    clock = FakeClock()
    config = OPEN.replace('limits: {rate: "off"}', 'limits: {rate: "1/min", backlog: 5}')
    async with rig(tmp_path / "home", config=config, clock=clock) as g:
        await g.send("at once")
        await g.send("in a minute")
        assert await g.answered(1) == ["echo: at once"]
        await until(lambda: any(50 < due <= 61 for due in clock.due))
        clock.jump(jump)
        await g.send("in two minutes")
        await clock.advance(61)
        assert await g.answered(2) == ["echo: at once", "echo: in a minute"]
        await until(lambda: any(50 < due <= 61 for due in clock.due))
        await clock.advance(61)
        assert (await g.answered(3))[2] == "echo: in two minutes"
        await g.quiet()
        assert len(g.model.requests) == 3


@either_way
async def test_an_agent_is_idle_for_as_long_as_it_was(tmp_path: Path, jump: float) -> None:
    clock = FakeClock()
    async with rig(tmp_path / "home", clock=clock) as g:
        await g.send("hi")
        await g.answered(1)
        await g.quiet()
        clock.jump(jump)
        await g.core.agents.trim()
        assert g.core.agents.live == 1
        await clock.advance(HOUR)
        await g.core.agents.trim()
        assert g.core.agents.live == 0


@either_way
async def test_D2_D12_nothing_is_forgotten_and_nothing_answered_twice(tmp_path: Path, jump: float) -> None:
    clock = FakeClock()
    async with rig(tmp_path / "home", clock=clock) as g:
        said = message("once")
        await g.deliver(said)
        await g.answered(1)
        await g.quiet()
        clock.jump(jump)
        assert (await g.deliver(said)).kind == "duplicate"
        await Housekeeping(g.core, g.home, clock).tidy()
        assert (await g.deliver(said)).kind == "duplicate"
        await g.send("and on")
        assert await g.answered(2) == ["echo: once", "echo: and on"]
        await g.quiet()
        bodies = await g.rows("SELECT body FROM messages ORDER BY id")
        assert [body for (body,) in bodies] == ["once", "echo: once", "and on", "echo: and on"]


@either_way
async def test_D3_a_turn_that_was_cut_goes_on_after_a_jump(tmp_path: Path, jump: float) -> None:
    gate = asyncio.Event()
    async with rig(tmp_path / "home", model=ScriptedModel([Answer("never", gate=gate)])) as g:
        await g.send("hi")
        await until(lambda: g.model.running)
        began = g.core.parts.clock.time()
    async with rig(tmp_path / "home", clock=FakeClock(began + jump)) as g:
        assert await g.answered(1) == ["echo: hi"]
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox") == [("answered",)]
