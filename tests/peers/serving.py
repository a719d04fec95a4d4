"""A loopback HTTP server that a test can start, stop, and make unreachable for a while."""

import asyncio
import signal
from typing import Protocol

from aiohttp import web

HOST = "127.0.0.1"
_LIVE_BEFORE_SWEEP = 1024


class LoopbackServer:
    """Serves one aiohttp application on 127.0.0.1; `port` 0 lets the system choose; the choice stays.

    Handlers are cancelled when their client goes away: a long poll that nobody waits for any more must not
    live on and meet the next one.
    """

    def __init__(self, app: web.Application, port: int = 0) -> None:
        self.port = port
        self.stopping = asyncio.Event()
        self.connections_opened = 0
        self._live: set[object] = set()
        self._app = app
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`, valid once started."""
        return f"http://{HOST}:{self.port}"

    @property
    def open_connections(self) -> int:
        """TCP connections that are open now, idle ones included."""
        server = self._runner.server if self._runner else None
        return len(server.connections) if server else 0

    @property
    def connections_closed(self) -> int:
        """Connections that carried a request and are closed now."""
        self._forget_closed()
        return self.connections_opened - len(self._live)

    def count_connection(self, request: web.Request) -> None:
        """Note the connection of a request."""
        if request.protocol not in self._live:
            self._live.add(request.protocol)
            self.connections_opened += 1
            if len(self._live) > _LIVE_BEFORE_SWEEP:
                self._forget_closed()

    def _forget_closed(self) -> None:
        server = self._runner.server if self._runner else None
        self._live &= set(server.connections) if server else set()

    async def start(self) -> None:
        """Bind and listen. Raises `OSError` when the port is taken."""
        self.stopping.clear()
        self._runner = web.AppRunner(
            self._app, handler_cancellation=True, shutdown_timeout=1.0, access_log=None
        )
        await self._runner.setup()
        await self._listen()

    async def stop(self) -> None:
        """Close the listener and every connection; hanging handlers are released first."""
        self.stopping.set()
        if self._runner:
            await self._runner.cleanup()
        self._runner = self._site = None

    async def refuse(self, seconds: float) -> None:
        """Close the listener and cut all connections, listen again on the same port after `seconds`."""
        await self.go_away()
        await asyncio.sleep(seconds)
        await self.come_back()

    async def go_away(self) -> None:
        """From now on connections are refused and the open ones are cut, until `come_back`."""
        if self._site:
            site, self._site = self._site, None
            await site.stop()
        server = self._runner.server if self._runner else None
        for protocol in list(server.connections) if server else []:
            if protocol.transport is not None:
                protocol.transport.abort()

    async def come_back(self) -> None:
        """Listen again on the same port."""
        if self._site is None and self._runner is not None:
            await self._listen()

    async def hang(self) -> None:
        """Wait until the server stops (or the client leaves, which cancels the handler)."""
        await self.stopping.wait()

    async def _listen(self) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, HOST, self.port, backlog=1024, reuse_address=True)
        await self._site.start()
        self.port = int(self._runner.addresses[0][1])


def cut(request: web.Request) -> web.Response:
    """Drop the connection of a request at once; the returned response never reaches anybody."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


class Peer(Protocol):
    """What a program needs of a peer to run it."""

    @property
    def base(self) -> str:
        """Address of the running peer."""
        ...

    async def start(self) -> object:
        """Begin to serve."""
        ...

    async def stop(self) -> None:
        """Stop serving."""
        ...


async def serve_until_signal(peer: Peer) -> None:
    """Run a peer as a program: print its address on a line, serve until SIGTERM or SIGINT."""
    asked = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, asked.set)
    await peer.start()
    print(peer.base, flush=True)
    await asked.wait()
    await peer.stop()
