"""A TCP proxy on loopback that behaves as bad networks do; whatever it carries, it does not look at it."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from tests.peers.serving import HOST

_CHUNK = 16_384


@dataclass(frozen=True, slots=True)
class Weather:
    """What the network does to all connections, the open ones too.

    `latency` holds each piece back for so many seconds, `rate` lets so many bytes a second through. `cut_after`
    aborts a connection once it has carried so many bytes of the answer, or of the question where `cut_asking`.
    `refuse` aborts every connection. `blackhole` holds all bytes until the weather changes, as TCP does when
    packets are lost. `half_open` drops the server's side of what is open and of what is opened, and never tells
    the client: it hears nothing any more, also after the weather has changed.
    """

    latency: float = 0.0
    rate: float = 0.0
    cut_after: int | None = None
    cut_asking: bool = False
    refuse: bool = False
    blackhole: bool = False
    half_open: bool = False


CLEAR = Weather()


class _Pair:
    """A client's connection and ours to the server."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        self.dead = False
        self.asked = self.answered = 0

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()

    def half_abort(self) -> None:
        self.dead = True
        self.server.transport.abort()


class ChaosProxy:
    """Stands before the server at `upstream`, a port on loopback. `weather` is changed by `turn`.

    `seen` counts the connections that were opened through it.
    """

    def __init__(self, upstream: int) -> None:
        self.port = 0
        self.seen = 0
        self.weather = CLEAR
        self._upstream = upstream
        self._changed = asyncio.Event()
        self._pairs: set[_Pair] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://{HOST}:{self.port}"

    @property
    def open_connections(self) -> int:
        """Connections of clients that are open now."""
        return len(self._pairs)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, HOST, 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for pair in self._pairs:
            pair.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def turn(self, weather: Weather) -> None:
        """From now on the network is like this."""
        self.weather = weather
        for pair in list(self._pairs):
            if weather.refuse:
                pair.abort()
            elif weather.half_open:
                pair.half_abort()
        self._changed.set()
        self._changed = asyncio.Event()

    def cut(self) -> None:
        """Abort what is open now."""
        for pair in list(self._pairs):
            pair.abort()

    @asynccontextmanager
    async def storm(
        self, dice: random.Random, weathers: Sequence[Weather], longest: float
    ) -> AsyncIterator[None]:
        """One weather after the other, drawn by `dice`, each for at most `longest` seconds; clear at the end."""

        async def change() -> None:
            while True:
                self.turn(dice.choice(weathers))
                await asyncio.sleep(dice.uniform(0.1, 1.0) * longest)
                self.turn(CLEAR)
                await asyncio.sleep(dice.uniform(0.1, 0.5) * longest)

        task = asyncio.create_task(change(), name="storm")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.turn(CLEAR)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="proxied")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.seen += 1
        try:
            up_reader, up_writer = await asyncio.open_connection(HOST, self._upstream)
        except OSError:
            writer.transport.abort()
            return
        if self.weather.refuse:
            writer.transport.abort()
            up_writer.transport.abort()
            return
        pair = _Pair(writer, up_writer)
        self._pairs.add(pair)
        if self.weather.half_open:
            pair.half_abort()
        try:
            await asyncio.gather(
                self._carry(pair, reader, up_writer, asking=True),
                self._carry(pair, up_reader, writer, asking=False),
            )
        finally:
            self._pairs.discard(pair)
            pair.abort()

    async def _carry(
        self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, asking: bool
    ) -> None:
        """Carry one direction to its end."""
        try:
            while piece := await reader.read(_CHUNK):
                if not await self._pass(pair, piece, writer, asking=asking):
                    return
            if not pair.dead:
                writer.write_eof()
        except OSError:
            if not pair.dead or asking:  # the client of a half-open connection is not told
                pair.abort()

    async def _pass(self, pair: _Pair, piece: bytes, writer: asyncio.StreamWriter, *, asking: bool) -> bool:
        """Carry one piece. False: the connection is cut."""
        while self.weather.blackhole:
            await self._changed.wait()
        if pair.dead:
            return True  # into the void
        if self.weather.latency:
            await asyncio.sleep(self.weather.latency)
        if self.weather.rate:
            await asyncio.sleep(len(piece) / self.weather.rate)
        limit = self.weather.cut_after if asking == self.weather.cut_asking else None
        carried = pair.asked if asking else pair.answered
        kept = piece if limit is None else piece[: max(0, limit - carried)]
        if kept and not pair.dead:
            writer.write(kept)
            await writer.drain()
        pair.asked += len(piece) * asking
        pair.answered += len(piece) * (not asking)
        if len(kept) < len(piece):
            # What was let through is to arrive before the end does.
            await asyncio.sleep(0.01)
            pair.abort()
            return False
        return True
