"""The API on the real HTTP server: by the official client, by aiohttp and by sockets."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import openai
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from adapters.api.adapter import build
from adapters.api.settings import ApiSettings
from hermes.adapter import HttpAdapter, HttpLimits
from hermes.agent import TextDelta, TextReset, ToolEnded, ToolStarted, TurnEnded
from hermes.errors import ConfigError
from hermes.events import Event
from hermes.messages import Message, Usage
from hermes.testing import FakeClock
from tests.integration.house import Emit, House, MemoryIntake, context, open_house
from tests.peers.model.schema import schema_faults

KEY = "secret"
AUTH = {"Authorization": f"Bearer {KEY}"}
ADDRESS = "/v1/chat/completions"
LIMITS = HttpLimits(body=100_000, read_timeout=1.0)


def settings() -> ApiSettings:
    return ApiSettings.model_validate({"type": "api", "key": KEY})


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_house(build, settings(), LIMITS) as opened:
        yield opened


@pytest.fixture
async def client(house: House) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(house.url, headers=AUTH) as session:
        yield session


@pytest.fixture
async def official(house: House) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{house.url}/v1") as made:
        yield made


def ask(text: str = "hi", **fields: Any) -> dict[str, Any]:
    return {"model": "any", "messages": [{"role": "user", "content": text}], **fields}


def head(length: int) -> bytes:
    line = f"Authorization: Bearer {KEY}\r\nContent-Length: {length}\r\n\r\n"
    return f"POST {ADDRESS} HTTP/1.1\r\nHost: x\r\n{line}".encode()


def events(raw: bytes) -> list[Any]:
    lines = [line[6:] for line in raw.decode().split("\n\n") if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def text_of(raw: bytes) -> str:
    chunks = [e for e in events(raw) if e != "[DONE]" and "choices" in e]
    return "".join(choice["delta"].get("content", "") for e in chunks for choice in e["choices"])


class Gated:
    """A turn that shows a beginning and goes on when the test lets it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, event: Event, emit: Emit) -> None:
        emit(TextDelta("begin"))
        self.begun.set()
        await self.go.wait()
        emit(TextDelta(" end"))
        emit(TurnEnded("answered", "begin end", Usage(5, 2)))


# --- the official client --------------------------------------------------------------------------


async def test_the_official_client_gets_an_answer(house: House, official: openai.AsyncOpenAI) -> None:
    answer = await official.chat.completions.create(model="x", messages=[{"role": "user", "content": "hi"}])
    assert answer.choices[0].message.content == "echo: hi"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "x"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (
        11,
        3,
        14,
    )


async def test_the_official_client_streams(house: House, official: openai.AsyncOpenAI) -> None:
    text = "a longer question, so that there are several pieces"
    stream = await official.chat.completions.create(
        model="x",
        messages=[{"role": "user", "content": text}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    assert len(pieces) > 3
    assert "".join(pieces) == f"echo: {text}"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 14
    assert len({chunk.id for chunk in chunks}) == 1


async def test_the_official_client_lists_the_model(official: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in official.models.list()] == ["hermes"]


async def test_the_official_client_understands_a_wrong_key(house: House) -> None:
    async with openai.AsyncOpenAI(api_key="wrong", base_url=f"{house.url}/v1") as stranger:
        with pytest.raises(openai.AuthenticationError) as raised:
            await stranger.models.list()
    assert raised.value.code == "invalid_api_key"
    assert house.intake.events == []


async def test_a_failed_turn_reaches_the_official_client_once_as_a_sentence(
    house: House, official: openai.AsyncOpenAI
) -> None:
    async def fail(event: Event, emit: Emit) -> None:
        emit(TextDelta("half"))
        emit(TurnEnded("failed", "The model is down; try again later."))

    house.intake.think = fail
    with pytest.raises(openai.InternalServerError, match="The model is down"):
        await official.chat.completions.create(model="x", messages=[{"role": "user", "content": "hi"}])
    assert len(house.intake.events) == 1  # the client did not repeat it by itself
    stream = await official.chat.completions.create(
        model="x", messages=[{"role": "user", "content": "hi"}], stream=True
    )
    with pytest.raises(openai.APIError, match="The model is down"):
        _ = [chunk async for chunk in stream]


# --- what is promised on the wire -----------------------------------------------------------------


async def test_answers_fit_the_published_schemas(client: aiohttp.ClientSession) -> None:
    async with client.post(ADDRESS, json=ask()) as answer:
        assert schema_faults(await answer.json(), "CreateChatCompletionResponse") == []
    stream = ask(stream=True, stream_options={"include_usage": True})
    async with client.post(ADDRESS, json=stream) as answer:
        assert answer.content_type == "text/event-stream"
        told = events(await answer.read())
    assert told[-1] == "[DONE]"
    for event in told[:-1]:
        assert schema_faults(event, "CreateChatCompletionStreamResponse") == []
    async with client.get("/v1/models") as answer:
        assert schema_faults(await answer.json(), "ListModelsResponse") == []
    async with client.post(ADDRESS, json=ask(n=3)) as answer:
        assert answer.status == 400
        assert schema_faults(await answer.json(), "ErrorResponse") == []


async def test_the_event_is_the_callers_own(house: House, client: aiohttp.ClientSession) -> None:
    await client.post(ADDRESS, json=ask("/stop"))
    (event,) = house.intake.events
    assert (event.platform, event.instance, event.kind, event.text) == ("api", "api", "api", "/stop")
    assert event.admitted == "key"
    assert not event.command_text
    assert event.reply_to == ()
    assert event.volatile
    assert event.session is not None
    assert event.session.startswith("once:")


async def test_without_a_session_each_request_stands_alone_with_its_history(
    house: House, client: aiohttp.ClientSession
) -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "eins"},
        {"role": "user", "content": "two"},
    ]
    for _ in range(2):
        await client.post(ADDRESS, json=ask(messages=messages))
    first, second = house.intake.events
    assert first.history == (Message("user", "one"), Message("assistant", "eins"))
    assert first.text == "two"
    assert first.session != second.session


