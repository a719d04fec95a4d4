"""Answers that people may pick: under the last words as buttons, elsewhere as a list."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes.adapter import Capabilities, Piece
from hermes.agent import TurnEnded
from hermes.events import PRESSED_TWICE
from hermes.messages import ToolCall
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import message, rig

_PRESS: dict[str, Any] = {
    "command_text": False,
    "replay_key": "70:5:Yes",
    "replay_window": PRESSED_TWICE,
    "replay_open": True,
}


def offering(*labels: str) -> Answer:
    """An answer that calls `offer_choices`."""
    return Answer(tool_calls=(ToolCall("c", "offer_choices", {"choices": list(labels)}, "{}"),))


class Plain(FakeAdapter):
    """A platform without buttons."""

    render_choices: Any = None

    def __getattribute__(self, name: str) -> Any:
        if name == "render_choices":
            raise AttributeError(name)
        return super().__getattribute__(name)


def choices_of(pieces: Sequence[Piece]) -> list[list[str]]:
    return [p.format.get("choices", []) for p in pieces]


async def test_the_choices_stand_under_the_last_words_and_those_offered_last_hold(tmp_path: Path) -> None:
    model = ScriptedModel(
        [offering("a"), offering("Yes", "No"), Answer("Shall I? " * 30), Answer("all right")]
    )
    adapter = FakeAdapter(limit=200)
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("ask me")
        await g.answered(2)
        await g.quiet()
        assert choices_of(adapter.pieces) == [[], ["Yes", "No"]]
        await g.send("Yes", command_text=False)
        assert (await g.answered(3))[2] == "all right"
        await g.quiet()
        assert choices_of(adapter.pieces)[2] == []


async def test_without_buttons_they_are_a_list_at_the_end(tmp_path: Path) -> None:
    model = ScriptedModel([offering("Yes", "No"), Answer("Shall I?")])
    async with rig(tmp_path / "home", model=model, adapter=Plain()) as g:
        await g.send("ask me")
        assert await g.answered(1) == ["Shall I?\n\n1. Yes\n2. No"]


async def test_choices_without_a_word_are_a_list_for_want_of_a_message(tmp_path: Path) -> None:
    model = ScriptedModel([offering("Yes", "No"), Answer("")])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("ask me")
        assert await g.answered(1) == ["1. Yes\n2. No"]


async def test_choices_without_a_word_are_what_the_agent_said(tmp_path: Path) -> None:
    model = ScriptedModel([offering("Yes", "No"), Answer("")])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("ask me")
        await g.send("Yes")
        await g.answered(2)
        await g.quiet()
        assert [m.text for m in g.model.requests[-1].messages][-2:] == ["1. Yes\n2. No", "Yes"]
    async with rig(tmp_path / "home") as g:
        await g.send("and then?")
        await g.answered(1)
        told = [m.text for m in g.model.requests[-1].messages if m.role == "assistant"]
        assert told[-2:] == ["1. Yes\n2. No", "echo: Yes"]


async def test_who_asks_by_the_api_gets_the_list(tmp_path: Path) -> None:
    model = ScriptedModel([offering("Yes", "No"), Answer("Shall I?")])
    async with rig(tmp_path / "home", model=model) as g:
        verdict = await g.deliver(message("ask me", kind="api", reply_to=(), session="s"))
        assert verdict.ticket is not None
        ended = await g.ended(verdict.ticket)
        assert isinstance(ended, TurnEnded)
        assert ended.text == "Shall I?\n\n1. Yes\n2. No"


async def test_a_turn_that_goes_on_after_a_kill_offers_them_still(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([offering("Yes", "No"), Answer("never", gate=gate)])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("ask me")
        async with asyncio.timeout(10):
            while len(model.requests) < 2:
                await asyncio.sleep(0.001)
    adapter = FakeAdapter()
    async with rig(tmp_path / "home", model=ScriptedModel([Answer("Shall I?")]), adapter=adapter) as g:
        assert await g.answered(1) == ["Shall I?"]
        assert choices_of(adapter.pieces) == [["Yes", "No"]]


async def test_an_answer_that_grew_gets_its_buttons_with_its_last_edit(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([offering("Yes", "No"), Answer("Shall I do it now?", chunks=4, gate=gate)])
    adapter = FakeAdapter(capabilities=Capabilities(edits=True, edit_every=0.01))
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("ask me")
        gate.set()
        await g.answered(1)
        await g.quiet()
        rows = await g.rows("SELECT json_extract(format, '$.choices') FROM outbox WHERE kind = 'reply'")
        assert rows == [('["Yes","No"]',)]
        assert len(adapter.screen) == 1


@pytest.mark.parametrize("labels", [[], ["x" * 61], [" "], ["a", " a"], [str(n) for n in range(9)]])
async def test_what_cannot_be_buttons_is_told_to_the_model(tmp_path: Path, labels: list[str]) -> None:
    model = ScriptedModel([offering(*labels), Answer("Shall I?")])
    adapter = FakeAdapter()
    async with rig(tmp_path / "home", model=model, adapter=adapter) as g:
        await g.send("ask me")
        assert await g.answered(1) == ["Shall I?"]
        assert choices_of(adapter.pieces) == [[]]
        assert model.requests[1].messages[-1].text.startswith("Error")


async def test_a_double_tap_is_one_message_and_a_press_after_a_failure_is_a_new_one(tmp_path: Path) -> None:
    model = ScriptedModel([Answer(""), Answer(""), Answer("this time"), Answer("once more")])
    async with rig(tmp_path / "home", model=model) as g:
        assert [(await g.send("Yes", **_PRESS)).kind for _ in range(3)] == [
            "accepted",
            "duplicate",
            "duplicate",
        ]
        await g.answered(1)
        await g.quiet()
        assert await g.rows("SELECT state FROM inbox") == [("failed",)]
        await g.core.store.write(_earlier)
        assert (await g.send("Yes", **_PRESS)).kind == "accepted"
        assert (await g.answered(2))[1] == "this time"
        await g.quiet()
        await g.core.store.write(_earlier)
        assert (await g.send("Yes", **_PRESS)).kind == "accepted"  # as a word that is typed once more
        assert (await g.answered(3))[2] == "once more"


async def test_a_press_is_one_message_for_as_long_as_it_is_not_answered(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Answer("at last", gate=gate)])
    async with rig(tmp_path / "home", model=model) as g:
        await g.send("Yes", **_PRESS)
        await g.core.store.write(_earlier)
        assert (await g.send("Yes", **_PRESS)).kind == "duplicate"
        gate.set()
        assert await g.answered(1) == ["at last"]


def _earlier(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE inbox SET received_at = received_at - ?", (PRESSED_TWICE + 1,))
