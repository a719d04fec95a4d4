"""The webhook adapter on the real HTTP server, spoken to over sockets."""

import asyncio
import gzip
import hashlib
import hmac
import io
import json
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from adapters.webhook.adapter import build
from adapters.webhook.settings import WebhookSettings
from hermes.adapter import HttpLimits
from hermes.agent import TurnEnded
from hermes.events import Target
from tests.integration.house import House, open_house

SECRET = "s3cret"
LIMITS = HttpLimits(body=1 << 20, read_timeout=1.5)
ROUTES: dict[str, Any] = {
    "build": {
        "secret": SECRET,
        "scheme": "github",
        "prompt": "Build: {{ payload.text }}",
        "deliver": "telegram:1:7",
    },
    "plain": {"secret": SECRET, "scheme": "hmac", "prompt": "{{ payload.a }}"},
    "lab": {"secret": SECRET, "scheme": "gitlab", "prompt": "{{ payload.a }}", "session": "route"},
    "replay": {"secret": SECRET, "scheme": "github", "prompt": "{{ payload.a }}", "replay_window": "10m"},
    "nosecret": {"prompt": "x"},
    "open": {"prompt": "{{ payload.a }}", "insecure": True},
}


def settings(routes: dict[str, Any] = ROUTES) -> WebhookSettings:
    return WebhookSettings.model_validate({"type": "webhook", "routes": routes})


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_house(build, settings(), LIMITS) as opened:
        yield opened


@pytest.fixture
async def client(house: House) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(house.url) as session:
        yield session


def sign(body: bytes) -> str:
    return "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def github(body: bytes, delivery: str | None = None) -> dict[str, str]:
    headers = {"X-Hub-Signature-256": sign(body), "Content-Type": "application/json"}
    return headers | ({"X-GitHub-Delivery": delivery} if delivery else {})


def raw(path: str, headers: dict[str, str], body: bytes = b"", *, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def post(client: aiohttp.ClientSession, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    async with client.post(
        path, data=io.BytesIO(body), headers={"Content-Type": "application/json"} | named
    ) as answer:
        return answer.status, await answer.json()


BODY = b'{"text": "it broke"}'


async def test_a_signed_request_is_taken_and_becomes_an_event(
    house: House, client: aiohttp.ClientSession
) -> None:
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY, "d-1")) as answer:
        assert answer.status == 202
        assert answer.content_type == "application/json"
        assert await answer.json() == {"status": "accepted", "id": "t1"}
    (event,) = house.intake.events
    assert event.text == "Build: it broke"
    assert (event.platform, event.instance, event.kind, event.chat) == ("webhook", "webhook", "hook", "build")
    assert event.reply_to == (Target("telegram", "1", "7"),)
    assert event.untrusted
    assert not event.command_text
    assert not event.volatile
    assert event.admitted == "signed"


async def test_WH_01_the_bytes_are_what_is_signed(house: House, client: aiohttp.ClientSession) -> None:
    body = b'{"b": 1.0,  "a":"\xc3\xa9"}'
    dumped = json.dumps(json.loads(body), separators=(",", ":")).encode()
    code, _ = await post(client, "/webhooks/build", body, X_Hub_Signature_256=sign(dumped))
    assert code == 401
    assert house.intake.events == []
    code, _ = await post(client, "/webhooks/build", body, X_Hub_Signature_256=sign(body))
    assert code == 202
    assert len(house.intake.events) == 1


@pytest.mark.parametrize(
    ("path", "header"), [("/webhooks/build", "X-Hub-Signature-256"), ("/webhooks/lab", "X-Gitlab-Token")]
)
async def test_WH_02_a_byte_outside_ascii_is_401(house: House, path: str, header: str) -> None:
    headers = {header: "sha256=\xe9" + "a" * 63, "Content-Length": str(len(BODY)), "Connection": "close"}
    answer = await house.send(raw(path, headers, BODY))
    assert status(answer) == 401
    assert b"Traceback" not in answer
    good = github(BODY) | {"Content-Length": str(len(BODY)), "Connection": "close"}
    assert status(await house.send(raw("/webhooks/build", good, BODY))) == 202