async def test_with_a_session_only_the_last_user_message_is_new(
    house: House, client: aiohttp.ClientSession
) -> None:
    messages = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    for _ in range(2):
        headers = {"X-Hermes-Session": "my.session-1"}
        async with client.post(ADDRESS, json=ask(messages=messages), headers=headers) as answer:
            assert answer.status == 200
    assert [(e.text, e.history, e.session, e.chat) for e in house.intake.events] == [
        ("two", (), "my.session-1", "my.session-1")
    ] * 2


@pytest.mark.parametrize("name", ["", "a b", "x" * 129, "once:1", "../x"])
async def test_a_bad_session_name_is_400(client: aiohttp.ClientSession, name: str) -> None:
    async with client.post(ADDRESS, json=ask(), headers={"X-Hermes-Session": name}) as answer:
        assert answer.status == 400
        assert (await answer.json())["error"]["param"] == "X-Hermes-Session"


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic secret",
        "secret",
        "Bearer secret x",
        "Bearer secre\xe9",
        "Bearer \xe9",
        "Bearer secret\xe9",
    ],
)
async def test_WH_02_a_wrong_key_is_401_before_anything_else(house: House, value: str | None) -> None:
    line = "" if value is None else f"Authorization: {value}\r\n"
    request = f"POST {ADDRESS} HTTP/1.1\r\nHost: x\r\n{line}Content-Length: 900000\r\n\r\n"
    answer = await house.send(request.encode("latin-1"))
    assert answer.startswith(b"HTTP/1.1 401 ")
    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert body["error"]["code"] == "invalid_api_key"
    assert body["error"]["type"] == "invalid_request_error"


async def test_a_wrong_key_is_logged_without_the_key(house: House) -> None:
    with capture_logs() as logs:
        await house.send(
            b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hush\r\nConnection: close\r\n\r\n"
        )
    assert [entry["event"] for entry in logs] == ["api.key_wrong"]
    assert "hush" not in repr(logs)
    assert KEY not in repr([entry.values() for entry in logs])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "no valid JSON"),
        (b"[]", "JSON object"),
        (json.dumps(ask(tools=[{"type": "function"}])).encode(), "tools cannot be given"),
        (
            json.dumps(ask(messages=[{"role": "user", "content": [{"type": "image_url"}]}])).encode(),
            "image_url",
        ),
    ],
)
async def test_bad_requests_are_400_with_openais_error(
    house: House, client: aiohttp.ClientSession, body: bytes, words: str
) -> None:
    async with client.post(ADDRESS, data=body) as answer:
        assert answer.status == 400
        assert words in (await answer.json())["error"]["message"]
    assert house.intake.events == []


