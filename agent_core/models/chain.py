"""The models that may answer a turn, in order, and when the next one is asked.

A model that has failed is left aside for a while, by all conversations, so that not every turn pays for its
tries again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from agent_core.retry import RetryPolicy
from hermes.clock import Clock
from hermes.errors import ModelError
from hermes.model import Completion, Model, ModelRequest

__all__ = ["Chain", "Rests", "cures", "first_answer", "hasty"]

log = structlog.get_logger(__name__)

_CURED = frozenset({"auth", "rate_limit", "overload", "network", "timeout", "malformed", "config"})
_LONGEST_REST = 3600.0
_HASTY_TRIES = 2
_HASTY_WAIT = 5.0


def cures(error: ModelError) -> bool:
    """Whether another model may do better. One with a larger window may also do when a request is too long."""
    return error.kind in _CURED or (error.kind == "bad_request" and error.unknown_model)


def hasty(tries: int, seconds: float) -> RetryPolicy:
    """How patient to be with a model behind which another one stands ready."""
    return RetryPolicy(
        tries=min(tries, _HASTY_TRIES), longest_wait=min(_HASTY_WAIT, seconds), total=seconds, hang=seconds
    )


class Rests:
    """Which models, by full name, are left aside until when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def rest(self, name: str, seconds: float) -> None:
        """Leave a model aside."""
        self._until[name] = self._clock.monotonic() + seconds

    def is_resting(self, name: str) -> bool:
        """Whether it is left aside now."""
        until = self._until.get(name)
        if until is not None and until <= self._clock.monotonic():
            del self._until[name]
            return False
        return until is not None


class Chain:
    """The models of one turn: those that do not rest in the order of the settings, then the others.

    names: `provider/model`, the wanted one first. build: the client of a name, patient if it is the last;
    raises `ModelError` (kind "config"). rest: seconds. longest: no further model is begun later than this
    after a call began; seconds.
    """

    def __init__(
        self,
        names: Sequence[str],
        build: Callable[[str, bool], Model],
        rests: Rests,
        *,
        rest: float,
        longest: float,
    ) -> None:
        self.wanted = names[0]
        self.current = ""
        self._build = build
        self._rests = rests
        self._rest = rest
        self._longest = longest
        self._left = sorted(dict.fromkeys(names), key=rests.is_resting)

    @property
    def is_last(self) -> bool:
        """Whether nothing stands behind the current one."""
        return not self._left

    def first(self) -> Model:
        """The model to begin with. One that is not set up rightly is passed over with a warning.

        Raises the `ModelError` of the last when none is.
        """
        while True:
            self.current = self._left.pop(0)
            try:
                return self._build(self.current, self.is_last)
            except ModelError as error:
                self._put_aside(error)
                if self.is_last:
                    raise

    def after(self, error: ModelError, lasted: float, window: int) -> Model | None:
        """The model to go on with after the current one, with `window`, failed for good; `None`: nothing helps.

        lasted: seconds since this call began.
        """
        is_too_long = error.kind == "overflow"
        if not (is_too_long or cures(error)) or lasted > self._longest:
            return None
        if not is_too_long:
            self._put_aside(error)
        while self._left:
            self.current = self._left.pop(0)
            try:
                model = self._build(self.current, self.is_last)
            except ModelError as problem:
                self._put_aside(problem)
                continue
            if not is_too_long or model.window > window:
                return model
        return None

    def _put_aside(self, error: ModelError) -> None:
        seconds = min(max(self._rest, error.retry_after or 0.0), _LONGEST_REST)
        self._rests.rest(self.current, seconds)
        log.warning(
            "model.left_aside",
            model=self.current,
            seconds=round(seconds),
            kind=error.kind,
            reason=str(error),
            next=self._left[0] if self._left else None,
        )


async def first_answer(models: Sequence[Model], request: ModelRequest, seconds: float) -> Completion:
    """One answer for work beside the conversation, with its model: each is asked once, for so long, until one answers.

    Raises the last one's `ModelError`; kind "config" for no model at all.
    """
    if not models:
        raise ModelError("No model is set up for work beside the conversation.", kind="config")
    *others, last = models
    for model in others:
        try:
            return await _within(seconds, model, request)
        except ModelError as error:
            log.info("model.auxiliary_failed", model=model.name, kind=error.kind, reason=str(error))
    return await _within(seconds, last, request)


async def _within(seconds: float, model: Model, request: ModelRequest) -> Completion:
    try:
        async with asyncio.timeout(seconds):
            completion = await model.complete(request, lambda _: None)
            return replace(completion, model=completion.model or model.name)
    except TimeoutError:
        raise ModelError(f"{model.name} did not answer within {seconds:g} s.", kind="timeout") from None
