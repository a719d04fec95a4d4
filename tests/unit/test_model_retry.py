"""When a model is asked again."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from agent_core.retry import Retry, RetryPolicy, next_delay, with_retries
from hermes.errors import ModelError, ModelErrorKind
from hermes.testing import FakeClock

POLICY = RetryPolicy()


def fails(kind: ModelErrorKind = "overload", after: float | None = None) -> ModelError:
    return ModelError("no", kind=kind, retry_after=after)


class Tries:
    """Outcomes in order, each after some seconds; the last one repeats."""

    def __init__(self, clock: FakeClock, *outcomes: ModelError | str, lasting: float = 0.0) -> None:
        self.clock, self.outcomes, self.lasting = clock, list(outcomes), lasting
        self.at: list[float] = []

    async def __call__(self) -> str:
        self.at.append(self.clock.monotonic())
        await self.clock.sleep(self.lasting)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome


async def run(
    clock: FakeClock, attempt: Callable[[], Awaitable[str]]
) -> tuple[str | ModelError, list[Retry]]:
    heard: list[Retry] = []
    task = asyncio.ensure_future(with_retries(attempt, POLICY, clock, heard.append, random.Random(1)))
    await clock.advance(2000)
    assert task.done()
    try:
        return await task, heard
    except ModelError as error:
        return error, heard


async def test_MD_17_waits_as_long_as_it_was_told_then_tries_on() -> None:
    clock = FakeClock()
    tries = Tries(clock, fails("rate_limit", 20.0), fails("overload"), "answer")
    outcome, heard = await run(clock, tries)
    assert outcome == "answer"
    assert tries.at[1] - tries.at[0] >= 20
    assert [r.attempt for r in heard] == [1, 2]


async def test_MD_17_gives_up_after_five_tries_with_the_last_error() -> None:
    clock = FakeClock()
    tries = Tries(clock, fails("overload"))
    outcome, heard = await run(clock, tries)
    assert isinstance(outcome, ModelError)
    assert len(tries.at) == 5
    assert len(heard) == 4


async def test_MD_17_a_wait_of_an_hour_is_given_up_at_once_and_said() -> None:
    clock = FakeClock()
    tries = Tries(clock, fails("rate_limit", 3600.0))
    outcome, heard = await run(clock, tries)
    assert isinstance(outcome, ModelError)
    assert "60 minutes" in str(outcome)
    assert (outcome.retry_after, outcome.kind, len(tries.at), heard) == (3600.0, "rate_limit", 1, [])


@pytest.mark.parametrize("kind", ["auth", "bad_request", "overflow", "config"])
async def test_what_stays_wrong_is_not_tried_again(kind: ModelErrorKind) -> None:
    clock = FakeClock()
    tries = Tries(clock, fails(kind))
    await run(clock, tries)
    assert len(tries.at) == 1


@pytest.mark.parametrize("kind", ["rate_limit", "overload", "network", "malformed", "timeout"])
async def test_what_passes_is_tried_again(kind: ModelErrorKind) -> None:
    clock = FakeClock()
    outcome, _ = await run(clock, Tries(clock, fails(kind), "answer"))
    assert outcome == "answer"


@pytest.mark.parametrize(("lasting", "tries"), [(90.0, 1), (60.0, 1), (30.0, 3), (10.0, 5)])
async def test_a_provider_that_hangs_is_given_up_within_120_seconds(lasting: float, tries: int) -> None:
    clock = FakeClock()
    attempt = Tries(clock, fails("timeout"), lasting=lasting)
    await run(clock, attempt)
    assert len(attempt.at) == tries
    assert attempt.at[-1] + lasting <= 120


async def test_no_try_begins_after_the_total() -> None:
    clock = FakeClock()
    attempt = Tries(clock, fails("network"), lasting=400.0)
    await run(clock, attempt)
    assert len(attempt.at) == 2


async def test_other_errors_go_through() -> None:
    async def attempt() -> str:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await with_retries(attempt, POLICY, FakeClock(), lambda _: None)


def test_waits_grow_and_stay_within_the_jitter() -> None:
    rng = random.Random(3)
    waits = [next_delay(fails(), n, POLICY, rng) for n in range(1, 6)]
    assert waits[4] is None
    for base, wait in zip((1, 2, 4, 8), waits, strict=False):
        assert wait is not None
        assert base <= wait <= base * 1.25
