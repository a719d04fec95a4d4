"""Keeps every adapter running, each alone.

One that dies is started anew after growing pauses, one whose credentials are refused stays down and says so, one
that falls silent is restarted.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from hermes.adapter import Adapter, AdapterState, Intake
from hermes.clock import Clock
from hermes.errors import AdapterError, Unauthorized

__all__ = ["Condition", "Supervisor", "pause_before"]

log = structlog.get_logger("gateway.supervisor")

_LONGEST_PAUSE = 60.0
_STEADY = 60.0
"""Seconds of life after which an adapter's failures are forgotten."""


def pause_before(attempt: int, jitter: float) -> float:
    """Seconds before the `attempt`-th restart in a row (1, 2, ...); `jitter` in 0..1."""
    return min(_LONGEST_PAUSE, 2.0 ** min(attempt - 1, 10)) * (0.75 + 0.5 * jitter)


@dataclass(slots=True)
class Condition:
    """How an instance is. Times are monotonic seconds.

    told, setting: the platform's refusal in a sentence, once it is final, and the key whose value it refused.
    """

    state: AdapterState = "connecting"
    reason: str | None = None
    told: str | None = None
    setting: str | None = None
    alive_at: float = 0.0
    restarts: int = 0
    named: asyncio.Event = field(default_factory=asyncio.Event)


class Supervisor:
    """Runs the adapters."""

    def __init__(
        self,
        adapters: Mapping[str, Adapter],
        clock: Clock,
        on_connected: Callable[[str], None] = lambda _instance: None,
    ) -> None:
        """on_connected: called with the instance when its adapter has connected, at first or again."""
        self._on_connected = on_connected
        self._adapters = adapters
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.conditions: dict[str, Condition] = {name: Condition() for name in adapters}

    def state(self, instance: str, state: AdapterState, reason: str | None) -> None:
        """An adapter reports its state."""
        condition = self.conditions.setdefault(instance, Condition())
        if (condition.state, condition.reason) != (state, reason):
            log.info("adapter.state", instance=instance, state=state, reason=reason)
        has_connected = state == "connected" != condition.state
        condition.state, condition.reason = state, reason
        condition.told = condition.setting = None
        condition.alive_at = self._clock.monotonic()
        if state != "connecting" or reason is not None:
            condition.named.set()
        if has_connected:
            self._on_connected(instance)

    def alive(self, instance: str) -> None:
        """An adapter's connection has just shown that it lives."""
        self.conditions.setdefault(instance, Condition()).alive_at = self._clock.monotonic()

    def start(self, intake: Callable[[str], Intake]) -> None:
        """Start all adapters."""
        for name, adapter in self._adapters.items():
            self._tasks[name] = asyncio.create_task(
                self._keep(name, adapter, intake(name)), name=f"adapter {name}"
            )

    async def settled(self, seconds: float) -> None:
        """Return when every adapter is in a named state, or after `seconds`."""
        waits = [asyncio.create_task(c.named.wait()) for c in self.conditions.values()]
        if waits:
            _, late = await asyncio.wait(waits, timeout=seconds)
            for task in late:
                task.cancel()

    async def stop(self) -> None:
        """End receiving; sending still works."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=5.0)
        for name in self._tasks:
            self.conditions[name].state = "stopped"

    async def _keep(self, name: str, adapter: Adapter, intake: Intake) -> None:
        failures = 0
        while True:
            began = self._clock.monotonic()
            try:
                await self._live(name, adapter, intake)
                error: AdapterError = AdapterError("the connection ended")
            except Unauthorized as e:
                self.state(name, "failed", "unauthorized")
                self.conditions[name].told, self.conditions[name].setting = str(e), e.setting
                log.error("adapter.unauthorized", instance=name, error=str(e))  # noqa: TRY400  no fault of ours
                return
            except AdapterError as e:
                error = e
            except (
                Exception
            ) as e:  # an adapter's fault stops nobody else: it is logged and the adapter starts anew
                log.exception("adapter.crashed", instance=name)
                error = AdapterError(f"{type(e).__name__}; see the log")
            failures = 1 if self._clock.monotonic() - began > _STEADY else failures + 1
            self.conditions[name].restarts += 1
            pause = pause_before(failures, random.random())
            self.state(name, "connecting", str(error))
            log.warning("adapter.restart", instance=name, seconds=round(pause, 1), error=str(error))
            await self._clock.sleep(pause)

    async def _live(self, name: str, adapter: Adapter, intake: Intake) -> None:
        """Run the adapter until it ends, or until it has been silent for too long."""
        silence = adapter.capabilities.silence
        self.alive(name)
        run = asyncio.create_task(adapter.run(intake), name=f"run {name}")
        watch = asyncio.create_task(self._watch(name, silence), name=f"watch {name}")
        try:
            await asyncio.wait({run, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not run.done():
                raise AdapterError("the connection fell silent")
            await run
        finally:
            watch.cancel()
            run.cancel()
            await asyncio.gather(run, watch, return_exceptions=True)

    async def _watch(self, name: str, silence: float | None) -> None:
        """Return when the adapter has not been alive for `silence` seconds."""
        if silence is None:
            await asyncio.Event().wait()
            return
        while (left := self.conditions[name].alive_at + silence - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
