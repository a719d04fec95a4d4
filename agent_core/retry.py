"""When a model call is tried again, and how long is waited.

The decision is pure; the loop around it only sleeps.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from hermes.clock import Clock
from hermes.errors import ModelError

__all__ = ["Retry", "RetryPolicy", "next_delay", "with_retries"]

T = TypeVar("T")

_PASSING = frozenset({"rate_limit", "overload", "network", "timeout", "malformed"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient to be. Seconds.

    tries: calls in all. first, factor, cap: the waits 1, 2, 4, ... up to `cap`, each lengthened by up to
    `jitter` of itself. longest_wait: a provider that asks for more is given up at once.
    total: no further try begins later than this after the first.
    hang: a provider that does not answer is given up within this, so a time-out is tried again only if
        another one as long would still fit.
    """

    tries: int = 5
    first: float = 1.0
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 0.25
    longest_wait: float = 120.0
    total: float = 600.0
    hang: float = 120.0


@dataclass(frozen=True, slots=True)
class Retry:
    """A try has failed and another follows.

    `attempt`: the one that failed, from 1. `delay`: seconds until the next.
    """

    attempt: int
    delay: float
    error: ModelError


def next_delay(error: ModelError, attempt: int, policy: RetryPolicy, rng: random.Random) -> float | None:
    """Seconds to wait after try `attempt` (from 1) failed with `error`; `None`: give up.

    Never less than what the provider asked for.
    """
    if error.kind not in _PASSING or attempt >= policy.tries:
        return None
    asked = error.retry_after or 0.0
    if asked > policy.longest_wait:
        return None
    step = min(policy.cap, policy.first * policy.factor ** (attempt - 1))
    return max(step, asked) + step * policy.jitter * rng.random()


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    clock: Clock,
    on_retry: Callable[[Retry], None],
    rng: random.Random | None = None,
) -> T:
    """The result of the first call of `attempt` that succeeds.

    Every other exception than `ModelError` goes through.

    `on_retry` hears of each failed try that is followed by another, before the wait: what that try
    streamed is void.
    Raises the last `ModelError`; one whose `retry_after` is over `policy.longest_wait` says so in its
    sentence.
    """
    begun = clock.monotonic()
    number = 0
    while True:
        number += 1
        tried = clock.monotonic()
        try:
            return await attempt()
        except ModelError as error:
            delay = next_delay(error, number, policy, rng or random.Random())
            now = clock.monotonic()
            if delay is None or not _fits(error, now - begun + delay, now - tried, policy):
                _raise_told(error, policy)
            on_retry(Retry(number, delay, error))
        await clock.sleep(delay)


def _fits(error: ModelError, until: float, lasted: float, policy: RetryPolicy) -> bool:
    """Whether the next try, beginning `until` seconds after the first began, is still within the limits."""
    if error.kind == "timeout" and until + lasted > policy.hang:
        return False
    return until <= policy.total


def _raise_told(error: ModelError, policy: RetryPolicy) -> NoReturn:
    asked = error.retry_after
    if asked is None or asked <= policy.longest_wait:
        raise error
    raise ModelError(
        f"The model's provider asks to wait {_duration(asked)} before the next request; try again then.",
        kind=error.kind,
        status=error.status,
        retry_after=asked,
    ) from error


def _duration(seconds: float) -> str:
    if seconds < 7200:
        return f"{round(seconds / 60)} minutes"
    return f"{round(seconds / 3600)} hours"
