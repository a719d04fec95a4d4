"""A platform that was away and is back: what waits for it goes at once, and nothing else does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gateway.fate import DeliveryRules, Sign, decide, is_over
from gateway.outbox import OutboxRow
from hermes.adapter import Capabilities, Pace, Piece, Receipt
from hermes.clock import SystemClock
from hermes.config import Rate
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Unauthorized, Unreachable
from hermes.events import Target
from hermes.testing import Answer, FakeAdapter, FakeClock, ScriptedModel
from tests.gatewayrig import Rig, rig, until
from tests.integration.telegram_desk import make_adapter
from tests.peers.telegram import TelegramPeer

SIGNS: tuple[Sign, ...] = ("taken", "connected")
ROW = OutboxRow(1, "k", Target("telegram", "1"), Piece("x"), "reply", "sending", False, 0, 0.0, 0.0, 0.0)
LEAST = 0.1
"""Seconds; more than the sixteenth of a first pause."""


@pytest.mark.parametrize(
    ("error", "signs"),
    [
        (Unreachable(), {"taken", "connected"}),
        (Unauthorized(), {"connected"}),
        (NotTaken(), set()),
        (NotTaken(retry_after=37), set()),
        (OutcomeUnknown(), set()),
    ],
)
def test_what_ends_the_wait_of_a_row(error: AdapterError, signs: set[Sign]) -> None:
    fate = decide(ROW, error, DeliveryRules(), deduplicates=False, now=1.0, jitter=0.5)
    assert {sign for sign in SIGNS if is_over(fate.waits_for, sign)} == signs


def test_an_outage_is_no_attempt_and_its_pauses_grow_until_the_platform_is_back() -> None:
    fate = decide(
        replace(ROW, attempts=7, away=9),
        Unreachable(),
        DeliveryRules(),
        deduplicates=False,
        now=1.0,
        jitter=0.5,
    )
    assert (fate.state, fate.delay, fate.attempts, fate.away) == ("queued", 60.0, 7, 10)
    fate = decide(
        replace(ROW, attempts=7), Unreachable(), DeliveryRules(), deduplicates=False, now=1.0, jitter=0.5
    )
    assert (fate.delay, fate.away) == (1.0, 1)


@dataclass
class Town(FakeAdapter):
    """A platform that cannot be used in some chats. tried: the chats of all sends, in order."""

    trouble: Mapping[str, AdapterError] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        self.tried.append(target.chat)
        if target.chat in self.trouble:
            raise self.trouble[target.chat]
        return await super().send(target, piece, key=key, again=again)


async def _wait(g: Rig, adapter: Town, clock: FakeClock, *chats: str) -> None:
    """Messages from these chats are answered, and the answers wait for their next try."""
    before = _pauses(clock)
    for chat in chats:
        await g.send("hi", chat=chat)
    await until(lambda: _pauses(clock) == before + len(chats))


def _pauses(clock: FakeClock) -> int:
    """How many sleep for as long as rows do: who shows that somebody writes sleeps for 0.3 seconds, transcripts for 0.6."""
    return sum(due < LEAST or due > 0.7 for due in clock.due)


def _connect(g: Rig) -> None:
    g.core.supervisor.state("telegram", "connecting", "it was away")
    g.core.supervisor.state("telegram", "connected", None)


async def test_as_soon_as_it_is_connected_all_go_at_the_platforms_pace(tmp_path: Path) -> None:
    chats = [str(n) for n in range(1, 6)]
    clock, adapter = FakeClock(), Town(trouble=dict.fromkeys(chats, Unreachable()))
    adapter.capabilities = Capabilities(pace=Pace(bot=Rate(7, 10.0)))
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await _wait(g, adapter, clock, *chats)
        await clock.advance(LEAST)
        assert len(adapter.tried) == len(chats)
        adapter.trouble = {}
        _connect(g)
        await g.answered(2)
        await clock.advance(0)
        assert len(adapter.tried) == len(chats) + 2  # no time has passed; the others wait for the pace
        await clock.advance(10.2)
        await g.answered(5)
        assert sorted(adapter.tried[5:]) == chats


async def test_a_message_that_is_taken_shows_that_the_road_is_there_again(tmp_path: Path) -> None:
    clock, adapter = FakeClock(), Town(trouble={"1": Unreachable()})
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await _wait(g, adapter, clock, "1")
        await clock.advance(LEAST)
        adapter.trouble = {}
        await g.send("hi", chat="2")
        await g.answered(2)
        assert adapter.tried == ["1", "2", "1"]


async def test_what_fails_alone_is_not_tried_with_each_message_of_others(tmp_path: Path) -> None:
    clock, adapter = FakeClock(), Town(trouble={"1": Unreachable()})
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await _wait(g, adapter, clock, "1")
        for count in range(1, 4):
            await g.send("hi", chat="2")
            await g.answered(count)
        assert adapter.tried == ["1", "2", "2", "2"]
        await clock.advance(LEAST)  # what was shown meanwhile counts
        await until(lambda: adapter.tried[4:] == ["1"])


async def test_a_pause_that_the_platform_asked_for_is_kept_and_a_refused_login_waits_for_a_connection(
    tmp_path: Path,
) -> None:
    trouble = {"1": NotTaken("flood", retry_after=37), "2": Unauthorized(), "3": NotTaken("busy")}
    clock, adapter = FakeClock(), Town(trouble=trouble)
    async with rig(tmp_path / "home", adapter=adapter, clock=clock) as g:
        await _wait(g, adapter, clock, "1", "2", "3")
        await clock.advance(LEAST)
        adapter.trouble = {}
        await g.send("hi", chat="4")
        await g.answered(1)
        _connect(g)
        await g.answered(2)
        assert adapter.tried[3:] == ["4", "2"]
        await clock.advance(1.3)
        await g.answered(3)
        assert adapter.tried[5:] == ["3"]
        await clock.advance(36)
        await g.answered(4)


class Endless(SystemClock):
    """Short pauses pass; the longer ones of a row that has failed twice never end. held: how many there are."""

    held = 0

    async def sleep(self, seconds: float) -> None:
        if 1.4 < seconds < 2.5:  # in this hour nothing else does
            self.held += 1
            await asyncio.Event().wait()
        await super().sleep(min(seconds, 0.02))


class Hasty(SystemClock):
    """No pause is long."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, 0.02))


async def test_telegram_goes_away_and_comes_back(tmp_path: Path, telegram_peer: TelegramPeer) -> None:
    gate, clock = asyncio.Event(), Endless()
    model = ScriptedModel([Answer("here I am", gate=gate)])
    telegram = make_adapter(telegram_peer, Hasty())
    async with rig(tmp_path / "home", model=model, platform=telegram, clock=clock) as g:
        g.core.supervisor.start(g.core.intake)
        try:
            telegram_peer.push_text("are you there?", 5)
            await until(lambda: model.running)
            await telegram_peer.server.go_away()
            gate.set()
            await until(lambda: g.core.supervisor.conditions["telegram"].state == "connecting")
            await until(lambda: clock.held)
            assert telegram_peer.chats[5].texts() == []
            await telegram_peer.server.come_back()
            await telegram_peer.wait_for(lambda: len(telegram_peer.chats[5].texts()) == 1)
            assert telegram_peer.chats[5].texts()[0].endswith("here I am")
        finally:
            await g.core.supervisor.stop()
            await telegram.aclose()
