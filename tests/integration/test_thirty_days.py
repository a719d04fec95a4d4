"""Weeks on the fake clock: what is done now and then is done in time, once, and what has a bound keeps it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.door import RateBook
from gateway.housekeeping import Housekeeping
from gateway.pairing import CODE_LIFE, MAX_PENDING, Pairings
from hermes.config import Rate
from hermes.testing import FakeClock
from tests.gatewayrig import OPEN, Rig, message, rig, until

HOUR, DAY = 3600.0, 86_400.0
_DAYS = 35
_EVERY_HOURS = 6
_NAP = 0.2  # between two bites of housekeeping


class Diary(FakeClock):
    """Notes when somebody lies down for an hour, and who naps between two bites of work."""

    def __init__(self) -> None:
        super().__init__()
        self.hours: list[float] = []
        self.naps = 0

    async def sleep(self, seconds: float) -> None:
        if seconds == HOUR:
            self.hours.append(self.monotonic())
        self.naps += seconds == _NAP
        try:
            await super().sleep(seconds)
        finally:
            self.naps -= seconds == _NAP


@asynccontextmanager
async def _tidied(g: Rig, clock: Diary) -> AsyncIterator[None]:
    """Run what is done beside the messages."""
    task = asyncio.create_task(Housekeeping(g.core, g.home, clock).run())
    yield
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _pass_hour(clock: Diary) -> None:
    """Let an hour pass, to the end of what is done in it."""
    done = len(clock.hours)
    await clock.advance(HOUR)
    while len(clock.hours) == done:
        await until(lambda: len(clock.hours) > done or clock.naps)
        if clock.naps:
            await clock.advance(_NAP)


def _spill(folder: Path, name: str, at: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("long")
    os.utime(folder / name, (at, at))


async def _count(g: Rig, sql: str, *parameters: float) -> int:
    return int((await g.rows(sql, *parameters))[0][0])


@pytest.mark.timeout(240)  # five weeks, hour by hour
async def test_D12_after_five_weeks_only_what_shall_be_kept_is_there(tmp_path: Path) -> None:
    clock = Diary()
    async with (
        rig(tmp_path / "home", config=f"{OPEN}\nretention: {{steps: 10d}}\n", clock=clock) as g,
        _tidied(g, clock),
    ):
        sent = 0
        for hour in range(_DAYS * 24):
            if hour % _EVERY_HOURS == 0:
                await g.send(f"hour {hour}", chat=str(hour % 40))
                sent += 1
                await g.answered(sent)
                await g.quiet()
            if hour % 24 == 0:
                await asyncio.to_thread(_spill, g.home.spills, f"{hour}.txt", clock.time())
            await _pass_hour(clock)
        now, per_day = clock.time(), 24 // _EVERY_HOURS
        pauses = [later - at for at, later in zip(clock.hours, clock.hours[1:], strict=False)]
        assert abs(len(clock.hours) - _DAYS * 24) <= 1  # in time, and no burst
        assert min(pauses) > HOUR - 0.001
        assert max(pauses) < HOUR + 60  # what the work takes
        assert sent == len(g.texts) == len(set(g.texts))
        rows = "SELECT count(*) FROM inbox"
        assert abs(await _count(g, rows) - 30 * per_day) <= 1
        assert abs(await _count(g, f"{rows} WHERE event IS NOT NULL") - 7 * per_day) <= 1
        assert await _count(g, "SELECT count(*) FROM outbox") <= 30 * per_day + 1
        assert await _count(g, "SELECT count(*) FROM turns") == sent
        old = "SELECT count(*) FROM steps WHERE turn_id IN (SELECT id FROM turns WHERE ended_at < ?)"
        assert await _count(g, old, now - 10 * DAY - HOUR) == 0
        assert await _count(g, "SELECT count(*) FROM messages") == 2 * sent  # those are for ever
        assert abs(len(list(g.home.spills.iterdir())) - 14) <= 1
        assert (g.core.sessions.busy, len(g.core.feeds)) == (0, 0)


async def test_D12_an_idle_agent_is_closed_in_time_whenever_it_was_used(tmp_path: Path) -> None:
    clock = Diary()
    async with rig(tmp_path / "home", clock=clock) as g:
        sweeping = asyncio.create_task(g.core.agents.sweep())
        for visit in range(24):
            await g.send(f"visit {visit}", chat=str(visit % 3))
            await g.answered(visit + 1)
            await g.quiet()
            assert g.core.agents.live == 1
            await clock.advance(HOUR - 60)
            assert g.core.agents.live == 1
            await clock.advance(120)
            assert g.core.agents.live == 0
        assert g.core.agents.opened == g.core.agents.closed == 24
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)


async def test_D2_D12_a_message_is_known_for_thirty_days_and_then_forgotten(tmp_path: Path) -> None:
    clock = Diary()
    async with rig(tmp_path / "home", clock=clock) as g, _tidied(g, clock):
        said = message("once")
        assert (await g.deliver(said)).kind == "accepted"
        await g.answered(1)
        await g.quiet()
        for _ in range(29):
            clock.jump(DAY - HOUR)
            await _pass_hour(clock)
            assert (await g.deliver(said)).kind == "duplicate"
        clock.jump(DAY)
        await _pass_hour(clock)
        assert (await g.deliver(said)).kind == "accepted"
        assert await g.answered(2) == ["echo: once"] * 2


async def test_D12_strangers_of_a_month_leave_few_pairings(tmp_path: Path) -> None:
    clock = FakeClock()
    async with rig(tmp_path / "home", config="platforms: {telegram: {}}\n", clock=clock) as g:
        first = ""
        for day in range(30):
            for n in range(4):
                who = f"{day}{n:02}"
                await g.send("let me in", chat=who)
            first = first or str(g.core.pairings.listed()[0].code)
            assert len(g.core.pairings.listed()) <= MAX_PENDING
            clock.jump(DAY)
        stored = await g.rows("SELECT count(*) FROM pairings")
        assert stored == [(len(g.core.pairings.listed()),)]
        assert stored[0][0] <= 8  # those of the last day, and of the one before


def test_a_code_lives_for_an_hour_and_three_are_given_in_a_day() -> None:
    book, now = Pairings(), 1_700_000_000.0
    codes = []
    for hour in range(24):
        code, _ = book.ask("telegram", "7", "Ana", now + hour * (CODE_LIFE + 1))
        codes += [code] if code else []
    assert len(codes) == 3
    late = now + 2 * DAY
    again, _ = book.ask("telegram", "7", "Ana", late)
    assert again is not None
    for code in codes:
        try:
            book.approve(code, late)
        except LookupError:
            continue
        raise AssertionError(f"{code} lives")
    assert book.approve(again, late + CODE_LIFE - 1)[0].sender == "7"


def test_D6_rate_windows_of_a_month_do_not_drift() -> None:
    book, rate, who = RateBook(), Rate(5, 60.0), ("telegram", "7")
    passed, now = 0, 0.0
    while now < 30 * DAY:  # one every five seconds: more than twice what the rate lets through
        at, deferred = book.slot(who, rate, now)
        assert deferred == 0
        if at <= now:
            book.book(who, now)
            passed += 1
        now += 5.0
    assert passed == 5 * 30 * 24 * 60
    assert book.slot(who, rate, now + 60.0) == (now + 60.0, 0)
