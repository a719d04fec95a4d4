"""The model client against a real server on loopback."""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.models import providers
from agent_core.models.chat import ChatModel
from agent_core.models.limits import Limits
from agent_core.models.providers import Models, ProviderConfig, build_model, describe_models, list_models
from agent_core.retry import Retry, RetryPolicy, with_retries
from hermes.clock import SystemClock
from hermes.config import Network
from hermes.errors import ModelError
from hermes.messages import Message
from hermes.model import Completion, Model, ModelRequest, ToolSpec
from hermes.testing import FakeClock
from tests.peers.model import Answer, ModelPeer, ToolCall, calls, fails, overflows, says

QUICK = Limits(connect=2.0, first_byte=0.3, silence=0.3)
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"p": {"type": "string"}}})


def configured(url: str, **fields: Any) -> ProviderConfig:
    return ProviderConfig("custom", "peer-model", base_url=url, **fields)


@asynccontextmanager
async def client(url: str, **fields: Any) -> AsyncIterator[ChatModel]:
    model = build_model(configured(url, **fields))
    try:
        yield model
    finally:
        await model.aclose()


@pytest.fixture
async def model(model_peer: ModelPeer) -> AsyncIterator[ChatModel]:
    async with client(model_peer.url) as made:
        yield made


def asked(*messages: Message, tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    return ModelRequest("Be brief.", messages or (Message("user", "hi"),), tools)


async def ask(model: Model, request: ModelRequest | None = None) -> tuple[Completion, str]:
    seen: list[str] = []
    completion = await model.complete(request or asked(), seen.append)
    return completion, "".join(seen)


async def fault(model: ChatModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model)
    return caught.value


def after(completion: Completion, *results: str) -> ModelRequest:
    made = completion.message.tool_calls
    answers = [Message("tool", r, tool_call_id=c.id, name=c.name) for c, r in zip(made, results, strict=True)]
    return asked(Message("user", "hi"), completion.message, *answers, tools=(READ,))


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_an_answer_is_streamed_and_the_connection_used_again(
    model_peer: ModelPeer, model: ChatModel
) -> None:
    model_peer.script.add(says("Hello world.", chunks=4), says("Again."))
    completion, seen = await ask(model)
    assert completion.message.text == seen == "Hello world."
    assert not completion.usage.estimated
    await ask(model)
    assert model_peer.connections_opened == 1


@pytest.mark.parametrize("arguments", ['{"p":"a.txt","content":"hel', '{"mode": fastt"}'])
async def test_MD_02_MD_25_broken_arguments_go_back_as_an_object(
    model_peer: ModelPeer, model: ChatModel, arguments: str
) -> None:
    model_peer.script.add(calls(ToolCall("read", arguments)))
    completion, _ = await ask(model)
    assert completion.message.tool_calls[0].arguments is None
    await ask(model, after(completion, "That was no JSON."))
    assert model_peer.requests[-1].status == 200


async def test_MD_01_cut_by_the_limit(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(calls(ToolCall("read", '{"p":"a'), finish="length"))
    completion, _ = await ask(model)
    assert (completion.finish, completion.message.tool_calls[0].arguments) == ("length", None)


async def test_MD_05_the_whole_of_two_calls_is_kept(model_peer: ModelPeer, model: ChatModel) -> None:
    two = calls(
        ToolCall("read", '{"p":"a"}'), ToolCall("read", '{"p":"b"'), finish="length", interleave=False
    )
    model_peer.script.add(two)
    completion, _ = await ask(model)
    assert [c.arguments for c in completion.message.tool_calls] == [{"p": "a"}, None]
    await ask(model, after(completion, "a", "cut"))


async def test_MD_04_no_arguments_are_an_empty_object(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(calls(ToolCall("read", "")))
    completion, _ = await ask(model)
    assert completion.message.tool_calls[0].arguments == {}


async def test_MD_06_one_id_for_two_calls(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(
        calls(ToolCall("read", {"p": "a"}, id="call_1"), ToolCall("read", {"p": "b"}, id="call_1"))
    )
    completion, _ = await ask(model)
    assert [c.arguments for c in completion.message.tool_calls] == [{"p": "a"}, {"p": "b"}]
    await ask(model, after(completion, "a", "b"))


async def test_MD_06_ids_that_start_anew_in_each_answer(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(*(calls(ToolCall("read", {"p": "a"}, id="call_0")) for _ in range(2)))
    first, _ = await ask(model)
    request = after(first, "a")
    second, _ = await ask(model, request)
    result = Message("tool", "b", tool_call_id=second.message.tool_calls[0].id, name="read")
    await ask(model, asked(*request.messages, second.message, result, tools=(READ,)))
    assert [r.status for r in model_peer.requests] == [200, 200, 200]


@pytest.mark.parametrize("call_id", ["auto", None])
async def test_MD_08_interleaved_calls(model_peer: ModelPeer, model: ChatModel, call_id: str | None) -> None:
    model_peer.script.add(calls(*(ToolCall("read", {"p": n * 9}, call_id, 4) for n in "ab"), interleave=True))
    completion, _ = await ask(model)
    assert [c.arguments for c in completion.message.tool_calls] == [{"p": "a" * 9}, {"p": "b" * 9}]
    assert len({c.id for c in completion.message.tool_calls}) == 2


async def test_MD_11_only_reasoning(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(says("", reasoning="thinking..."))
    completion, seen = await ask(model)
    assert (seen, completion.message.text) == ("", "")
    await ask(model, asked(Message("user", "a"), completion.message, Message("user", "b")))
    assert model_peer.requests[-1].status == 200


async def test_reasoning_goes_back_with_its_calls(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(calls(ToolCall("read", {"p": "a"}), reasoning="because"))
    completion, _ = await ask(model)
    await ask(model, after(completion, "a"))
    body = model_peer.requests[-1].body
    assert body is not None
    assert body["messages"][2]["reasoning_content"] == "because"


async def test_MD_13_thinking_in_the_text(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(says("<think>plan</think>Answer", chunks=9))
    completion, seen = await ask(model)
    assert completion.message.text == seen == "Answer"


async def test_MD_14_a_cut_stream_is_tried_again(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(says("Hello wor", finish=None, done=False), says("Hello world."))
    seen: list[str] = []
    policy = RetryPolicy(first=0.01)

    def restart(retry: Retry) -> None:
        assert retry.error.kind == "network"
        seen.clear()

    completion = await with_retries(
        lambda: model.complete(asked(), seen.append), policy, SystemClock(), restart, random.Random(0)
    )
    assert completion.message.text == "".join(seen) == "Hello world."


async def test_MD_14_a_dropped_connection_is_a_network_error(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(says("Hello world.", cut_after=200))
    assert (await fault(model)).kind == "network"


async def test_MD_15_MD_16_usage_in_every_shape(model_peer: ModelPeer, model: ChatModel) -> None:
    known: tuple[Any, ...] = ("auto", "always", "each", "choice")
    unknown: tuple[Any, ...] = ("none", "null", "nulls")
    for usage in (*known, *unknown):
        model_peer.script.add(says("Hi", usage=usage))
        completion, _ = await ask(model)
        assert completion.message.text == "Hi"
        assert completion.usage.estimated == (usage in unknown), usage
        assert completion.usage.prompt > 0


async def test_the_estimate_learns_from_usage(model_peer: ModelPeer, model: ChatModel) -> None:
    before = model.estimate
    await ask(model, asked(Message("user", "word " * 2000)))
    assert model.estimate.samples == before.samples + 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (fails(401), "auth"),
        (fails(429, retry_after=20), "rate_limit"),
        (fails(529), "overload"),
        (fails(400, "invalid tool call arguments"), "bad_request"),
        (fails(413), "overflow"),
        (overflows(), "overflow"),
        (says("x", malformed=True), "malformed"),
        (Answer(raw=""), "malformed"),
        (Answer(raw="<html>portal</html>"), "malformed"),
        (Answer(raw='data: {"error":{"code":502,"message":"Provider returned error"}}\n\n'), "overload"),
        (Answer(status=302, body={}), "config"),
    ],
)
async def test_MD_17_MD_19b_classes_of_errors(
    model_peer: ModelPeer, model: ChatModel, answer: Answer, kind: str
) -> None:
    model_peer.script.add(answer)
    error = await fault(model)
    assert error.kind == kind
    assert error.retry_after == (20.0 if answer.headers else None)


async def test_MD_17_twenty_seconds_are_waited(model_peer: ModelPeer, model: ChatModel) -> None:
    model_peer.script.add(fails(429, retry_after=20), says("done"))
    clock = FakeClock()
    waits: list[float] = []
    retried = asyncio.Event()

    def on_retry(retry: Retry) -> None:
        waits.append(retry.delay)
        retried.set()

    task = asyncio.create_task(
        with_retries(lambda: model.complete(asked(), lambda _: None), RetryPolicy(), clock, on_retry)
    )
    await retried.wait()
    await clock.advance(19.9)
    assert len(model_peer.requests) == 1
    await clock.advance(10)
    assert (await task).message.text == "done"
    assert waits[0] >= 20


async def test_MD_21_a_lone_surrogate_is_taken_by_a_strict_server(
    model_peer: ModelPeer, model: ChatModel
) -> None:
    await ask(model, asked(Message("user", "ok \ud83d end")))
    body = model_peer.requests[-1].body
    assert body is not None
    assert body["messages"][-1]["content"] == "ok \ufffd end"


async def test_an_answer_that_is_not_streamed_is_taken(model_peer: ModelPeer, model: ChatModel) -> None:
    message = {"role": "assistant", "content": "Whole."}
    body = {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }
    model_peer.script.add(Answer(raw=json.dumps(body)))
    completion, seen = await ask(model)
    assert completion.message.text == seen == "Whole."
    assert completion.usage.prompt == 3


# --- time limits and cancelling -------------------------------------------------------------------


@pytest.mark.parametrize("hang", ["headers", "body"])
async def test_a_hanging_provider_is_a_timeout(model_peer: ModelPeer, hang: Any) -> None:
    async with client(model_peer.url, limits=QUICK) as model:
        model_peer.script.add(says("Hello world.", hang=hang), says("Back."))
        error = await fault(model)
        assert error.kind == "timeout"
        assert (await ask(model))[1] == "Back."


async def test_a_slow_stream_that_never_falls_silent_is_no_timeout(model_peer: ModelPeer) -> None:
    async with client(model_peer.url, limits=QUICK) as model:
        model_peer.script.add(says("abcdefgh", chunks=8, every=0.1))
        assert (await ask(model))[1] == "abcdefgh"


async def test_cancelling_closes_the_connection_and_the_next_call_works(
    model_peer: ModelPeer, model: ChatModel
) -> None:
    for _ in range(5):
        model_peer.script.add(says("Hello world." * 100, chunks=1000, every=0.02))
        texts: asyncio.Queue[str] = asyncio.Queue()
        task = asyncio.create_task(model.complete(asked(), texts.put_nowait))
        await texts.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await model_peer.wait_for(lambda: [r.outcome for r in model_peer.requests] == ["client-gone"] * 5)
    assert (await ask(model))[0].message.text
    assert model_peer.connections_closed == 5


async def test_cancelling_before_the_first_byte_closes_the_connection(
    model_peer: ModelPeer, model: ChatModel
) -> None:
    model_peer.script.add(says("Hello world.", hang="headers"))
    task = asyncio.create_task(model.complete(asked(), lambda _: None))
    await model_peer.wait_for(lambda: model_peer.in_flight.total() == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model_peer.wait_for(lambda: model_peer.requests[0].outcome == "client-gone")
    assert (await ask(model))[0].message.text


async def test_many_calls_at_once(model_peer: ModelPeer, model: ChatModel) -> None:
    texts = await asyncio.gather(*(ask(model, asked(Message("user", f"n{n}"))) for n in range(64)))
    assert all(f"n{n}" in seen for n, (_, seen) in enumerate(texts))


async def test_a_server_that_holds_on_after_done_does_not_hold_us() -> None:
    held = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        event = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + event)
        await writer.drain()
        await reader.read()
        await closed(writer)
        held.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, client(f"http://127.0.0.1:{port}/v1") as model:
        assert (await ask(model))[1] == "Hi"
        await held.wait()


async def test_comments_alone_are_no_answer() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b": PROCESSING\n\n")
                await writer.drain()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1 << 20), 0.02)
        await closed(writer)
        gone.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, client(url, limits=Limits(silence=5.0, stall=0.2)) as model:
        error = await fault(model)
        await gone.wait()
    assert error.kind == "timeout"
    assert "sends nothing" in str(error)


async def test_a_broken_ca_file_is_named(model_peer: ModelPeer, tmp_path: Path) -> None:
    for name in ("missing.pem", "empty.pem"):
        file = tmp_path / name
        if name == "empty.pem":
            file.write_text("no certificate", encoding="utf-8")
        async with client(model_peer.url, network=Network(ca_file=file)) as model:
            error = await fault(model)
        assert error.kind == "config"
        assert name in str(error)


async def test_nobody_there_is_a_network_error(unused_tcp_port_factory: Callable[[], int]) -> None:
    async with client(f"http://127.0.0.1:{unused_tcp_port_factory()}/v1") as model:
        error = await fault(model)
    assert error.kind == "network"
    assert "127.0.0.1" in str(error)


async def test_calls_after_closing_open_anew(model_peer: ModelPeer, model: ChatModel) -> None:
    await ask(model)
    await model.aclose()
    await ask(model)
    assert model_peer.connections_opened == 2


# --- providers ------------------------------------------------------------------------------------


async def test_keys_and_headers_are_sent() -> None:
    async with ModelPeer(api_key="k1") as peer:
        async with client(peer.url, api_key="k1", headers={"X-Extra": "1"}) as model:
            await ask(model)
        assert peer.requests[-1].headers["X-Extra"] == "1"
        async with client(peer.url, api_key="wrong") as model:
            error = await fault(model)
        assert error.kind == "auth"
        assert "wrong" not in str(error)


async def test_models_of_one_provider_share_its_connections(model_peer: ModelPeer) -> None:
    models = Models()
    first, second = (
        models.get(replace(configured(model_peer.url), model=m)) for m in ("peer-model", "peer-small")
    )
    assert models.get(configured(model_peer.url)) is first
    assert first is not second
    await ask(first)
    await ask(second)
    assert model_peer.connections_opened == 1
    await models.aclose()
    assert models.get(configured(model_peer.url)) is not first


async def test_models_are_listed(model_peer: ModelPeer) -> None:
    assert await list_models(configured(model_peer.url)) == ["peer-model", "peer-small"]
    assert (await describe_models(configured(model_peer.url)))[0].window is None


async def test_an_ollama_is_found_where_one_answers(
    model_peer: ModelPeer, unused_tcp_port_factory: Callable[[], int]
) -> None:
    assert await providers.find_ollama(model_peer.url) == ["peer-model", "peer-small"]
    assert await providers.find_ollama(f"http://127.0.0.1:{unused_tcp_port_factory()}/v1") is None


@pytest.mark.parametrize(("no_proxy", "direct"), [((), False), (("127.0.0.1",), True), (("*",), True)])
async def test_the_proxy_is_used_unless_the_host_is_excepted(
    model_peer: ModelPeer, unused_tcp_port_factory: Callable[[], int], no_proxy: tuple[str, ...], direct: bool
) -> None:
    network = Network(proxy=f"http://127.0.0.1:{unused_tcp_port_factory()}", no_proxy=no_proxy)
    async with client(model_peer.url, network=network) as model:
        if direct:
            assert (await ask(model))[1]
        else:
            assert (await fault(model)).kind == "network"
