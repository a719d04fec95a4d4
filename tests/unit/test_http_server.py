"""The server by itself: port, probes, odd clients, stopping. Sockets on loopback only."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from ipaddress import ip_network

import aiohttp
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from gateway.http import HttpServer, Probes
from gateway.http.connection import Connections
from gateway.http.holder import holder_of
from hermes.adapter import HttpLimits
from hermes.errors import ConfigError, PortTaken

STATE: dict[str, tuple[bool, str | None]] = {}
FORWARDED = [{"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"X-Real-IP": "127.0.0.1"}]


def make(
    port: int = 0, host: str = "127.0.0.1", *, timeout: float = 10.0, proxies: str | None = None
) -> HttpServer:
    STATE["ready"] = (True, None)
    probes = Probes(readiness=lambda: STATE["ready"], is_key=lambda key: key == "secret")
    trusted = (ip_network(proxies),) if proxies else ()
    return HttpServer(host, port, HttpLimits(1000, timeout), probes, trusted_proxies=trusted)


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    made = make()
    await made.start()
    yield made
    await made.aclose(0.1)


async def get(url: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client, client.get(url, headers=headers) as answer:
        return answer.status, await answer.text()


async def test_health_is_bare(server: HttpServer) -> None:
    code, text = await get(server.url + "/health")
    assert (code, json.loads(text)) == (200, {"status": "ok"})


async def test_ready_says_why_not(server: HttpServer) -> None:
    code, text = await get(server.url + "/ready")
    assert (code, json.loads(text)) == (200, {"ready": True, "reason": None})
    STATE["ready"] = (False, "The disk is full.")
    code, text = await get(server.url + "/ready")
    assert (code, json.loads(text)) == (503, {"ready": False, "reason": "The disk is full."})


@pytest.mark.parametrize("headers", FORWARDED)
async def test_ready_keeps_the_reason_from_strangers(server: HttpServer, headers: dict[str, str]) -> None:
    STATE["ready"] = (False, "The disk is full.")
    code, text = await get(server.url + "/ready", headers)
    assert (code, json.loads(text)) == (503, {"ready": False, "reason": "not ready"})
    code, text = await get(server.url + "/ready", headers | {"Authorization": "Bearer secret"})
    assert json.loads(text)["reason"] == "The disk is full."


async def test_metrics_are_prometheus_text_for_this_machine_and_the_key(server: HttpServer) -> None:
    code, text = await get(server.url + "/metrics")
    assert code == 200
    assert "# HELP python_info" in text
    for headers in FORWARDED:
        assert (await get(server.url + "/metrics", headers))[0] == 401
        assert (await get(server.url + "/metrics", headers | {"Authorization": "Bearer wrong"}))[0] == 401
        assert (await get(server.url + "/metrics", headers | {"Authorization": "bearer secret"}))[0] == 200


async def test_a_trusted_proxy_does_not_make_its_clients_local() -> None:
    made = make(proxies="127.0.0.0/8")
    await made.start()
    try:
        assert (await get(made.url + "/metrics", {"X-Forwarded-For": "127.0.0.1"}))[0] == 401
        assert (await get(made.url + "/metrics"))[0] == 200
    finally:
        await made.aclose(0.1)


async def test_handlers_see_the_client_behind_a_trusted_proxy() -> None:
    async def who(request: web.Request) -> web.Response:
        return web.Response(text=f"{request.remote} {request.match_info['x']}")

    for proxies, seen in (("127.0.0.0/8", "9.9.9.9 y"), (None, "127.0.0.1 y")):
        made = make(proxies=proxies)
        made.router.add_get("/who/{x}", who)
        await made.start()
        assert await get(made.url + "/who/y", {"X-Forwarded-For": "9.9.9.9"}) == (200, seen)
        await made.aclose(0.1)


async def test_a_taken_port_names_its_holder() -> None:
    listen = "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)"
    program = f"import socket, sys; {listen}; sys.stdin.read()"
    pipe = subprocess.PIPE
    holder = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdin=pipe, stdout=pipe)
    assert holder.stdin is not None
    assert holder.stdout is not None
    port = int(await holder.stdout.readline())
    try:
        with pytest.raises(
            PortTaken, match=rf"Port {port} .* \(pid {holder.pid}\).*gateway\.http\.port"
        ) as raised:
            await make(port).start()
        assert raised.value.exit_code == 69
    finally:
        holder.stdin.close()
        await holder.wait()


async def test_a_failed_start_can_be_closed(server: HttpServer) -> None:
    second = make(int(server.url.rpartition(":")[2]))
    with pytest.raises(PortTaken, match=rf"pid {os.getpid()}"):
        await second.start()
    await second.aclose(0.1)


def test_nobody_holds_a_free_port() -> None:
    assert holder_of(1) is None


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
async def test_an_address_that_is_not_ours_is_a_configuration_error(host: str) -> None:
    with pytest.raises(ConfigError, match=r"gateway\.http\.host"):
        await make(host=host).start()


async def test_ipv6_works() -> None:
    made = make(host="::1")
    await made.start()
    assert made.url.startswith("http://[::1]:")
    assert (await get(made.url + "/health"))[0] == 200
    assert (await get(made.url + "/metrics"))[0] == 200
    await made.aclose(0.1)


async def talk(server: HttpServer, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return answer


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 9000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(200)) + b"\r\n",
    ],
)
async def test_what_is_no_http_is_400_in_json_and_nothing_breaks(server: HttpServer, data: bytes) -> None:
    answer = await talk(server, data)
    assert answer.split(b" ", 2)[1] == b"400"
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"error": "This is no valid HTTP request."}
    assert (await get(server.url + "/health"))[0] == 200


async def test_requests_in_one_packet_are_answered_in_order(server: HttpServer) -> None:
    one = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    two = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    three = b"GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer = await talk(server, one + two + three)
    assert [part.split(b" ")[0] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"404", b"200", b"200"]
    assert answer.endswith(b'{"ready": true, "reason": null}')


async def test_an_error_in_a_handler_shows_no_traceback(server_with_error: HttpServer) -> None:
    with capture_logs() as logs:
        code, text = await get(server_with_error.url + "/boom")
    assert [(entry["event"], entry["error"]) for entry in logs] == [("http.failed", "KeyError")]
    assert (code, json.loads(text)) == (500, {"error": "Something went wrong here; the log says what."})


@pytest.fixture
async def server_with_error() -> AsyncIterator[HttpServer]:
    async def boom(request: web.Request) -> web.Response:
        raise KeyError("private")

    made = make()
    made.router.add_get("/boom", boom)
    await made.start()
    yield made
    await made.aclose(0.1)


async def test_an_idle_connection_is_closed() -> None:
    made = make(timeout=0.3)
    await made.start()
    assert await talk(made, b"") == b""
    answer = await talk(made, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.endswith(b'{"status": "ok"}')
    await made.aclose(0.1)


async def test_WH_13_a_full_house_lets_the_oldest_idle_connection_go(server: HttpServer) -> None:
    server.connections.most = 20
    port = int(server.url.rpartition(":")[2])
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
    began = time.monotonic()
    assert (await get(server.url + "/health"))[0] == 200
    assert await idle[0][0].read() == b""
    assert time.monotonic() - began < 3  # long before it would have been closed for its silence
    assert not idle[-1][0].at_eof()
    assert len(server.connections) <= 20
    for _, writer in idle:
        writer.close()
        await writer.wait_closed()


async def test_draining_ends_what_is_under_way_and_takes_nothing_new() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        begun.set()
        await go.wait()
        return web.Response(text="done")

    made = make()
    made.router.add_get("/slow", slow)
    await made.start()
    asking = asyncio.create_task(get(made.url + "/slow"))
    await begun.wait()
    await made.drain()
    with pytest.raises(aiohttp.ClientConnectionError):
        await get(made.url + "/health")
    closing = asyncio.create_task(made.aclose(5))
    go.set()
    assert await asking == (200, "done")
    await asyncio.wait_for(closing, 1)


def test_connections_are_counted_down() -> None:
    assert len(Connections(3)) == 0
