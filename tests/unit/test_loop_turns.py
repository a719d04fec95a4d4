"""Turns from the first message to the stored answer, on a real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.store import transcript
from hermes.agent import TextDelta, ToolEnded, ToolStarted
from hermes.testing import Answer, ScriptedModel
from tests.agentrig import IO, SPEC, Rig, Spy, assert_legal, call, texts


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = await Rig(tmp_path, ScriptedModel()).start()
    yield rig
    await rig.stop()


@pytest.fixture
def model(rig: Rig) -> ScriptedModel:
    assert isinstance(rig.model, ScriptedModel)
    return rig.model


async def test_a_text_turn_is_answered_stored_and_remembered(rig: Rig, model: ScriptedModel) -> None:
    agent = await rig.host.open(SPEC)
    io = IO()
    outcome = await rig.say(agent, "hello", io)
    assert (outcome.state, outcome.text, outcome.model_calls) == ("answered", "echo: hello", 1)
    assert io.updates == [TextDelta("echo: hello")]
    await rig.say(agent, "again")
    assert texts(model.requests[1].messages) == [
        ("user", "hello"),
        ("assistant", "echo: hello"),
        ("user", "again"),
    ]
    stored = await transcript.history(rig.store, agent.session_id)
    assert [m.text for m in stored] == ["hello", "echo: hello", "again", "echo: again"]
    assert rig.behind.noted == [agent.session_id] * 2


async def test_one_tool_is_called_and_every_step_is_stored(rig: Rig, model: ScriptedModel) -> None:
    spy = Spy()
    rig.tools.append(spy.tool())
    rig.host = type(rig.host)(rig.parts())
    model.script = [Answer("let me see", (call("act", {"x": 1}),)), Answer("all done")]
    agent = await rig.host.open(SPEC)
    io = IO()
    request = rig.request("go")
    outcome = await rig.say(agent, "", io, request)
    assert spy.calls == [{"x": "1"}]
    assert outcome.text == "all done"
    assert io.updates[1:3] == [ToolStarted("c1", "act", "1"), ToolEnded("c1", "act", ok=True)]
    assert io.steps == 2
    kinds = [s.kind for s in await transcript.steps(rig.store, request.turn_id)]
    assert kinds == ["input", "answer", "began", "result"]
    assert_legal(model.requests[1])
    stored = await transcript.history(rig.store, agent.session_id)
    assert [m.role for m in stored] == ["user", "assistant", "tool", "assistant"]
