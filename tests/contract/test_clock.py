"""The promise of `hermes.clock.Clock`, kept by the machine's clock and by the one that tests move."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hermes.clock import Clock, SystemClock
from hermes.testing import FakeClock

SHORT = 0.02


def real() -> tuple[Clock, Callable[[float], Awaitable[None]]]:
    return SystemClock(), asyncio.sleep


def fake() -> tuple[Clock, Callable[[float], Awaitable[None]]]:
    clock = FakeClock()
    return clock, clock.advance


Case = tuple[Clock, Callable[[float], Awaitable[None]]]


@pytest.fixture(params=[real, fake])
def case(request: pytest.FixtureRequest) -> Case:
    """A clock, and what lets time pass on it."""
    made: Case = request.param()
    return made


async def test_both_times_go_on_together(case: Case) -> None:
    clock, let_pass = case
    wall, mono = clock.time(), clock.monotonic()
    await let_pass(SHORT)
    assert clock.monotonic() - mono >= SHORT * 0.9
    assert clock.time() - wall == pytest.approx(clock.monotonic() - mono, abs=0.5)
    assert clock.time() > 1_600_000_000  # seconds since the epoch


async def test_a_sleep_lasts_its_seconds_and_not_less(case: Case) -> None:
    clock, let_pass = case
    began = clock.monotonic()
    sleep = asyncio.create_task(clock.sleep(SHORT))
    await let_pass(SHORT / 4)
    assert not sleep.done()
    await let_pass(SHORT)
    await asyncio.wait_for(sleep, 10)
    assert clock.monotonic() - began >= SHORT * 0.9


async def test_sleepers_wake_in_the_order_of_their_time(case: Case) -> None:
    clock, let_pass = case
    woken: list[float] = []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    tasks = [asyncio.create_task(sleeper(SHORT * n)) for n in (3, 1, 2)]
    await let_pass(0)  # let them begin
    await let_pass(SHORT * 4)
    await asyncio.wait_for(asyncio.gather(*tasks), 10)
    assert woken == [SHORT, SHORT * 2, SHORT * 3]


@pytest.mark.parametrize("seconds", [0, -1, -1e9])
async def test_no_time_is_a_turn_of_the_loop(case: Case, seconds: float) -> None:
    clock, _ = case
    ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    await clock.sleep(seconds)
    assert ran.is_set()


async def test_a_sleep_can_be_cancelled(case: Case) -> None:
    clock, let_pass = case
    sleep = asyncio.create_task(clock.sleep(3600))
    await let_pass(0)
    sleep.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleep
    await let_pass(SHORT)  # nobody is left to be woken


async def test_the_wall_clock_may_jump_and_the_other_does_not() -> None:
    clock = FakeClock()
    wall, mono = clock.time(), clock.monotonic()
    sleep = asyncio.create_task(clock.sleep(10))
    await clock.advance(1)
    clock.jump(-3600)
    assert (clock.time() - wall, clock.monotonic() - mono, sleep.done()) == (-3599.0, 1.0, False)
    await clock.advance(9)
    await sleep