@pytest.mark.parametrize("value", [None, "", "sha256=", sign(BODY)[:17], "sha1=" + sign(BODY)[7:]])
async def test_WH_03_odd_signatures_are_401(
    house: House, client: aiohttp.ClientSession, value: str | None
) -> None:
    headers = {} if value is None else {"X_Hub_Signature_256": value}
    code, answer = await post(client, "/webhooks/build", BODY, **headers)
    assert code == 401
    assert set(answer) == {"error"}
    assert house.intake.events == []


async def test_WH_03_two_signature_lines_are_401_and_a_lower_case_name_is_fine(house: House) -> None:
    two = f"X-Hub-Signature-256: sha256=00\r\nX-Hub-Signature-256: {sign(BODY)}"
    rest = f"Content-Length: {len(BODY)}\r\nConnection: close\r\n\r\n"
    head = f"POST /webhooks/build HTTP/1.1\r\nHost: x\r\n{two}\r\n{rest}"
    assert status(await house.send(head.encode() + BODY)) == 401
    lower = {"x-hub-signature-256": sign(BODY), "content-length": str(len(BODY)), "connection": "close"}
    assert status(await house.send(raw("/webhooks/build", lower, BODY))) == 202


async def test_WH_04_without_a_secret_nothing_is_taken_and_insecure_is_said_at_start() -> None:
    with capture_logs() as logs:
        async with open_house(build, settings()) as house, aiohttp.ClientSession(house.url) as client:
            code, _ = await post(client, "/webhooks/nosecret", b'{"a": 1}')
            assert code == 401
            assert house.intake.events == []
            code, _ = await post(client, "/webhooks/open", b'{"a": 1}')
            assert code == 202
            assert house.intake.events[0].admitted == "anyone"
    said = {(entry["event"], entry.get("route")) for entry in logs if entry["log_level"] == "warning"}
    assert ("webhook.insecure", "open") in said
    assert ("webhook.without_secret", "nosecret") in said


def ours(house: House, body: bytes, age: int = 0) -> dict[str, str]:
    stamp = str(int(house.clock.time()) - age)
    digest = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"X_Signature": f"sha256={digest}", "X_Timestamp": stamp}


async def test_WH_05_an_old_signature_is_401(house: House, client: aiohttp.ClientSession) -> None:
    body = b'{"a": "x"}'
    assert (await post(client, "/webhooks/plain", body, **ours(house, body, 600)))[0] == 401
    assert (await post(client, "/webhooks/plain", body, **ours(house, body, 10)))[0] == 202


async def test_WH_05_the_same_time_and_body_again_is_a_duplicate(
    house: House, client: aiohttp.ClientSession
) -> None:
    body = b'{"a": "x"}'
    assert (await post(client, "/webhooks/plain", body, **ours(house, body)))[0] == 202
    again = ours(house, body) | {"X_Delivery_Id": "another"}
    assert await post(client, "/webhooks/plain", body, **again) == (200, {"status": "duplicate", "id": "t1"})
    assert (await post(client, "/webhooks/plain", body, **ours(house, body, 1)))[0] == 202


async def test_WH_07_a_redelivery_is_a_duplicate(house: House, client: aiohttp.ClientSession) -> None:
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY, "d-1")) as first:
        assert first.status == 202
    house.clock.jump(30)
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY, "d-1")) as second:
        assert second.status == 200
        assert await second.json() == {"status": "duplicate", "id": "t1"}
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY, "d-2")) as other:
        assert other.status == 202
    assert len(house.intake.events) == 2


async def test_WH_07_ten_at_once_make_one_turn(house: House, client: aiohttp.ClientSession) -> None:
    async def once() -> int:
        async with client.post("/webhooks/build", data=BODY, headers=github(BODY, "d-1")) as answer:
            return answer.status

    assert sorted(await asyncio.gather(*(once() for _ in range(10)))) == [200] * 9 + [202]
    assert len(house.intake.events) == 1


async def test_equal_ids_of_two_routes_are_two_deliveries(
    house: House, client: aiohttp.ClientSession
) -> None:
    for path in ("/webhooks/build", "/webhooks/replay"):
        async with client.post(path, data=BODY, headers=github(BODY, "d-1")) as answer:
            assert answer.status == 202


