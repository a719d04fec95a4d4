"""The promise of `hermes.agent`, kept by `Host` and its agents on a real store."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.history import UNANSWERED
from agent_core.store import sessions, transcript
from hermes.agent import Agent, AgentHost, SessionSpec, TurnInput, TurnOutcome
from hermes.messages import JSONObject, Message
from hermes.testing import Answer, ScriptedModel
from hermes.tools import Tool, ToolContext
from tests.agentrig import IO, SPEC, Rig, Spy, call, texts

GROUP = SessionSpec("agent:main:1:telegram:group:-5", "main", "telegram", "telegram", "group", "-5")
OTHER = replace(SPEC, key="agent:main:1:telegram:direct:8", chat="8")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = await Rig(tmp_path, ScriptedModel()).start()
    yield rig
    await rig.stop()


def model_of(rig: Rig) -> ScriptedModel:
    assert isinstance(rig.model, ScriptedModel)
    return rig.model


async def starts(rig: Rig, turn_id: str) -> int:
    [row] = await rig.store.read("SELECT starts FROM turns WHERE id = ?", (turn_id,))
    count: int = row[0]
    return count


async def test_the_protocols_are_kept(rig: Rig) -> None:
    host: AgentHost = rig.host
    agent: Agent = await host.open(SPEC)
    assert agent.session_id


async def test_a_turn_is_open_from_begin_to_close(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    request = rig.request("hello")
    assert await rig.host.unfinished() == []
    await rig.store.write(agent.begin(request))
    [found] = await rig.host.unfinished()
    assert (found.turn_id, found.session_key, found.starts) == (request.turn_id, SPEC.key, 1)
    outcome = await agent.run(request, IO())
    assert len(await rig.host.unfinished()) == 1
    await rig.store.write(agent.close(request, outcome, outcome.text))
    assert await rig.host.unfinished() == []


async def test_closing_twice_answers_once(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    request = rig.request("hello")
    await rig.say(agent, "", request=request)
    with pytest.raises(LookupError):
        await rig.store.write(agent.close(request, TurnOutcome("answered", "again"), "again"))
    assert len(await transcript.history(rig.store, agent.session_id)) == 2


async def test_a_resumed_turn_counts_its_starts_and_reads_its_inputs_from_disk(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    request = rig.request("hello")
    await rig.store.write(agent.begin(request))
    await rig.restart()
    again = replace(request, inputs=(), resumed=True)
    agent = await rig.host.open(SPEC)
    await rig.store.write(agent.begin(again))
    assert await starts(rig, request.turn_id) == 2
    outcome = await agent.run(again, IO())
    assert outcome.text == "echo: hello"
    await rig.store.write(agent.close(again, outcome, outcome.text))
    agent.settled(again, outcome, outcome.text)
    [info] = await rig.host.sessions(SPEC.key)
    assert (info.title, info.messages) == ("hello", 2)


async def test_D3_a_call_that_merely_begins_does_not_reset_the_start_count(rig: Rig) -> None:
    """Else a call that may run again and kills the process each time would do so for ever."""
    model = model_of(rig)

    async def dies(arguments: JSONObject, context: ToolContext) -> str:
        raise asyncio.CancelledError

    rig.tools[:] = [Tool("dies", "Dies.", {"type": "object"}, dies, idempotent=True)]
    await rig.restart()
    model.script = [Answer("", (call("dies"),))]
    agent = await rig.host.open(SPEC)
    request = rig.request("go")
    await rig.store.write(agent.begin(request))
    with pytest.raises(asyncio.CancelledError):
        await agent.run(request, IO())
    assert await starts(rig, request.turn_id) == 0  # the answer was a step
    again = replace(request, inputs=(), resumed=True)
    for expected in (1, 2, 3):
        agent = await rig.host.open(SPEC)
        await rig.store.write(agent.begin(again))
        io = IO()
        with pytest.raises(asyncio.CancelledError):
            await agent.run(again, io)
        assert (await starts(rig, request.turn_id), io.steps) == (expected, 0)


async def test_D3_calls_that_had_not_begun_are_run_after_a_restart(rig: Rig) -> None:
    model = model_of(rig)

    async def dies(arguments: JSONObject, context: ToolContext) -> str:
        raise asyncio.CancelledError

    spy = Spy()
    rig.tools[:] = [Tool("dies", "Dies.", {"type": "object"}, dies), spy.tool()]
    await rig.restart()
    model.script = [Answer("", (call("dies", id="a"), call("act", id="b")))]
    agent = await rig.host.open(SPEC)
    request = rig.request("go")
    await rig.store.write(agent.begin(request))
    with pytest.raises(asyncio.CancelledError):
        await agent.run(request, IO())
    assert spy.calls == []
    await rig.restart()
    agent = await rig.host.open(SPEC)
    again = replace(request, inputs=(), resumed=True)
    outcome = await rig.say(agent, "", request=again)
    assert (outcome.state, len(spy.calls)) == ("answered", 1)
    told = [m.text for m in model.requests[-1].messages if m.role == "tool"]
    assert told[0].startswith("[interrupted")
    assert told[1] == "done"


async def test_an_aborted_turn_keeps_what_was_said(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    await rig.say(agent, "first")
    request = rig.request("kills the process")
    await rig.store.write(agent.begin(request))
    await rig.store.write(rig.host.abort(request.turn_id, "dead", "I put it aside."))
    assert await rig.host.unfinished() == []
    await rig.say(agent, "next")
    assert texts(model_of(rig).requests[-1].messages)[2:] == [
        ("user", "kills the process"),
        ("assistant", UNANSWERED),
        ("user", "next"),
    ]
    stored = await transcript.history(rig.store, agent.session_id)
    assert texts(stored)[2:4] == [("user", "kills the process"), ("assistant", "I put it aside.")]


async def test_a_turn_that_never_ran_is_closed_from_its_steps(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    request = rig.request("hello")
    await rig.store.write(agent.begin(request))
    await rig.restart()
    agent = await rig.host.open(SPEC)
    stopped = TurnOutcome("stopped")
    again = replace(request, inputs=(), resumed=True)
    await rig.store.write(agent.close(again, stopped, "Stopped."))
    agent.settled(again, stopped, "Stopped.")
    await rig.say(agent, "next")
    assert texts(model_of(rig).requests[0].messages) == [
        ("user", "hello"),
        ("assistant", UNANSWERED),
        ("user", "next"),
    ]


async def test_redo_takes_the_last_turn_out_in_the_same_transaction(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    await rig.say(agent, "one")
    await rig.say(agent, "two")
    assert await rig.host.last_input(SPEC.key) == TurnInput("two", "")
    await rig.say(agent, "", request=rig.request("two", redo=True))
    assert texts(model_of(rig).requests[-1].messages) == [
        ("user", "one"),
        ("assistant", "echo: one"),
        ("user", "two"),
    ]
    stored = await transcript.history(rig.store, agent.session_id)
    assert [m.text for m in stored if m.role == "user"] == ["one", "two"]


async def test_undo_is_seen_by_a_live_agent(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    await rig.say(agent, "one")
    await rig.say(agent, "two")
    assert await rig.store.write(rig.host.undo(SPEC.key)) == ["two"]
    await rig.say(agent, "three")
    assert [m.text for m in model_of(rig).requests[-1].messages if m.role == "user"] == ["one", "three"]
    [row] = await rig.store.read("SELECT count(*) FROM messages WHERE hidden = 1")
    assert row[0] == 2
    assert await rig.host.last_input(SPEC.key) == TurnInput("three", "")


async def test_nothing_to_undo_is_none(rig: Rig) -> None:
    assert await rig.store.write(rig.host.undo(SPEC.key)) == [None]
    assert await rig.host.last_input(SPEC.key) is None


async def test_reset_starts_afresh_and_resume_goes_back(rig: Rig) -> None:
    first = await rig.host.open(SPEC)
    await rig.say(first, "one")
    await rig.store.write(rig.host.reset(SPEC.key))
    second = await rig.host.open(SPEC)
    assert second.session_id != first.session_id
    await rig.say(second, "two")
    assert len(model_of(rig).requests[-1].messages) == 1
    await rig.store.write(rig.host.resume(SPEC.key, first.session_id))
    third = await rig.host.open(SPEC)
    assert third.session_id == first.session_id
    await rig.say(third, "three")
    assert [m.text for m in model_of(rig).requests[-1].messages if m.role == "user"] == ["one", "three"]
    other = await rig.host.open(OTHER)
    await rig.say(other, "elsewhere")
    with pytest.raises(LookupError):
        await rig.store.write(rig.host.resume(SPEC.key, other.session_id))


async def test_titles_come_from_the_first_words_and_are_unique(rig: Rig) -> None:
    one, two = await rig.host.open(SPEC), await rig.host.open(OTHER)
    text = "please  tell me\neverything about the history of the city of Rome and its people"
    await rig.say(one, text)
    await rig.say(two, text)
    await rig.say(two, "something else")
    titles = {i.key: i.title for i in await rig.host.sessions()}
    assert titles[SPEC.key] == "please tell me everything about the history of the city of\u2026"
    assert titles[OTHER.key] == f"{titles[SPEC.key]} ({two.session_id[-6:]})"
    assert await rig.store.write(rig.host.retitle(SPEC.key, "Rome")) == ["Rome"]
    assert await rig.store.write(rig.host.retitle(OTHER.key, "Rome")) == ["Rome #2"]


async def test_usage_is_summed_over_calls_and_turns(rig: Rig) -> None:
    model = model_of(rig)
    spy = Spy()
    rig.tools[:] = [spy.tool()]
    await rig.restart()
    agent = await rig.host.open(SPEC)
    model.script = [Answer("", (call("act"),)), Answer("ok")]
    await rig.say(agent, "one")
    await rig.say(agent, "two")
    used = await rig.host.usage(SPEC.key)
    assert {name: used[name] for name in ("turns", "calls", "prompt", "completion")} == {
        "turns": 2,
        "calls": 3,
        "prompt": 30,
        "completion": 6,
    }
    await rig.say(await rig.host.open(OTHER), "x")
    assert (await rig.host.usage(None))["calls"] == 4


async def test_usage_and_budget_hold_over_a_restart(rig: Rig) -> None:
    model = model_of(rig)

    async def dies(arguments: JSONObject, context: ToolContext) -> str:
        raise asyncio.CancelledError

    rig.tools[:] = [Tool("dies", "Dies.", {"type": "object"}, dies)]
    await rig.restart()
    model.script = [Answer("", (call("dies"),))]
    agent = await rig.host.open(SPEC)
    request = rig.request("go")
    await rig.store.write(agent.begin(request))
    with pytest.raises(asyncio.CancelledError):
        await agent.run(request, IO())
    await rig.restart()
    agent = await rig.host.open(SPEC)
    outcome = await rig.say(agent, "", request=replace(request, inputs=(), resumed=True))
    assert (outcome.model_calls, outcome.usage.prompt) == (2, 20)


async def test_a_history_that_is_given_starts_a_new_session_only(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)
    given = (Message("user", "before"), Message("assistant", "yes"))
    for text in ("first", "second"):
        item = TurnInput(text, "api", history=given)
        await rig.say(agent, "", request=replace(rig.request(""), inputs=(item,)))
    asked = [m.text for m in model_of(rig).requests[-1].messages if m.role == "user"]
    assert asked == ["before", "first", "second"]
    assert len(await transcript.history(rig.store, agent.session_id)) == 6


async def test_people_in_a_group_are_told_apart(rig: Rig) -> None:
    agent = await rig.host.open(GROUP)
    inputs = (TurnInput("hello", "1", "Ana"), TurnInput("bye", "2", "Bob] \n[Ana", quoted="what?\nwho?"))
    await rig.say(agent, "", request=replace(rig.request("", GROUP), inputs=inputs))
    [message] = model_of(rig).requests[0].messages
    assert message.text == "[Ana] hello\n\n[Bob Ana] > what?\n> who?\n\nbye"
    [info] = await rig.host.sessions(GROUP.key)
    assert info.title == "hello bye"


async def test_a_begin_that_was_rolled_back_leaves_nothing(rig: Rig) -> None:
    agent = await rig.host.open(SPEC)

    def fails(connection: sqlite3.Connection) -> None:
        raise sqlite3.IntegrityError("taken")

    with pytest.raises(sqlite3.IntegrityError):
        await rig.store.write(agent.begin(rig.request("lost")), fails)
    assert await sessions.current_session(rig.store, SPEC.key) is None
    assert (await rig.say(agent, "kept")).text == "echo: kept"
    assert len(model_of(rig).requests[0].messages) == 1


async def test_the_model_s_name_is_told(rig: Rig) -> None:
    assert rig.host.model_name() == rig.host.model_name(SPEC.key) == "custom/m"
