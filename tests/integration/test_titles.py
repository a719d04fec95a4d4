"""Titles of the auxiliary model, behind the answers of a gateway, from a server that speaks chat completions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from tests.gatewayrig import OPEN, Rig, rig
from tests.peers.model import Answer, ModelPeer, fails, says

FIRST = "where can I stay in Rome in May, near the river, for a week?"


@asynccontextmanager
async def gateway(
    home: Path, peer: ModelPeer, auxiliary: str = "{title: custom/peer-small}"
) -> AsyncIterator[Rig]:
    llm = (
        f"{{provider: custom, model: peer-model, custom: {{base_url: '{peer.url}'}}, auxiliary: {auxiliary}}}"
    )
    async with rig(home / "home", config=f"{OPEN}\nllm: {llm}\n", as_configured=True) as g:
        yield g


async def titles(g: Rig) -> list[tuple[Any, ...]]:
    """Titles and who gave them, once nothing is under way."""
    async with asyncio.timeout(10):
        await g.quiet()
        await g.core.thinking.titles.wait_idle()
    return await g.rows("SELECT title, titled FROM sessions ORDER BY started_at, id")


def asked(peer: ModelPeer) -> list[str]:
    return [str(r.model) for r in peer.requests]


async def test_a_conversation_gets_its_title_once_and_its_call_is_in_the_figures(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    model_peer.script.add(says('"A week in Rome."'), model="peer-small")
    async with gateway(tmp_path, model_peer) as g:
        await g.send(FIRST)
        await g.answered(1)
        assert await titles(g) == [("A week in Rome", "model")]
        await g.send("/title")
        assert "A week in Rome" in (await g.answered(2))[-1]
        body = next(r.body for r in model_peer.requests if r.model == "peer-small")
        assert body is not None
        assert "tools" not in body
        assert FIRST in body["messages"][-1]["content"]
        assert f"assistant: echo: {FIRST}" in body["messages"][-1]["content"]
        await g.send("and with a dog?")
        await g.answered(3)
        await titles(g)
        assert asked(model_peer).count("peer-small") == 1
        figures = "SELECT task, model, person, turn_id IS NULL, prompt > 0 FROM calls ORDER BY id"
        turn = ("turn", "custom/peer-model", "telegram:5", 0, 1)
        assert await g.rows(figures) == [turn, ("title", "custom/peer-small", "telegram:5", 1, 1), turn]
        model_peer.script.add(says("A week in Rome"), model="peer-small")
        await g.send(FIRST, "6")
        await g.answered(4)
        assert ("A week in Rome #2", "model") in await titles(g)
        await g.core.thinking.behind.wait_written()
    index = next((tmp_path / "home").glob("agents/*/sessions/sessions.json")).read_text()
    assert "A week in Rome #2" in index


async def test_without_an_auxiliary_model_nobody_is_asked_and_it_may_be_set_up_later(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    async with gateway(tmp_path, model_peer, "{summary: custom/peer-small}") as g:
        await g.send("hello")
        await g.answered(1)
        assert await titles(g) == [("hello", "words")]
    assert asked(model_peer) == ["peer-model"]
    model_peer.script.add(says("Greeting"), model="peer-small")
    async with gateway(tmp_path, model_peer) as g:
        await g.send("again")
        await g.answered(1)
        assert await titles(g) == [("Greeting", "model")]
        body = model_peer.requests[-1].body
        assert body is not None
        assert "user: hello" in body["messages"][-1]["content"]  # how it began, not where it is


async def test_a_title_of_a_person_stays_also_when_it_came_while_the_model_thought(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    model_peer.script.add(Answer("Late", first=0.5), model="peer-small")
    async with gateway(tmp_path, model_peer) as g:
        await g.send(FIRST)
        await g.answered(1)
        await model_peer.wait_for(lambda: "peer-small" in asked(model_peer))
        await g.send("/title Mine")
        await g.answered(2)
        assert await titles(g) == [("Mine", "person")]
        assert await g.rows("SELECT count(*) FROM calls WHERE task = 'title'") == [(1,)]


@pytest.mark.parametrize("answer", [fails(500), says("  ***  ")])
async def test_a_failing_model_costs_a_line_in_the_log_and_the_main_one_stands_in(
    tmp_path: Path, model_peer: ModelPeer, answer: Answer
) -> None:
    model_peer.script.add(answer, model="peer-small")
    model_peer.script.add(fails(500), text="<untrusted-input", model="peer-model")
    with structlog.testing.capture_logs() as logs:
        async with gateway(tmp_path, model_peer) as g:
            await g.send("hello")
            assert await g.answered(1) == ["echo: hello"]
            assert await titles(g) == [("hello", "words")]
            await g.send("more")  # no second try in this process
            await g.answered(2)
            await titles(g)
    failed = answer.status != 200
    assert asked(model_peer) == [
        "peer-model",
        "peer-small",
        *(["peer-model"] if failed else []),
        "peer-model",
    ]
    told = [entry["event"] for entry in logs if entry["event"].startswith(("title.", "model."))]
    assert told == (["model.auxiliary_failed", "title.not_made"] if failed else ["title.empty"])


async def test_the_main_model_names_it_where_the_auxiliary_one_does_not(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    model_peer.script.add(fails(401), model="peer-small")
    model_peer.script.add(says("By the main one"), text="<untrusted-input")
    async with gateway(tmp_path, model_peer) as g:
        await g.send("hello")
        await g.answered(1)
        assert await titles(g) == [("By the main one", "model")]
        assert await g.rows("SELECT model FROM calls WHERE task = 'title'") == [("custom/peer-model",)]


async def test_the_end_does_not_wait_for_a_model_that_hangs(tmp_path: Path, model_peer: ModelPeer) -> None:
    model_peer.script.add(Answer("never told", hang="headers"), model="peer-small", times=9)
    async with gateway(tmp_path, model_peer) as g:
        for chat in ("5", "6", "7"):
            await g.send("hello", chat)
        await g.answered(3)
        await g.quiet()
        await model_peer.wait_for(lambda: "peer-small" in asked(model_peer))
        async with asyncio.timeout(5):
            await g.core.thinking.titles.aclose(0.1)
        await g.send("hello", "8")  # a turn that ends meanwhile
        await g.answered(4)
        assert {by for _, by in await titles(g)} == {"words"}
        assert asked(model_peer).count("peer-small") == 1  # one at a time, and none after the end
    model_peer.script.clear()
    model_peer.script.add(says("Named after all"), model="peer-small")
    async with gateway(tmp_path, model_peer) as g:
        await g.send("again")
        await g.answered(1)
        assert ("Named after all", "model") in await titles(g)
