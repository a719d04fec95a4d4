"""Keeps one child alive while it is needed: starts it on first use, again when it has died, ends it when idle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from agent_core.models.local.child import Child
from hermes.clock import Clock
from hermes.errors import ModelError

__all__ = ["Supervisor", "pause_after"]

log = structlog.get_logger(__name__)

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_HEALTHY = 60.0
"""Seconds after which a child that dies does not count with those that died before."""


def pause_after(deaths: int) -> float:
    """Seconds until the next start after so many deaths in a row; the first one is free."""
    return 0.0 if deaths < 2 else float(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (deaths - 2)))


class Supervisor:
    """One child at most, lent to one user at a time, the others in order.

    start: starts a child, or raises `ModelError`. check: whether one still answers.
    idle: seconds after the last use when the child is ended; it starts again with the next use.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[Child]],
        check: Callable[[Child], Awaitable[bool]],
        clock: Clock,
        idle: float,
    ) -> None:
        self._start = start
        self._check = check
        self._clock = clock
        self._idle = idle
        self._turn = asyncio.Lock()
        self._child: Child | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._began = 0.0
        self._deaths = 0
        self._not_before = 0.0

    @property
    def child(self) -> Child | None:
        """The child, dead or alive; `None` when none was needed lately."""
        return self._child

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Child]:
        """A child that answers, for the time of the block. Raises `ModelError`."""
        async with self._turn:
            await self._forget_idle()
            child = await self._running()
            try:
                yield child
            finally:
                if self._child is child:  # not closed meanwhile
                    self._waiting = asyncio.create_task(self._end_idle(), name="local-model-idle")

    async def aclose(self) -> None:
        """End the child, also in the middle of an answer. It may be used again."""
        await self._forget_idle()
        child, self._child = self._child, None
        if child is not None:
            await child.aclose()

    async def _running(self) -> Child:
        child = self._child
        if child is not None and child.is_running and await self._check(child):
            return child
        if child is not None:
            await self._bury(child)
        wait = self._not_before - self._clock.monotonic()
        if wait > 0:
            told = f"The embedded model has died {self._deaths} times; it starts again in {wait:.0f} s."
            raise ModelError(told, kind="overload", retry_after=wait)
        self._began = self._clock.monotonic()
        try:
            self._child = await self._start()
        except ModelError:
            self._count_death()
            raise
        return self._child

    async def _bury(self, child: Child) -> None:
        was_running = child.is_running
        self._child = None
        await child.aclose()
        self._count_death()
        told = {"pid": child.pid, "code": await child.ended(), "hung": was_running, "deaths": self._deaths}
        log.warning("local_model.died", **told)

    def _count_death(self) -> None:
        now = self._clock.monotonic()
        self._deaths = 1 if now - self._began > _HEALTHY else self._deaths + 1
        self._not_before = now + pause_after(self._deaths)

    async def _end_idle(self) -> None:
        await self._clock.sleep(self._idle)
        child, self._child = self._child, None
        if child is not None:
            log.info("local_model.idle", pid=child.pid)
            await child.aclose()

    async def _forget_idle(self) -> None:
        """Before its end is begun it is called off; a begun one is waited for."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting is asyncio.current_task():
            return
        if self._child is not None:
            waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
