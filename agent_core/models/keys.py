"""Several keys of one provider: which one is used, and what happens to one that is refused.

One key is in use until it has to rest, so that the provider's prefix cache stays warm; then the next one in
order is asked at once. No key is ever named, only its place ("2 of 3").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import structlog

from agent_core.models.chat import ChatModel
from hermes.clock import Clock, SystemClock
from hermes.errors import ModelError
from hermes.model import Completion, ModelRequest

__all__ = ["RATE_REST", "KeyRing", "KeyedModel", "rest_of"]

log = structlog.get_logger(__name__)

RATE_REST = 60.0
"""Seconds for a key that is limited or has no credit left, where the provider does not say how long."""

_NO_CREDIT = frozenset({402, 429})


def rest_of(error: ModelError) -> float | None:
    """Seconds that a key rests after `error`, infinite for one that is refused; `None`: not the key's fault."""
    if error.kind == "rate_limit":
        return error.retry_after or RATE_REST
    if error.kind == "auth":
        return RATE_REST if error.status in _NO_CREDIT else math.inf
    return None


class KeyRing:
    """The places of one provider's keys, shared by its models."""

    def __init__(self, provider: str, size: int, clock: Clock | None = None) -> None:
        self._provider = provider
        self._size = size
        self._clock = clock or SystemClock()
        self._current = 0
        self._resting: dict[int, tuple[float, ModelError]] = {}

    def pick(self) -> tuple[int, bool]:
        """The key to use, and whether it is free: one that rests is picked only when all do.

        Raises the error of the key that is back first, where its provider has said how long to wait.
        """
        now = self._clock.monotonic()
        order = [(self._current + step) % self._size for step in range(self._size)]
        free = next((i for i in order if self._until(i) <= now), None)
        if free is not None:
            self._resting.pop(free, None)
            self._current = free
            return free, True
        soonest = min(order, key=self._until)
        until, error = self._resting[soonest]
        if error.retry_after is not None and until < math.inf:
            raise ModelError(str(error), kind=error.kind, status=error.status, retry_after=until - now)
        return soonest, False

    def rest(self, index: int, error: ModelError) -> bool:
        """Let a key rest if `error` is its fault; whether it is."""
        seconds = rest_of(error)
        if seconds is None:
            return False
        self._resting[index] = (self._clock.monotonic() + seconds, error)
        log.warning(
            "model.key_rests",
            provider=self._provider,
            key=f"{index + 1} of {self._size}",
            seconds=None if seconds == math.inf else round(seconds),
            reason=str(error),
        )
        return True

    def works(self, index: int) -> None:
        """A key was taken: it is the one in use."""
        if self._resting.pop(index, None) is not None:
            self._current = index

    def _until(self, index: int) -> float:
        return self._resting[index][0] if index in self._resting else -math.inf


class KeyedModel:
    """See `hermes.model.Model`: one model with several keys. A refused key costs no try of the caller's."""

    def __init__(self, models: Sequence[ChatModel], ring: KeyRing) -> None:
        self._models = tuple(models)
        self._ring = ring

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return self._models[0].name

    @property
    def window(self) -> int:
        """See `Model.window`."""
        return self._models[0].window

    @property
    def sees(self) -> bool | None:
        """See `Model.sees`."""
        return self._models[0].sees

    async def prepare(self) -> None:
        """See `ChatModel.prepare`."""
        await self._models[0].prepare()

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> Completion:
        """See `Model.complete`. Another key is asked only while no text was handed over."""
        shown = False

        def show(text: str) -> None:
            nonlocal shown
            shown = True
            on_text(text)

        while True:
            index, is_free = self._ring.pick()
            try:
                completion = await self._models[index].complete(request, show)
            except ModelError as error:
                if not self._ring.rest(index, error) or shown or not is_free or not self._has_free():
                    raise
                continue
            self._ring.works(index)
            return completion

    def _has_free(self) -> bool:
        try:
            return self._ring.pick()[1]
        except ModelError:
            return False

    async def aclose(self) -> None:
        """See `Model.aclose`."""
        for model in self._models:
            await model.aclose()
