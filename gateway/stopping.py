"""Why and how fast the daemon stops. The first signal asks, the second forces."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal

import structlog

from hermes.errors import EXIT_OK, EXIT_RESTART, EXIT_UNEXPECTED

__all__ = ["Reason", "Stop", "hangs_up", "install_signals"]

log = structlog.get_logger("gateway.stopping")

Reason = Literal["signal", "asked", "restart", "yield", "unexpected"]


class Stop:
    """The wish to stop. `reason` is the first one given."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self.reason: Reason | None = None

    def ask(self, reason: Reason) -> None:
        """Ask to stop; the first reason counts."""
        if self.reason is None:
            self.reason = reason
        self._asked.set()

    def force(self) -> None:
        """Do not wait for turns any longer."""
        self.ask("signal")
        self._hurry.set()

    @property
    def forced(self) -> bool:
        """Whether the waiting was cut short."""
        return self._hurry.is_set()

    @property
    def exit_code(self) -> int:
        """The daemon's exit code."""
        if self.forced or self.reason == "unexpected":
            return EXIT_UNEXPECTED
        return EXIT_RESTART if self.reason == "restart" else EXIT_OK

    async def wait(self) -> None:
        """Return when somebody asked."""
        await self._asked.wait()

    async def unless_hurried(self, work: Coroutine[Any, Any, None]) -> None:
        """Do `work`, but give it up when forced."""
        task = asyncio.create_task(work, name="drain")
        hurry = asyncio.create_task(self._hurry.wait(), name="hurry")
        try:
            await asyncio.wait({task, hurry}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
        finally:
            hurry.cancel()
            task.cancel()
            await asyncio.gather(task, hurry, return_exceptions=True)


def hangs_up(*, under_service: bool, terminal: bool) -> Literal["reload", "stop"]:
    """What SIGHUP means: under a service or without a terminal, reload; on a terminal that was lost, stop."""
    return "reload" if under_service or not terminal else "stop"


def install_signals(stop: Stop, reload: Callable[[], Awaitable[None]]) -> None:
    """Take SIGTERM, SIGINT and SIGHUP for the running loop."""
    loop = asyncio.get_running_loop()
    reloading: set[asyncio.Task[None]] = set()

    def asked() -> None:
        if stop.reason is None:
            stop.ask("signal")
        else:
            log.warning("stop.forced")
            stop.force()

    async def reload_now() -> None:
        await reload()

    def hung_up() -> None:
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if hangs_up(under_service="NOTIFY_SOCKET" in os.environ, terminal=terminal) == "stop":
            asked()
            return
        task = loop.create_task(reload_now(), name="reload")
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    loop.add_signal_handler(signal.SIGTERM, asked)
    loop.add_signal_handler(signal.SIGINT, asked)
    loop.add_signal_handler(signal.SIGHUP, hung_up)
