"""The terminal's adapter over a real control socket, with an intake that keeps the contract in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from adapters.terminal.adapter import TerminalAdapter, build
from adapters.terminal.lines import build_event, parse, render
from adapters.terminal.settings import TerminalSettings
from gateway.control import ControlServer, connect
from hermes.adapter import AdapterContext, AdapterState, HttpLimits, StreamAdapter
from hermes.agent import Notice, TextDelta, TextReset, ToolEnded, ToolStarted, TurnEnded, TurnUpdate
from hermes.clock import SystemClock
from hermes.config import Network
from hermes.errors import Rejected, StoreUnavailable
from hermes.events import (
    Event,
    Parsed,
    Role,
    Sender,
    Target,
    Verdict,
    Watermark,
    event_from_json,
    event_to_json,
)
from hermes.home import Home
from hermes.messages import JSONObject


class Desk:
    """An intake that answers "echo: TEXT"; "hold" waits for `gate`, "refuse" and "fault" are not taken."""

    def __init__(self) -> None:
        self.taken: dict[str, Event] = {}
        self.order: list[str] = []
        self.states: list[str] = []
        self.gate = asyncio.Event()
        self.left = asyncio.Event()

    async def take(self, items: Sequence[Parsed], watermark: Watermark | None = None) -> Sequence[Verdict]:
        [event] = items
        assert isinstance(event, Event)
        if event.text == "fault":
            raise StoreUnavailable("The disk is full.")
        if event.text == "refuse":
            return [Verdict("refused", reason="backlog")]
        known = event.dedupe_key in self.taken
        if not known:
            self.taken[event.dedupe_key] = event
            self.order.append(event.text)
        return [Verdict("duplicate" if known else "accepted", ticket=event.dedupe_key)]

    async def read_watermark(self, name: str) -> str | None:
        return None

    def role(self, event: Event) -> Role | None:
        return "member"

    def state(self, state: AdapterState, reason: str | None = None) -> None:
        self.states.append(state)

    def alive(self) -> None: ...

    async def follow(self, ticket: str) -> AsyncIterator[TurnUpdate]:
        text = self.taken[ticket].text
        if text == "hold":
            try:
                await self.gate.wait()
            finally:
                self.left.set()
        yield TextDelta("echo: ")
        yield TurnEnded("answered", f"echo: {text}")

    async def abandon(self, ticket: str) -> None: ...


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def write(self, **line: object) -> None:
        self.writer.write(json.dumps(line).encode() + b"\n")

    async def read(self) -> JSONObject:
        answer: JSONObject = json.loads(await asyncio.wait_for(self.reader.readline(), 5))
        return answer


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def home(hermes_home: Path, tmp_path: Path, desk: Desk) -> AsyncIterator[Home]:
    adapter = TerminalAdapter("terminal")
    home = Home(hermes_home)
    server = ControlServer(home, {}, lambda reader, writer: adapter.serve(reader, writer, desk))
    await server.start({"XDG_RUNTIME_DIR": str(tmp_path)})
    yield home
    await server.aclose()


async def attach(home: Home) -> Client:
    connected = await connect(home)
    assert connected is not None
    return Client(*connected[:2])


@pytest.fixture
async def client(home: Home) -> AsyncIterator[Client]:
    client = await attach(home)
    yield client
    client.writer.close()


async def test_a_message_is_taken_followed_and_ended(client: Client, desk: Desk) -> None:
    client.write(id="a1", text="hello")
    assert await client.read() == {"id": "a1", "type": "taken", "ticket": "main:a1", "again": False}
    assert await client.read() == {"id": "a1", "type": "delta", "text": "echo: "}
    ended = {"state": "answered", "text": "echo: hello", "usage": {"prompt": 0, "completion": 0}, "turn": ""}
    assert await client.read() == {"id": "a1", "type": "end", **ended}
    event = desk.taken["main:a1"]
    assert (event.platform, event.kind, event.account, event.chat) == (
        "terminal",
        "terminal",
        "local",
        "main",
    )
    assert event.admitted == "local"
    assert event_from_json(event_to_json(event)) == event


async def test_a_line_sent_again_is_the_same_message(home: Home, client: Client, desk: Desk) -> None:
    client.write(id="a1", text="hello")
    await client.read()
    client.writer.close()
    other = await attach(home)
    other.write(id="a1", text="hello")
    assert (await other.read())["again"] is True
    await other.read()
    assert (await other.read())["text"] == "echo: hello"
    assert desk.order == ["hello"]
    other.writer.close()


async def test_messages_keep_their_order_and_do_not_wait_for_each_other(client: Client, desk: Desk) -> None:
    client.write(id="a", text="hold")
    for n in range(10):
        client.write(id=f"b{n}", text=str(n))
    ended: list[str] = []
    while len(ended) < 10:
        line = await client.read()
        if line["type"] == "end":
            ended.append(line["id"])
    assert desk.order == ["hold", *map(str, range(10))]
    assert "a" not in ended
    desk.gate.set()
    while (line := await client.read())["type"] != "end":
        pass
    assert line["id"] == "a"


async def test_a_client_that_goes_is_not_followed_any_longer(client: Client, desk: Desk) -> None:
    client.write(id="a", text="hold")
    await client.read()
    client.writer.close()
    await asyncio.wait_for(desk.left.wait(), 5)


async def test_what_is_not_taken_is_said(client: Client) -> None:
    client.write(id="a", text="fault")
    assert await client.read() == {
        "id": "a",
        "type": "refused",
        "reason": "store",
        "text": "The disk is full.",
    }
    client.write(id="b", text="refuse")
    refused = await client.read()
    assert refused["reason"] == "backlog"
    assert "try again" in refused["text"]
    client.write(id="c", text="fine")
    assert (await client.read())["type"] == "taken"


@pytest.mark.parametrize(
    "line",
    [
        b"no json",
        b"[1]",
        b"{}",
        b'{"id": "", "text": "x"}',
        b'{"id": "a b", "text": "x"}',
        b'{"id": "a", "text": " \\n"}',
        b'{"id": "a", "text": 3}',
        b'{"id": "a", "text": "x", "session": "../x"}',
        b"[" * 100_000,
    ],
)
async def test_bad_lines_get_a_sentence_and_the_connection_stays(client: Client, line: bytes) -> None:
    client.writer.write(line + b"\n")
    answer = await client.read()
    assert answer["type"] == "error"
    assert "must be" in answer["text"]
    client.write(id="c", text="fine")
    assert (await client.read())["type"] == "taken"


async def test_a_line_without_end_closes_the_connection(client: Client) -> None:
    client.writer.write(b"x" * (1 << 21))
    assert (await client.read())["type"] == "error"
    with suppress(ConnectionResetError):  # what was not read is thrown away
        assert await client.reader.read() == b""


async def test_it_is_connected_as_long_as_it_runs(desk: Desk) -> None:
    adapter = TerminalAdapter("terminal")
    running = asyncio.create_task(adapter.run(desk))
    await asyncio.sleep(0)
    assert desk.states == ["connected"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await adapter.aclose()


async def test_nothing_is_sent_unasked(tmp_path: Path) -> None:
    context = AdapterContext(
        "terminal",
        SystemClock(),
        Network(),
        HttpLimits(),
        tmp_path,
        (),
        lambda text: Target("terminal", text),
    )
    adapter = build(TerminalSettings(type="terminal"), context)
    assert isinstance(adapter, StreamAdapter)
    target = Target("terminal", "main")
    assert [p.text for p in adapter.render(" hi\n", target)] == ["hi"]
    assert adapter.render(" \n", target) == []
    with pytest.raises(Rejected, match="only be answered"):
        await adapter.send(target, adapter.render("hi", target)[0], key="k")
    await adapter.typing(target)


def test_lone_surrogates_do_not_come_in() -> None:
    line = parse(b'{"id": "a", "text": "x\\ud800"}')
    assert build_event(line, "terminal", Sender("0")).text == "x\ufffd"


def test_every_update_has_a_line() -> None:
    updates: list[TurnUpdate] = [
        TextDelta("a"),
        TextReset(),
        ToolStarted("1", "read_file", "reads a", "*"),
        ToolEnded("1", "read_file", ok=False),
        Notice("history_cut", {"a": 1}),
        TurnEnded("failed", "no"),
    ]
    assert [render(u)["type"] for u in updates] == ["delta", "reset", "tool", "tool_end", "notice", "end"]
