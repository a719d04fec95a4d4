"""Turns that may have killed the process are tried one at a time, before all others that were open then."""

import asyncio
from collections.abc import Callable

from gateway.probation import Probation


class _Turn:
    """One turn that runs until `end`."""

    def __init__(self, probation: Probation, *, resumed: bool = True, last_start: bool = False) -> None:
        self.runs = asyncio.Event()
        self.end = asyncio.Event()
        self.stored: Callable[[], None] = lambda: None
        self._entry = probation.entered(resumed=resumed, last_start=last_start)
        if last_start:
            probation.expect()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self._entry as self.stored:
            self.runs.set()
            await self.end.wait()


async def _pass() -> None:
    """Let everybody go as far as they get."""
    for _ in range(10):
        await asyncio.sleep(0)


async def _ended(*turns: _Turn) -> None:
    for turn in turns:
        turn.end.set()
    await asyncio.gather(*(t.task for t in turns))


async def test_D3_turns_on_their_last_start_run_one_at_a_time_and_before_other_resumed_ones() -> None:
    probation = Probation()
    other = _Turn(probation)
    first, second = (_Turn(probation, last_start=True) for _ in range(2))
    new = _Turn(probation, resumed=False)
    await _pass()
    assert [t.runs.is_set() for t in (first, second, other, new)] == [True, False, False, True]
    first.stored()  # a step is stored: it is no longer a suspect
    await _pass()
    assert [t.runs.is_set() for t in (second, other)] == [True, False]
    second.end.set()
    await _pass()
    assert other.runs.is_set()
    await _ended(first, second, other, new)


async def test_D3_a_turn_that_is_cut_while_it_waits_holds_nobody_up() -> None:
    probation = Probation()
    first, second = (_Turn(probation, last_start=True) for _ in range(2))
    other = _Turn(probation)
    await _pass()
    second.task.cancel()
    await asyncio.gather(second.task, return_exceptions=True)
    first.stored()
    first.stored()  # every step says so
    await _pass()
    assert other.runs.is_set()
    await _ended(first, other)


async def test_without_suspects_resumed_turns_run_at_once() -> None:
    probation = Probation()
    turns = [_Turn(probation) for _ in range(3)]
    await _pass()
    assert all(t.runs.is_set() for t in turns)
    await _ended(*turns)