async def test_a_replay_window_catches_an_equal_body_under_another_id(
    house: House, client: aiohttp.ClientSession
) -> None:
    codes = []
    for delivery, later in (("d-1", 0), ("d-2", 0), ("d-3", 601), ("d-1", 0)):
        house.clock.jump(later)
        async with client.post("/webhooks/replay", data=BODY, headers=github(BODY, delivery)) as answer:
            codes.append(answer.status)
    assert codes == [202, 200, 202, 200]


async def test_WH_08_what_could_not_be_stored_can_be_sent_again(
    house: House, client: aiohttp.ClientSession
) -> None:
    house.intake.fault = True
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY, "d-2")) as answer:
        assert answer.status == 503
        assert int(answer.headers["Retry-After"]) > 0
        assert set(await answer.json()) == {"error"}
    house.intake.fault = False
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY, "d-2")) as answer:
        assert answer.status == 202
    assert len(house.intake.events) == 1


@pytest.mark.parametrize(
    ("reason", "code"), [("rate", 429), ("backlog", 429), ("too long", 413), ("closed", 403)]
)
async def test_what_the_door_refuses_is_said(
    house: House, client: aiohttp.ClientSession, reason: str, code: int
) -> None:
    house.intake.refusal = reason
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY)) as answer:
        assert answer.status == code
        assert ("Retry-After" in answer.headers) == (code == 429)
        assert set(await answer.json()) == {"error"}


async def feed(house: House, head: bytes, piece: bytes, total: int) -> tuple[bytes, int]:
    """Send until the server stops reading; return its answer and how many bytes of body left this side."""
    loop = asyncio.get_running_loop()
    with socket.socket() as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
        end.setblocking(False)
        await loop.sock_connect(end, ("127.0.0.1", house.port))
        await loop.sock_sendall(end, head)
        answer = asyncio.ensure_future(loop.sock_recv(end, 65536))
        sent = 0
        while sent < total and not answer.done():
            sending = asyncio.ensure_future(loop.sock_sendall(end, piece))
            await asyncio.wait((sending, answer), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                sending.cancel()
                break
            sent += len(piece)
        return await answer, sent


async def test_WH_10_a_length_over_the_limit_is_413_unread(house: House) -> None:
    head = raw("/webhooks/build", {"Content-Length": str(5 << 20)})
    answer, sent = await feed(house, head, b"x" * 8192, 5 << 20)
    assert status(answer) == 413
    assert set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error"}
    assert sent <= 512 * 1024  # what two kernels hold
    assert house.intake.events == []
    async with asyncio.timeout(4):  # a moment to see the answer, no more
        while len(house.server.connections):
            await asyncio.sleep(0.05)


async def test_WH_10_a_chunked_body_over_the_limit_is_413_soon_after_the_limit(house: House) -> None:
    head = raw("/webhooks/build", {"Transfer-Encoding": "chunked"})
    answer, sent = await feed(house, head, b"2000\r\n" + b"x" * 8192 + b"\r\n", 5 << 20)
    assert status(answer) == 413
    assert sent <= LIMITS.body + 512 * 1024
    assert house.intake.events == []


async def test_WH_10_a_body_at_the_limit_is_taken(house: House, client: aiohttp.ClientSession) -> None:
    body = b'{"text": "%s"}' % (b"x" * (LIMITS.body - 12))
    assert len(body) == LIMITS.body
    async with client.post("/webhooks/build", data=io.BytesIO(body), headers=github(body)) as answer:
        assert answer.status == 202
    async with client.post(
        "/webhooks/build", data=io.BytesIO(body + b" "), headers=github(body + b" ")
    ) as answer:
        assert answer.status == 413
        assert await answer.json() == {
            "error": "The body is larger than 1048576 bytes (gateway.limits.http_body)."
        }


async def test_WH_11_compressed_bodies_are_415_and_never_unpacked(
    house: House, client: aiohttp.ClientSession
) -> None:
    bomb = gzip.compress(b"\0" * (100 << 20), 9)
    headers = github(bomb) | {"Content-Encoding": "gzip"}
    before = _peak()
    async with client.post("/webhooks/build", data=bomb, headers=headers) as answer:
        assert answer.status == 415
    assert _peak() - before < 20 << 20
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY)) as answer:
        assert answer.status == 202


