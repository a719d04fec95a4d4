"""The proxy does to a connection what its weather says, and nothing on a clear day."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest

from tests.peers.chaos import CLEAR, ChaosProxy, Weather

_ENOUGH = 5.0


class Client:
    """One connection through the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, within: float = _ENOUGH) -> bytes:
        """Send a byte; the 1,000 that come back, or what came before the end."""
        self.writer.write(b"x")
        async with asyncio.timeout(within):
            try:
                return await self.reader.readexactly(1000)
            except asyncio.IncompleteReadError as cut:
                return cut.partial


Dial = Callable[[], Awaitable[Client]]


@pytest.fixture
async def proxy() -> AsyncIterator[ChaosProxy]:
    """Return a proxy before a server that gives back what it gets, 1,000 times a byte."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(100):
                writer.write(piece * 1000)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with ChaosProxy(server.sockets[0].getsockname()[1]) as proxy:
        yield proxy
    server.close()


@pytest.fixture
async def dial(proxy: ChaosProxy) -> AsyncIterator[Dial]:
    """Return a way to open connections through it; they are closed at the end."""
    clients: list[Client] = []

    async def open_one() -> Client:
        clients.append(Client(*await asyncio.open_connection("127.0.0.1", proxy.port)))
        return clients[-1]

    yield open_one
    for client in clients:
        client.writer.close()
        with suppress(OSError):
            await client.writer.wait_closed()


async def test_a_clear_day_changes_nothing(proxy: ChaosProxy, dial: Dial) -> None:
    client = await dial()
    assert await client.ask() == b"x" * 1000
    assert proxy.seen == proxy.open_connections == 1
    client.writer.write_eof()
    assert await client.reader.read() == b""


@pytest.mark.parametrize("weather", [Weather(latency=0.2), Weather(rate=4000.0)])
async def test_pieces_are_held_back(proxy: ChaosProxy, dial: Dial, weather: Weather) -> None:
    client = await dial()
    proxy.turn(weather)
    began = time.monotonic()
    assert await client.ask() == b"x" * 1000
    assert time.monotonic() - began >= 0.2


async def test_a_connection_is_cut_inside_an_answer(proxy: ChaosProxy, dial: Dial) -> None:
    client = await dial()
    assert len(await client.ask()) == 1000
    proxy.turn(Weather(cut_after=1400))
    with suppress(ConnectionError):
        assert len(await client.ask()) <= 400
    with pytest.raises((ConnectionError, AssertionError)):
        assert await client.ask() == b"x" * 1000


async def test_a_black_hole_keeps_bytes_until_it_clears(proxy: ChaosProxy, dial: Dial) -> None:
    client = await dial()
    proxy.turn(Weather(blackhole=True))
    with pytest.raises(TimeoutError):
        await client.ask(within=0.2)
    proxy.turn(CLEAR)
    assert await client.reader.readexactly(1000) == b"x" * 1000


async def test_refused_connections_end_and_later_ones_work(proxy: ChaosProxy, dial: Dial) -> None:
    client = await dial()
    assert len(await client.ask()) == 1000
    proxy.turn(Weather(refuse=True))
    with suppress(ConnectionError):
        assert await client.ask() == b""
    proxy.turn(CLEAR)
    assert len(await (await dial()).ask()) == 1000


async def test_a_half_open_connection_stays_silent_for_ever(proxy: ChaosProxy, dial: Dial) -> None:
    client = await dial()
    assert len(await client.ask()) == 1000
    proxy.turn(Weather(half_open=True))
    proxy.turn(CLEAR)
    with pytest.raises(TimeoutError):
        await client.ask(within=0.3)
    assert len(await (await dial()).ask()) == 1000


async def test_a_storm_is_over_at_its_end(proxy: ChaosProxy, dial: Dial) -> None:
    async with proxy.storm(random.Random(1), [Weather(refuse=True)], 0.1):
        await asyncio.sleep(0.3)
    assert proxy.weather == CLEAR
    assert len(await (await dial()).ask()) == 1000
