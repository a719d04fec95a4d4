"""One aiohttp application on one port.

Bounds: connections, header and body time (30 s at most by default), body bytes, idle time of a kept
connection, pipelined requests
(aiohttp's own). A slow or odd client costs itself its connection and nobody else anything.
"""

from __future__ import annotations

import asyncio
import resource

from aiohttp import web

from gateway.http.connection import Connection, Connections
from gateway.http.guard import Guard
from gateway.http.listen import bind
from gateway.http.peer import Networks
from gateway.http.probes import Probes
from hermes.adapter import HttpLimits

__all__ = ["HttpServer"]

_MOST_CONNECTIONS = 1024
_BACKLOG = 512
_BUFFER = 64 * 1024


class HttpServer:
    """Made, mounted (`router`), started, drained, closed; once each, in that order."""

    def __init__(
        self,
        host: str,
        port: int,
        limits: HttpLimits,
        probes: Probes,
        *,
        trusted_proxies: Networks = (),
    ) -> None:
        """`port` 0: a free one. trusted_proxies: whose forwarding headers are believed."""
        self._host = host
        self._port = port
        self._limits = limits
        self._connections = Connections(_most_connections())
        self._guard = Guard(limits, trusted_proxies)
        self._app = web.Application(middlewares=[self._guard.middleware], client_max_size=limits.body)
        self._runner = web.AppRunner(self._app, access_log=None, handler_cancellation=True)
        self._listeners: list[asyncio.Server] = []
        probes.mount(self._app.router)

    @property
    def router(self) -> web.UrlDispatcher:
        """Where adapters add their routes, before `start`."""
        return self._app.router

    @property
    def url(self) -> str:
        """`http://HOST:PORT` with the port that is really used."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def connections(self) -> Connections:
        """The open connections; `len` counts them."""
        return self._connections

    async def start(self) -> None:
        """Bind and serve. Raises `PortTaken` or `ConfigError`."""
        sockets = await bind(self._host, self._port)
        self._port = sockets[0].getsockname()[1]
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        self._listeners = [
            await loop.create_server(self._connection, sock=bound, backlog=_BACKLOG) for bound in sockets
        ]

    async def drain(self) -> None:
        """Take no new connection; open ones close after the answer they are at. Returns at once."""
        for listener in self._listeners:
            listener.close()
        if self._runner.server is not None:
            self._runner.server.pre_shutdown()

    async def aclose(self, grace: float = 1.0) -> None:
        """Give answers under way `grace` seconds, then cut them. Harmless when `start` failed."""
        await self.drain()
        self._guard.close()
        if self._runner.server is not None:
            await self._runner.server.shutdown(grace)
        await self._runner.cleanup()

    def _connection(self) -> Connection:
        server = self._runner.server
        if server is None:  # the listener is closed before the runner
            raise RuntimeError("the server is closed")
        return Connection(
            server,
            self._connections,
            loop=asyncio.get_running_loop(),
            # Counts from the connection's start or its last answer until the headers of the next request
            # are whole.
            keepalive_timeout=self._limits.read_timeout,
            access_log=None,
            lingering_time=0,
            read_bufsize=_BUFFER,
            auto_decompress=False,
        )


def _most_connections() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(16, min(_MOST_CONNECTIONS, soft // 2))