def _peak() -> int:
    with Path("/proc/self/status").open(encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


async def test_WH_11_only_the_announced_length_is_the_body(house: House) -> None:
    body = b'{"a": 12}'
    headers = {"X-Hub-Signature-256": sign(body), "Content-Length": "9"}
    answer = await house.send(raw("/webhooks/build", headers, body + b"more that nobody announced\r\n\r\n"))
    assert status(answer) == 202
    assert house.intake.events[0].text == "Build: "


@pytest.mark.parametrize("length", ["-5", "abc", "5, 6", "+5", "0x5", "99999999999999999999999x"])
async def test_WH_11_a_length_that_is_none_is_400(house: House, length: str) -> None:
    answer = await house.send(raw("/webhooks/build", github(BODY) | {"Content-Length": length}, BODY))
    assert status(answer) == 400
    assert set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error"}
    assert house.intake.events == []
    good = github(BODY) | {"Content-Length": str(len(BODY)), "Connection": "close"}
    assert status(await house.send(raw("/webhooks/build", good, BODY))) == 202


async def test_WH_11_length_and_chunks_at_once_are_400(house: House) -> None:
    both = github(BODY) | {"Content-Length": "4", "Transfer-Encoding": "chunked"}
    assert status(await house.send(raw("/webhooks/build", both, b"0\r\n\r\n"))) == 400


async def test_broken_chunks_are_400(house: House) -> None:
    answer = await house.send(
        raw("/webhooks/build", github(BODY) | {"Transfer-Encoding": "chunked"}, b"zz\r\nabc")
    )
    assert status(answer) == 400
    assert b"Traceback" not in answer


async def test_WH_12_a_form_is_read(house: House, client: aiohttp.ClientSession) -> None:
    body = b"payload=%7B%22text%22%3A%22hi%22%7D"
    headers = github(body) | {"Content-Type": "application/x-www-form-urlencoded"}
    async with client.post("/webhooks/build", data=body, headers=headers) as answer:
        assert answer.status == 202
    assert house.intake.events[0].text == "Build: hi"


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"a":', b"", b"\xff\xfe", b"[" * 200_000])
async def test_WH_12_a_signed_body_that_is_no_object_is_400(
    house: House, client: aiohttp.ClientSession, body: bytes
) -> None:
    async with client.post("/webhooks/build", data=body, headers=github(body)) as answer:
        assert answer.status == 400
        assert set(await answer.json()) == {"error"}
    assert house.intake.events == []


async def test_the_checks_come_in_the_promised_order(house: House, client: aiohttp.ClientSession) -> None:
    house.intake.fault = True
    huge = b"x" * (LIMITS.body + 1)
    assert (await post(client, "/webhooks/nowhere", huge))[0] == 404
    assert (await post(client, "/webhooks/build", huge))[0] == 413
    assert (await post(client, "/webhooks/build", b"no json"))[0] == 401
    assert (await post(client, "/webhooks/build", b"no json", X_Hub_Signature_256=sign(b"no json")))[0] == 400
    assert (await post(client, "/webhooks/build", BODY, X_Hub_Signature_256=sign(BODY)))[0] == 503


async def test_other_methods_are_405_and_other_addresses_404(
    house: House, client: aiohttp.ClientSession
) -> None:
    async with client.get("/webhooks/build") as answer:
        assert answer.status == 405
        assert answer.headers["Allow"] == "POST"
        assert await answer.json() == {"error": "Only POST is possible here."}
    for path in ("/webhooks/nowhere", "/webhooks/", "/webhooks/build/x", "/"):
        async with client.get(path) as answer:
            assert answer.status == 404
            assert set(await answer.json()) == {"error"}


async def trickle(house: House, head: bytes, closed: list[float]) -> None:
    started = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
    writer.write(head)
    reading = asyncio.ensure_future(reader.read())
    try:
        while not reading.done():
            writer.write(b"x")
            await asyncio.wait((reading,), timeout=0.2)
    finally:
        closed.append(time.monotonic() - started)
        await asyncio.gather(reading, return_exceptions=True)
        writer.close()


@pytest.mark.parametrize(
    "head", [raw("/webhooks/build", {"Content-Length": "500"}), b"POST /webhooks/build HTTP/1.1\r\nX-Slow: "]
)
async def test_WH_13_slow_clients_are_cut_and_keep_nobody_waiting(
    house: House, client: aiohttp.ClientSession, head: bytes
) -> None:
    closed: list[float] = []
    slow = [asyncio.create_task(trickle(house, head, closed)) for _ in range(50)]
    await asyncio.sleep(0)
    started = time.monotonic()
    async with client.post("/webhooks/build", data=BODY, headers=github(BODY)) as answer:
        assert answer.status == 202
    assert time.monotonic() - started < 1
    await asyncio.gather(*slow)
    assert len(closed) == 50
    assert max(closed) < LIMITS.read_timeout + 4  # and a moment to see the answer


async def test_WH_13_a_stop_does_not_wait_for_slow_clients(house: House) -> None:
    closed: list[float] = []
    slow = [
        asyncio.create_task(trickle(house, raw("/webhooks/build", {"Content-Length": "500"}), closed))
        for _ in range(10)
    ]
    while len(house.server.connections) < 10:
        await asyncio.sleep(0.01)
    started = time.monotonic()
    await house.server.aclose(0.2)
    assert time.monotonic() - started < 1.5
    await asyncio.gather(*slow)


async def test_WH_14_the_answer_does_not_wait_for_the_turn_nor_the_turn_for_the_client() -> None:
    over = asyncio.Event()

    async def slow(event: Any, emit: Any) -> None:
        await over.wait()
        emit(TurnEnded("answered", "late"))

    async with open_house(build, settings(), think=slow) as house:
        headers = github(BODY) | {"Content-Length": str(len(BODY))}
        reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
        writer.write(raw("/webhooks/build", headers, BODY))
        answer = await asyncio.wait_for(reader.readuntil(b"}"), 5)
        assert status(answer) == 202
        writer.close()
        over.set()
        updates = [update async for update in house.intake.follow("t1")]
        assert isinstance(updates[-1], TurnEnded)
        assert not house.intake.turns["t1"].cancelled


async def test_WH_14_a_client_that_leaves_before_the_commit_cancels_nothing(house: House) -> None:
    house.intake.gate = asyncio.Event()
    headers = github(BODY, "d-9") | {"Content-Length": str(len(BODY))}
    _, writer = await asyncio.open_connection("127.0.0.1", house.port)
    writer.write(raw("/webhooks/build", headers, BODY))
    await house.intake.taking.wait()
    writer.transport.abort()
    house.intake.gate.set()
    good = headers | {"Connection": "close"}
    answer = await house.send(raw("/webhooks/build", good, BODY))
    assert status(answer) in (200, 202)  # whether the first one was stored is the store's business
    assert len(house.intake.events) == 1


async def test_sessions_are_per_delivery_or_per_route(house: House, client: aiohttp.ClientSession) -> None:
    for n in range(2):
        body = b'{"a": %d}' % n
        await post(client, "/webhooks/build", body, X_Hub_Signature_256=sign(body))
        await post(client, "/webhooks/lab", body, X_Gitlab_Token=SECRET, X_Gitlab_Event_UUID=f"u-{n}")
    sessions: dict[str, list[str | None]] = {}
    for event in house.intake.events:
        sessions.setdefault(event.chat, []).append(event.session)
    assert len(set(sessions["build"])) == 2
    assert sessions["lab"] == ["lab", "lab"]


async def test_nothing_of_secret_or_payload_is_logged(house: House, client: aiohttp.ClientSession) -> None:
    with capture_logs() as logs:
        await post(client, "/webhooks/build", b'{"x": "hush"}', X_Hub_Signature_256=sign(b'{"x": "hush"}'))
        await post(client, "/webhooks/build", b'{"x": "hush"}', X_Hub_Signature_256="sha256=wrong")
    assert {entry["event"] for entry in logs} == {"webhook.field_missing", "webhook.refused"}
    assert SECRET not in repr(logs)
    assert "hush" not in repr(logs)
