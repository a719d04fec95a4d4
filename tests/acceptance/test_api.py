"""The HTTP API of the installed daemon, with the official client and with clients that go away."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, AuthenticationError, DefaultAsyncHttpxClient

from tests.acceptance.house import API, KEY, House, answer_of
from tests.peers.model.script import ToolCall, calls, says


def _client(house: House, key: str = KEY) -> AsyncOpenAI:
    return AsyncOpenAI(
        api_key=key,
        base_url=f"http://127.0.0.1:{house.port}/v1",
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(trust_env=False, timeout=60),
    )


async def test_the_official_client_streams_and_asks(house: House) -> None:
    await house.start()
    async with _client(house) as client:
        stream = await client.chat.completions.create(
            model="anything",
            messages=[{"role": "user", "content": "a b c d [[every=100]] [[chunks=4]]"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        pieces, usage = [], None
        async for chunk in stream:
            pieces += [c.delta.content for c in chunk.choices if c.delta.content]
            usage = chunk.usage or usage
        assert "".join(pieces) == "echo: a b c d"
        assert len(pieces) > 1
        assert usage is not None
        assert usage.total_tokens > 0
        whole = await client.chat.completions.create(
            model="hermes", messages=[{"role": "user", "content": "whole"}]
        )
        assert whole.choices[0].message.content == "echo: whole"
        assert [m.id for m in (await client.models.list()).data] == ["hermes"]
    async with _client(house, "wrong") as stranger:
        with pytest.raises(AuthenticationError):
            await stranger.models.list()
    await house.stop()


async def test_a_repeat_joins_gets_the_same_and_is_kept_over_a_restart(house: House) -> None:
    await house.start()
    text = "slow [[delay=1500]]"
    first = asyncio.create_task(house.ask(text, idempotency="k1"))
    await house.model_busy()
    joined = await house.ask(text, idempotency="k1")
    assert answer_of(joined) == answer_of(await first) == "echo: slow"
    assert joined.json()["id"] == (await first).json()["id"]
    assert (await house.ask("something else", idempotency="k1")).status_code == 422
    await house.stop()
    await house.start()
    again = await house.ask(text, idempotency="k1")
    assert (answer_of(again), again.json()["id"]) == ("echo: slow", joined.json()["id"])
    streamed = await house.ask(text, idempotency="k1", stream=True)
    said = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: {")]
    assert "".join(c["delta"].get("content", "") for d in said for c in d["choices"]) == "echo: slow"
    assert len(house.model.requests) == 1
    await house.stop()


async def test_named_sessions_keep_their_history_and_nothing_else(house: House) -> None:
    await house.start()
    await house.ask("the first thing", session="desk-1")
    older = [
        {"role": "user", "content": "made up"},
        {"role": "assistant", "content": "made up too"},
        {"role": "user", "content": "the second thing"},
    ]
    await house.ask("", session="desk-1", messages=older)
    seen = str(house.asked())
    assert "the first thing" in seen
    assert "made up" not in seen
    await house.ask("", messages=older)
    one_off = str(house.asked())
    assert "made up too" in one_off
    assert "the first thing" not in one_off
    for bad in ("a b", "a/b", "x" * 129, "telegram:1"):
        assert (await house.ask("x", session=bad)).status_code == 400, bad
    assert (await house.ask("x", session="y" * 128)).status_code == 200
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    refused = await house.ask("x", tools=tools)
    assert refused.status_code == 400
    assert "tools" in refused.json()["error"]["message"]


async def _walk_away(house: House, text: str, headers: dict[str, str], **body: Any) -> None:
    """Ask, and go away once the model is at work."""
    async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=str(house.client.base_url)) as client:
        request = {"model": "hermes", "messages": [{"role": "user", "content": text}], **body}
        asking = asyncio.create_task(
            client.post(API, json=request, headers={"Authorization": f"Bearer {KEY}", **headers})
        )
        await house.model_busy()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_goes_away_takes_its_turn_along_unless_it_named_it(
    house: House, stream: bool
) -> None:
    await house.start()
    await _walk_away(house, "unnamed [[delay=20000]]", {}, stream=stream)
    await house.model_idle(10)
    assert house.model.requests[-1].outcome == "client-gone"

    await _walk_away(house, "named [[delay=1500]]", {"Idempotency-Key": "k2"}, stream=stream)
    answer = await house.ask("named [[delay=1500]]", idempotency="k2", stream=False)
    if answer.status_code == 422:  # the repeat has to be the same request
        pytest.fail(answer.text)
    assert answer_of(answer) == "echo: named"
    assert house.model.requests[-1].outcome == "ok"
    assert len(house.model.requests) == 2


async def test_a_kill_cancels_a_turn_that_nobody_named(house: House) -> None:
    await house.start()
    house.model.script.add(says("never told", first=30))
    asking = asyncio.create_task(house.ask("unnamed"))
    await house.model_busy()
    await house.daemon.kill()
    with pytest.raises(httpx.TransportError):
        await asking
    await house.start()
    assert answer_of(await house.ask("another")) == "echo: another"
    assert house.rows("SELECT state FROM inbox ORDER BY id") == [("stopped",), ("answered",)]
    assert len(house.model.requests) == 2


async def test_a_second_request_of_a_session_gets_its_own_answer_in_every_mode(house: House) -> None:
    script = house.model.script
    script.add(says("to the first", first=1.0), text="first of queue")
    script.add(says("to the first", first=1.0), text="first of collect")
    script.add(calls(ToolCall("todo", {"todos": []}), first=1.0), text="first of steer")
    script.add(says("to both"), text="second of steer")
    script.add(says("never to its end " * 9, chunks=9, every=0.5), text="first of interrupt")
    script.add(says("never to its end " * 9, chunks=9, every=0.5), text="first of streaming")

    async def both(mode: str, **first: Any) -> tuple[httpx.Response, httpx.Response]:
        asking = asyncio.create_task(house.ask(f"first of {mode}", session=mode, **first))
        await house.model_busy()
        second = await house.ask(f"second of {mode}", session=mode)
        return await asking, second

    async def in_mode(mode: str) -> None:
        house.config["platforms"]["api"]["busy"] = mode
        house.write()
        await house.start()

    for mode in ("queue", "collect"):
        await in_mode(mode)
        first, second = await both(mode)
        assert [answer_of(first), answer_of(second)] == ["to the first", f"echo: second of {mode}"]
        await house.stop()
    await in_mode("steer")
    first, second = await both("steer")
    assert [answer_of(first), answer_of(second)] == ["to both", "to both"]
    await house.stop()
    await in_mode("interrupt")
    first, second = await both("interrupt")
    assert (first.status_code, first.headers["x-should-retry"]) == (409, "false")
    assert "A later request" in first.json()["error"]["message"]
    assert "second of interrupt" in answer_of(second)
    first, second = await both("streaming", stream=True)
    assert "A later request" in first.text
    assert "[DONE]" not in first.text
    assert "second of streaming" in answer_of(second)
    await house.stop()
