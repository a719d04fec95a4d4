"""The official OpenAI client against the model peer: answers, streams, checks, and scripted misbehaviour."""

import asyncio
import base64
import json
import struct
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from tests.peers.aimock import aimock
from tests.peers.model import Answer, ModelPeer, ModelPeerControl, ToolCall, calls, fails, overflows, says
from tests.peers.model.schema import schema_faults, strict_faults
from tests.peers.model.script import read_directives
from tests.peers.model.wire import events, whole
from tests.peers.programs import peer_program

MODEL = "peer-model"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}},
}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(*ids: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
    }


def result(call_id: str, text: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def make_client(peer: ModelPeer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=peer.url, api_key="k", max_retries=0, timeout=20)


@pytest.fixture
async def client(model_peer: ModelPeer) -> AsyncIterator[AsyncOpenAI]:
    async with make_client(model_peer) as made:
        yield made


async def ask(client: AsyncOpenAI, *messages: dict[str, Any], **more: Any) -> Any:
    asked: Any = list(messages)
    return await client.chat.completions.create(model=MODEL, messages=asked, **more)


async def stream(client: AsyncOpenAI, *messages: dict[str, Any], **more: Any) -> list[Any]:
    return [chunk async for chunk in await ask(client, *messages, stream=True, **more)]


def text_of(chunks: list[Any]) -> str:
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def joined_calls(chunks: list[Any]) -> list[tuple[str | None, str, str]]:
    found: dict[int, list[Any]] = {}
    for delta in (d for c in chunks if c.choices for d in c.choices[0].delta.tool_calls or ()):
        slot = found.setdefault(delta.index, [None, "", ""])
        slot[0] = slot[0] or delta.id
        slot[1] += delta.function.name or ""
        slot[2] += delta.function.arguments or ""
    return [(a, b, c) for a, b, c in found.values()]


# -- answers ---------------------------------------------------------------------------------------


async def test_what_no_script_covers_is_echoed(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    answer = await ask(client, user("hello"))
    assert answer.choices[0].message.content == "echo: hello"
    chunks = await stream(client, user("hello"), stream_options={"include_usage": True})
    assert text_of(chunks) == "echo: hello"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens > 0
    assert [m.id async for m in client.models.list()] == model_peer.models
    assert [r.outcome for r in model_peer.requests] == ["ok", "ok"]
    assert model_peer.requests[0].body == {"model": MODEL, "messages": [user("hello")]}


async def test_scripts_go_by_model_and_text(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(says("for bob"), text="bob")
    model_peer.script.add(says("small"), model="peer-small")
    model_peer.script.add(says("first"), says("second"))
    assert text_of(await stream(client, user("x"))) == "first"
    assert text_of(await stream(client, user("I am bob"))) == "for bob"
    assert text_of(await stream(client, user("x"))) == "second"
    assert text_of(await stream(client, user("x"))) == "echo: x"
    assert len(model_peer.script) == 1
    model_peer.reset()
    assert len(model_peer.script) == 0


async def test_parallel_calls_come_interleaved_by_index(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(calls(ToolCall("f", {"x": 1}, "A"), ToolCall("g", {"y": 2}, "B")))
    chunks = await stream(client, user("go"))
    order = [c.choices[0].delta.tool_calls[0].index for c in chunks if c.choices[0].delta.tool_calls]
    assert order == [0, 1, 0, 1, 0, 1]
    assert joined_calls(chunks) == [("A", "f", '{"x": 1}'), ("B", "g", '{"y": 2}')]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("ids", [("call_1", "call_1"), (None, None)])
async def test_ids_are_doubled_or_missing_when_told(
    client: AsyncOpenAI, model_peer: ModelPeer, ids: tuple[str | None, ...]
) -> None:
    model_peer.script.add(calls(*(ToolCall("f", id=i) for i in ids)))
    assert [found[0] for found in joined_calls(await stream(client, user("go")))] == list(ids)


async def test_arguments_can_be_cut(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(calls(ToolCall("f", '{"x": "hel'), finish="length"))
    answer = await ask(client, user("go"))
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.tool_calls[0].function.arguments == '{"x": "hel'


async def test_reasoning_alone(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(Answer(reasoning="thinking"), times=2)
    chunks = await stream(client, user("go"))
    assert text_of(chunks) == ""
    assert "".join(getattr(c.choices[0].delta, "reasoning_content", "") for c in chunks) == "thinking"
    assert (await ask(client, user("go"))).choices[0].message.reasoning_content == "thinking"


@pytest.mark.parametrize("usage", ["none", "null", "nulls", "each", "choice", "always"])
async def test_usage_comes_in_every_shape(client: AsyncOpenAI, model_peer: ModelPeer, usage: Any) -> None:
    model_peer.script.add(says("abc", usage=usage), times=2)
    chunks = await stream(client, user("go"))
    reported = [c.usage for c in chunks]
    assert text_of(chunks) == "abc"
    if usage in ("none", "null", "choice"):
        assert not any(reported)
    if usage == "nulls":
        assert reported[-1].prompt_tokens is None
    if usage == "each":
        counts = [u.completion_tokens for u in reported]
        assert counts == sorted(set(counts))
    if usage == "choice":
        assert chunks[-1].choices[0].usage["total_tokens"] > 0
    if usage == "always":
        assert chunks[-1].choices == []
    whole_answer = await ask(client, user("go"))
    assert (whole_answer.usage is None) == (usage in ("none", "null", "choice"))


async def test_directives_steer_a_peer_from_the_message(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    order = user('do it [[tool=f {"x": [[1]]}]] [[text=done: {tool}]] [[delay=30]]')
    began = time.monotonic()
    first = (await ask(client, order, tools=[TOOL])).choices[0].message.tool_calls[0]
    assert time.monotonic() - began >= 0.03
    assert json.loads(first.function.arguments) == {"x": [[1]]}
    history = [order, called(first.id), result(first.id, "21")]
    assert (await ask(client, *history, tools=[TOOL])).choices[0].message.content == "done: 21"
    with pytest.raises(openai.RateLimitError) as limited:
        await ask(client, user("x [[error=429 retry=1 times=2]]"))
    assert limited.value.response.headers["retry-after"] == "1"
    with pytest.raises(openai.RateLimitError):
        await ask(client, user("x [[error=429 retry=1 times=2]]"))
    assert (await ask(client, user("x [[error=429 retry=1 times=2]]"))).choices[
        0
    ].message.content == "echo: x"


def test_a_directive_that_never_closes_is_text() -> None:
    assert read_directives("a [[tool=f {").rest == "a [[tool=f {"
    assert read_directives("a [[tool=f]] b").tools == [ToolCall("f", {})]


def test_answers_fit_the_published_schemas() -> None:
    body = {"model": MODEL, "messages": [user("x")], "stream_options": {"include_usage": True}}
    for answer in (says("abc"), calls(ToolCall("f", {"x": 1}), ToolCall("g")), Answer(finish="length")):
        assert schema_faults(whole(body, answer), "CreateChatCompletionResponse") == []
        for event in events(body, answer)[:-1]:
            chunk = json.loads(event.removeprefix(b"data: "))
            assert schema_faults(chunk, "CreateChatCompletionStreamResponse") == []


# -- checks ----------------------------------------------------------------------------------------

LEGAL: list[list[dict[str, Any]]] = [
    [user("x"), called("a", "b"), result("b"), result("a"), {"role": "assistant", "content": "y"}, user("z")],
    [{"role": "system", "content": "s"}, user("x"), called("a"), result("a", "")],
    [user("x"), {"role": "assistant", "content": "y", "reasoning_content": "r"}, user("z")],
]
ILLEGAL: dict[str, list[dict[str, Any]]] = {
    "no result": [user("x"), called("a"), user("y")],
    "no result at the end": [user("x"), called("a", "b"), result("a")],
    "result without a call": [user("x"), result("a")],
    "result too late": [user("x"), called("a"), user("y"), result("a")],
    "two results": [user("x"), called("a"), result("a"), result("a")],
    "doubled ids": [user("x"), called("a", "a"), result("a"), result("a")],
    "id used again": [user("x"), called("a"), result("a"), called("a"), result("a")],
    "cut arguments": [user("x"), called("a", arguments='{"x'), result("a")],
    "arguments no object": [user("x"), called("a", arguments="[]"), result("a")],
    "empty text": [user("")],
    "empty part": [{"role": "user", "content": [{"type": "text", "text": ""}]}],
    "empty answer": [user("x"), {"role": "assistant", "content": ""}, user("y")],
    "no answer": [user("x"), {"role": "assistant"}, user("y")],
    "surrogate": [user("ok \ud83d end")],
    "role": [{"role": "robot", "content": "x"}],
    "field": [{"role": "user", "content": "x", "id": 5}],
    "prefill": [user("x"), {"role": "assistant", "content": "y"}],
    "system only": [{"role": "system", "content": "x"}],
}


@pytest.mark.parametrize("messages", LEGAL)
def test_legal_conversations_pass(messages: list[dict[str, Any]]) -> None:
    body = {"model": MODEL, "messages": messages, "tools": [TOOL], "max_completion_tokens": 5}
    assert strict_faults(body) == []
    assert schema_faults(body) == []


@pytest.mark.parametrize("name", ILLEGAL)
async def test_illegal_conversations_are_refused(model_peer: ModelPeer, name: str) -> None:
    content = json.dumps({"model": MODEL, "messages": ILLEGAL[name]})
    async with httpx.AsyncClient() as plain:
        answer = await plain.post(f"{model_peer.url}/chat/completions", content=content)
    assert answer.status_code == 400
    assert len(model_peer.violations) >= 1
    assert model_peer.requests[0].outcome == "violation"
    model_peer.violations.clear()


@pytest.mark.parametrize(
    "more",
    [
        {"max_token": 5},
        {"temperature": "hot"},
        {"tools": []},
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [TOOL, TOOL]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "objekt"}}}]},
    ],
)
async def test_illegal_requests_are_refused(
    client: AsyncOpenAI, model_peer: ModelPeer, more: dict[str, Any]
) -> None:
    with pytest.raises(openai.BadRequestError):
        await ask(client, user("x"), extra_body=more)
    model_peer.violations.clear()


def png(width: int, height: int) -> dict[str, Any]:
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.mark.parametrize(
    "images",
    [[png(1440, 9000)], [png(2500, 10)] * 21, [{"type": "image_url", "image_url": {"url": "data:,x"}}]],
)
async def test_big_pictures_are_refused(
    client: AsyncOpenAI, model_peer: ModelPeer, images: list[dict[str, Any]]
) -> None:
    assert (await ask(client, {"role": "user", "content": [png(1440, 8000), png(9, 9)]})).choices
    with pytest.raises(openai.BadRequestError, match="image"):
        await ask(client, {"role": "user", "content": images})
    model_peer.violations.clear()


async def test_a_key_can_be_asked_for() -> None:
    async with ModelPeer(api_key="right") as peer, make_client(peer) as client:
        with pytest.raises(openai.AuthenticationError):
            await ask(client, user("x"))
        assert (await ask(client.with_options(api_key="right"), user("x"))).choices


# -- misbehaviour ----------------------------------------------------------------------------------


async def test_errors_come_with_status_and_headers(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(fails(429, retry_after=20), fails(529), fails(500), fails(413), overflows())
    seen = []
    for _ in range(5):
        with pytest.raises(openai.APIStatusError) as caught:
            await ask(client, user("x"))
        seen.append(
            (caught.value.status_code, caught.value.response.headers.get("retry-after"), caught.value.code)
        )
    assert seen == [
        (429, "20", None), (529, None, None), (500, None, None), (413, None, None),
        (400, None, "context_length_exceeded"),
    ]  # fmt: skip
    assert model_peer.violations == []


async def test_a_stream_can_be_cut(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(says("Hello world.", chunks=6, cut_after=600))
    with pytest.raises(openai.APIConnectionError):
        await stream(client, user("x"))
    model_peer.script.add(says("Hello wor", finish=None, done=False))
    quiet = await stream(client, user("x"))
    assert text_of(quiet) == "Hello wor"
    assert not any(c.choices[0].finish_reason for c in quiet)
    assert [r.outcome for r in model_peer.requests] == ["cut", "ok"]


async def test_broken_and_raw_streams(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(says("x", malformed=True), Answer(raw=": ping\n\ndata: [DONE]\n\n"))
    with pytest.raises(json.JSONDecodeError):
        await stream(client, user("x"))
    assert await stream(client, user("x")) == []


async def test_hangs_end_with_the_client(client: AsyncOpenAI, model_peer: ModelPeer) -> None:
    model_peer.script.add(says("x", hang="headers"), says("x", hang="body"))
    for _ in range(2):
        with pytest.raises((openai.APITimeoutError, httpx.ReadTimeout)):
            await stream(client, user("x"), timeout=0.2)
    await model_peer.wait_for(lambda: all(r.ended for r in model_peer.requests))
    assert [r.outcome for r in model_peer.requests] == ["client-gone", "client-gone"]
    assert [bool(r.first_byte) for r in model_peer.requests] == [False, True]
    assert model_peer.in_flight.total() == 0


async def test_the_peer_stops_at_once_while_requests_hang() -> None:
    peer = await ModelPeer().start()
    async with make_client(peer) as client:
        hanging = asyncio.create_task(ask(client, user("x [[hang]]")))
        await peer.wait_for(lambda: peer.in_flight.total() == 1)
        began = time.monotonic()
        await peer.stop()
        assert time.monotonic() - began < 1
        with pytest.raises(openai.APIConnectionError):
            await hanging


# -- many at once, and as a program ----------------------------------------------------------------


async def test_many_sessions_at_once_are_counted(model_peer: ModelPeer) -> None:
    async with make_client(model_peer) as client:
        asks = [stream(client, user(f"[[session=s{n % 64}]] [[delay=200]] {n}")) for n in range(128)]
        answers = await asyncio.gather(*asks)
    assert [text_of(a) for a in answers] == [f"echo: {n}" for n in range(128)]
    assert model_peer.most_in_flight > 64
    assert model_peer.most_per_session["s0"] == 2
    assert model_peer.connections_opened >= model_peer.most_in_flight
    await model_peer.wait_for(lambda: not model_peer.in_flight)


async def test_the_peer_runs_as_a_program() -> None:
    with peer_program("model", "--checks", "strict") as base:
        control = ModelPeerControl(base)
        await control.ascript(
            {"tool_calls": [{"name": "f", "arguments": {"x": 1}}]}, {"text": "hi"}, text="go"
        )
        async with AsyncOpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0) as client:
            assert joined_calls(await stream(client, user("go")))[0][2] == '{"x": 1}'
            assert text_of(await stream(client, user("go"))) == "hi"
        await control.await_requests(requests=2)
        assert [r["outcome"] for r in await control.ajournal()] == ["ok", "ok"]
        assert (await control.astate())["violations"] == []
        await control.areset()
        assert await control.ajournal() == []


async def test_a_server_that_we_did_not_write_agrees(tmp_path: Any) -> None:
    fixtures: list[dict[str, Any]] = [
        {"match": {"hasToolResult": True}, "response": {"content": "21 degrees"}},
        {
            "match": {"userMessage": "weather"},
            "response": {"toolCalls": [{"name": "f", "arguments": '{"x":1}'}]},
        },
        {"match": {"userMessage": "hello"}, "response": {"content": "Hi there"}},
    ]
    async with (
        aimock(fixtures, tmp_path) as url,
        AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client,
    ):
        assert text_of(await stream(client, user("hello"))) == "Hi there"
        [(call_id, name, arguments)] = joined_calls(await stream(client, user("weather"), tools=[TOOL]))
        assert (name, json.loads(arguments)) == ("f", {"x": 1})
        history = [user("weather"), called(str(call_id)), result(str(call_id))]
        assert (await ask(client, *history)).choices[0].message.content == "21 degrees"
