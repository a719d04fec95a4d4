"""`/health`, `/ready`, `/metrics`: what operators and their programs ask.

Details are for the API key or this machine only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from gateway.http.connection import json_error
from gateway.http.peer import is_local

__all__ = ["Probes", "prometheus_text"]

_HEALTHY = b'{"status": "ok"}'


async def prometheus_text() -> bytes:
    """Every metric of this process in Prometheus' text format 0.0.4."""
    return await asyncio.to_thread(_generated)


def _generated() -> bytes:
    import prometheus_client  # noqa: PLC0415  whoever never asks does not pay for it

    return prometheus_client.generate_latest()


@dataclass(frozen=True, slots=True)
class Probes:
    """What the daemon lends.

    readiness: (ready, why not in one sentence), cheap. is_key: whether a bearer token is an API key of this
    installation, in constant time.
    metrics: Prometheus' text.
    """

    readiness: Callable[[], tuple[bool, str | None]]
    is_key: Callable[[str], bool]
    metrics: Callable[[], Awaitable[bytes]] = prometheus_text

    def mount(self, router: web.UrlDispatcher) -> None:
        """Add the three addresses."""
        router.add_get("/health", self._health)
        router.add_get("/ready", self._ready)
        router.add_get("/metrics", self._metrics)

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(body=_HEALTHY, content_type="application/json")

    async def _ready(self, request: web.Request) -> web.Response:
        ready, reason = self.readiness()
        if reason is not None and not self._may_see(request):
            reason = "not ready"
        body = json.dumps(
            {"ready": ready, "reason": None if ready else reason or "not ready"}, ensure_ascii=False
        )
        return web.Response(status=200 if ready else 503, body=body.encode(), content_type="application/json")

    async def _metrics(self, request: web.Request) -> web.Response:
        if not self._may_see(request):
            return json_error(
                401,
                "Metrics are shown on this machine, or to the API key as a bearer token.",
                {"WWW-Authenticate": "Bearer"},
            )
        text = await self.metrics()
        return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    def _may_see(self, request: web.Request) -> bool:
        peer = request.transport.get_extra_info("peername") if request.transport else None
        if peer and is_local(peer[0], request.headers):
            return True
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_key(token.strip())