async def test_the_servers_limits_speak_openais_json(house: House, client: aiohttp.ClientSession) -> None:
    async with client.post(ADDRESS, data=io.BytesIO(b"x" * 100_001)) as answer:
        assert answer.status == 413
        assert (await answer.json())["error"]["code"] == "invalid_body"
    async with client.post(ADDRESS, data=b"x", headers={"Content-Encoding": "gzip"}) as answer:
        assert answer.status == 415
    slow = await house.send(head(9) + b"{")
    assert slow.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"invalid_body"' in slow


async def test_a_store_that_cannot_commit_is_503(house: House, client: aiohttp.ClientSession) -> None:
    house.intake.fault = True
    for stream in (False, True):
        async with client.post(ADDRESS, json=ask(stream=stream)) as answer:
            assert answer.status == 503
            assert "Retry-After" in answer.headers


@pytest.mark.parametrize(("reason", "code"), [("backlog", 429), ("too long", 413), ("closed", 403)])
async def test_what_the_door_refuses_is_said(
    house: House, client: aiohttp.ClientSession, reason: str, code: int
) -> None:
    house.intake.refusal = reason
    async with client.post(ADDRESS, json=ask()) as answer:
        assert answer.status == code


async def test_the_200_comes_after_the_commit(house: House, client: aiohttp.ClientSession) -> None:
    house.intake.gate = asyncio.Event()
    house.intake.think = Gated()
    asking = asyncio.create_task(client.post(ADDRESS, json=ask(stream=True)).__aenter__())
    await house.intake.taking.wait()
    done, _ = await asyncio.wait((asking,), timeout=0.2)
    assert not done
    house.intake.gate.set()
    answer = await asking
    assert answer.status == 200
    answer.close()


# --- streams that stumble -------------------------------------------------------------------------


async def test_a_stream_that_begins_anew_equally_goes_on(house: House, client: aiohttp.ClientSession) -> None:
    async def stumble(event: Event, emit: Emit) -> None:
        for update in (TextDelta("one "), TextReset(), TextDelta("one "), TextDelta("two")):
            emit(update)
        emit(TurnEnded("answered", "one two"))

    house.intake.think = stumble
    async with client.post(ADDRESS, json=ask(stream=True)) as answer:
        assert text_of(await answer.read()) == "one two"


async def test_a_stream_that_begins_anew_differently_ends_with_an_error(
    house: House, client: aiohttp.ClientSession
) -> None:
    async def stumble(event: Event, emit: Emit) -> None:
        for update in (TextDelta("one "), TextReset(), TextDelta("uno ")):
            emit(update)
        await asyncio.Event().wait()

    house.intake.think = stumble
    async with client.post(ADDRESS, json=ask(stream=True)) as answer:
        told = events(await answer.read())
    assert told[-1]["error"]["code"] == "diverged"
    await house.intake.until(lambda: house.intake.turns["t1"].cancelled)


async def test_text_before_a_tool_is_set_apart(house: House, client: aiohttp.ClientSession) -> None:
    async def work(event: Event, emit: Emit) -> None:
        emit(TextDelta("Let me look."))
        emit(ToolStarted("c", "todo", "todo"))
        emit(ToolEnded("c", "todo", ok=True))
        emit(TextDelta("Found it."))
        emit(TurnEnded("answered", "Found it."))

    house.intake.think = work
    async with client.post(ADDRESS, json=ask(stream=True)) as answer:
        assert text_of(await answer.read()) == "Let me look.\n\nFound it."
    async with client.post(ADDRESS, json=ask()) as answer:
        assert (await answer.json())["choices"][0]["message"]["content"] == "Found it."


# --- leaving and coming back ----------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
async def test_without_a_key_for_repeats_a_disconnect_cancels_the_turn(
    house: House, client: aiohttp.ClientSession, stream: bool
) -> None:
    house.intake.think = gated = Gated()
    asking = asyncio.create_task(client.post(ADDRESS, json=ask(stream=stream)).__aenter__())
    await gated.begun.wait()
    if stream:
        (await asking).close()
    else:
        asking.cancel()
    await asyncio.wait_for(house.intake.until(lambda: house.intake.turns["t1"].cancelled), 5)


