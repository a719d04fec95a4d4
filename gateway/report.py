"""What the daemon says of itself: `hermes status`, `/ready`, metrics."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gateway import metrics, versions
from gateway.core import Core
from gateway.day import midnight
from gateway.disk import DiskUse, low
from gateway.lag import LoopLag
from gateway.presence import Presence
from hermes.errors import StoreError
from hermes.messages import JSONObject

__all__ = ["Report", "installed_version"]


_SCHEMAS = "SELECT part, version FROM schema_version"


def installed_version() -> str:
    """The version of the distribution."""
    try:
        return version("hermes-gateway")
    except PackageNotFoundError:
        return "0"


class Report:
    """Reads the live parts; keeps nothing but when it began."""

    def __init__(
        self,
        core: Core,
        lag: LoopLag,
        presence: Presence,
        disk: DiskUse,
        *,
        url: Callable[[], str | None],
        role: str,
    ) -> None:
        self._core = core
        self._lag = lag
        self._presence = presence
        self._disk = disk
        self._url = url
        self._role = role
        self._began = time.monotonic()
        self.started = False
        self.stopping = False
        self.restart_needed: str | None = None

    def readiness(self) -> tuple[bool, str | None]:
        """Whether new messages are taken, and why not."""
        if self.stopping:
            return False, "Hermes is stopping."
        if not self.started:
            return False, "Hermes is starting."
        fault = self._core.store.fault or self._presence.fault
        return fault is None, fault

    async def full_status(self) -> JSONObject:
        """`hermes status --json`: what is in memory, and what is on the disk."""
        disk = await asyncio.to_thread(self._disk.now)
        warning = low(disk)
        rows = [] if self._core.store.fault else await self._core.store.read(_SCHEMAS)
        return {
            **self.status(),
            "disk": {**disk, "warning": warning},
            "versions": await asyncio.to_thread(versions.here),
            "schema": {row["part"]: row["version"] for row in rows},
            "usage": {"today": await self._used_today()},
            "warnings": [warning] if warning else [],
        }

    def status(self) -> JSONObject:
        """The part that is in memory."""
        core = self._core
        ready, reason = self.readiness()
        return {
            "running": True,
            "pid": os.getpid(),
            "role": self._role,
            "version": installed_version(),
            "url": self._url(),
            "uptime": round(time.monotonic() - self._began, 1),
            "ready": ready,
            "reason": reason,
            "platforms": {
                name: {
                    "state": c.state,
                    "reason": c.reason,
                    "told": c.told,
                    "setting": c.setting,
                    "restarts": c.restarts,
                }
                for name, c in core.supervisor.conditions.items()
                if name != "terminal"
            },
            "agents": {"live": core.agents.live, "working": core.agents.pinned, "limit": core.agents.size},
            "sessions": {"busy": core.sessions.busy, "waiting": core.sessions.waiting},
            "turns": {"running": core.turns.running, "finished": core.turns.finished},
            "delivery": {
                "waiting": core.delivery.waiting,
                "sent": core.delivery.sent,
                "dead": core.delivery.dead,
                "lost": core.delivery.lost,
            },
            "tasks": self._lag.tasks,
            "loop_lag": {"last": round(self._lag.last, 4), "worst": round(self._lag.worst, 4)},
            "settings": {
                "number": core.settings.current().number,
                "error": core.settings.error,
                "warnings": list(core.settings.current().warnings),
                "restart_needed": self.restart_needed,
            },
        }

    async def _used_today(self) -> JSONObject | None:
        try:
            return await self._core.thinking.figures.used(midnight())
        except StoreError:  # which is told elsewhere in the status
            return None

    async def metrics(self) -> bytes:
        """Prometheus text."""
        return await asyncio.to_thread(self._rendered, await self._counted())

    async def _counted(self) -> list[JSONObject]:
        try:
            return await self._core.thinking.figures.counted()
        except StoreError:
            return []

    def _rendered(self, models: Sequence[JSONObject]) -> bytes:
        connected = {name: c.state == "connected" for name, c in self._core.supervisor.conditions.items()}
        return metrics.render(metrics.Seen(self._figures(), connected, self._disk.now(), models))

    def _figures(self) -> dict[str, Any]:
        core = self._core
        return {
            "ready": int(self.readiness()[0]),
            "uptime_seconds": time.monotonic() - self._began,
            "agents_live": core.agents.live,
            "agents_opened_total": core.agents.opened,
            "agents_closed_total": core.agents.closed,
            "sessions_busy": core.sessions.busy,
            "inbox_waiting": core.sessions.waiting,
            "turns_running": core.turns.running,
            "turns_finished_total": core.turns.finished,
            "outbox_waiting": core.delivery.waiting,
            "outbox_sent_total": core.delivery.sent,
            "outbox_dead_total": core.delivery.dead,
            "outbox_lost_total": core.delivery.lost,
            "asyncio_tasks": self._lag.tasks,
            "loop_lag_seconds": self._lag.last,
            "loop_lag_worst_seconds": self._lag.worst,
        }