async def test_a_disconnect_before_the_commit_cancels_the_turn_too(house: House) -> None:
    house.intake.gate = asyncio.Event()
    body = json.dumps(ask()).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", house.port)
    writer.write(head(len(body)) + body)
    await house.intake.taking.wait()
    writer.transport.abort()
    while len(house.server.connections):
        await asyncio.sleep(0.01)
    house.intake.gate.set()
    await asyncio.wait_for(
        house.intake.until(lambda: any(t.cancelled for t in house.intake.turns.values())), 5
    )


IDEMPOTENT = {"Idempotency-Key": "k-1"}


@pytest.mark.parametrize("stream", [False, True])
async def test_with_a_key_a_disconnect_changes_nothing_and_a_repeat_joins(
    house: House, client: aiohttp.ClientSession, stream: bool
) -> None:
    house.intake.think = gated = Gated()
    body = ask(stream=stream)
    asking = asyncio.create_task(client.post(ADDRESS, json=body, headers=IDEMPOTENT).__aenter__())
    await gated.begun.wait()
    if stream:
        (await asking).close()
    else:
        asking.cancel()
    while len(house.server.connections):
        await asyncio.sleep(0.01)
    assert not house.intake.turns["t1"].cancelled
    repeat = asyncio.create_task(client.post(ADDRESS, json=body, headers=IDEMPOTENT).__aenter__())
    if stream:
        answer = await repeat
        gated.go.set()
        assert text_of(await answer.read()) == "begin end"
    else:
        gated.go.set()
        answer = await repeat
        assert (await answer.json())["choices"][0]["message"]["content"] == "begin end"
    assert len(house.intake.events) == 1
    assert not house.intake.events[0].volatile


@pytest.mark.parametrize("stream", [False, True])
async def test_a_late_repeat_gets_the_stored_answer(
    house: House, client: aiohttp.ClientSession, stream: bool
) -> None:
    told = []
    for _ in range(2):
        async with client.post(ADDRESS, json=ask(stream=stream), headers=IDEMPOTENT) as answer:
            raw = await answer.read()
            told.append(text_of(raw) if stream else json.loads(raw)["choices"][0]["message"]["content"])
        # what is left of a turn that is over
        house.intake.turns["t1"].updates[:] = house.intake.turns["t1"].updates[-1:]
        house.clock.jump(3600)
    assert told == ["echo: hi"] * 2
    assert len(house.intake.events) == 1


async def test_the_same_key_with_another_body_is_422(house: House, client: aiohttp.ClientSession) -> None:
    await client.post(ADDRESS, json=ask("one"), headers=IDEMPOTENT)
    async with client.post(ADDRESS, json=ask("two"), headers=IDEMPOTENT) as answer:
        assert answer.status == 422
        assert (await answer.json())["error"]["code"] == "idempotency_key_reused"
    other = IDEMPOTENT | {"X-Hermes-Session": "s"}
    async with client.post(ADDRESS, json=ask("one"), headers=other) as answer:
        assert answer.status == 422
    assert len(house.intake.events) == 1


async def test_a_key_is_forgotten_after_a_day(house: House, client: aiohttp.ClientSession) -> None:
    async def once(text: str) -> int:
        async with client.post(ADDRESS, json=ask(text), headers=IDEMPOTENT) as answer:
            return answer.status

    assert await once("one") == 200
    house.clock.jump(24 * 3600 - 1)
    assert await once("two") == 422
    house.clock.jump(2)
    assert await once("two") == 200
    assert await once("two") == 200
    assert await once("one") == 422
    house.clock.jump(25 * 3600)
    assert await once("three") == 200
    assert [event.text for event in house.intake.events] == ["one", "two", "three"]


async def test_ten_equal_requests_at_once_are_one_turn(house: House, client: aiohttp.ClientSession) -> None:
    async def once() -> str:
        async with client.post(ADDRESS, json=ask(), headers=IDEMPOTENT) as answer:
            content: str = (await answer.json())["choices"][0]["message"]["content"]
            return content

    assert await asyncio.gather(*(once() for _ in range(10))) == ["echo: hi"] * 10
    assert len(house.intake.events) == 1


def test_two_apis_are_a_configuration_error() -> None:
    clock = FakeClock()
    router = web.UrlDispatcher()
    first, second = (build(settings(), context(clock, name)) for name in ("api", "api2"))
    assert isinstance(first, HttpAdapter)
    assert isinstance(second, HttpAdapter)
    first.mount(router, MemoryIntake(clock))
    with pytest.raises(ConfigError, match=r"platforms\.api2: there can be one API only"):
        second.mount(router, MemoryIntake(clock))
