"""The bundled tools under a real agent and a real store."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.host import Host
from agent_core.models.estimate import TokenEstimate
from hermes.testing import Answer, ScriptedModel
from tests.agentrig import SPEC, Rig, assert_legal, call
from tools.registry import find
from tools.toolsets import ToolSelection


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = await Rig(tmp_path, ScriptedModel()).start()
    parts = rig.parts()
    found = await asyncio.to_thread(find)
    rig.host = Host(replace(parts, toolbox=ToolSelection(found.tools, parts.settings)))
    yield rig
    await rig.stop()


async def test_a_file_is_written_read_found_and_listed(rig: Rig) -> None:
    model = rig.model
    assert isinstance(model, ScriptedModel)
    model.script = [
        Answer("", (call("write_file", {"path": "notes/a.md", "content": "milk\neggs"}, "w"),)),
        Answer(
            "",
            (
                call("read_file", {"path": "notes/a.md", "limit": "1"}, "r"),
                call("search_files", {"pattern": "egg"}, "s"),
                call("todo", {"items": [{"text": "shop"}]}, "t"),
            ),
        ),
        Answer("done"),
    ]
    outcome = await rig.say(await rig.host.open(SPEC), "note milk and eggs")
    assert outcome.text == "done"
    assert (rig.home / "workspace/notes/a.md").read_text() == "milk\neggs"
    assert_legal(model.requests[-1])
    told = {m.tool_call_id: m.text for m in model.requests[-1].messages if m.role == "tool"}
    assert told["w"] == "Wrote notes/a.md (9 bytes)."
    assert "1|milk\n[more follows: go on with offset 2]" in told["r"]
    assert "notes/a.md:2: eggs" in told["s"]
    assert told["s"].startswith('<untrusted-output source="search_files">')
    assert told["t"] == "0 of 1 done\n[ ] shop"


async def test_a_webhook_cannot_write(rig: Rig) -> None:
    model = rig.model
    assert isinstance(model, ScriptedModel)
    hook = replace(SPEC, key="agent:main:1:webhook:hook:x", platform="webhook", kind="hook")
    asked = call("write_file", {"path": "a", "content": "x"})
    model.script = [Answer("", (asked,)), Answer("I cannot")]
    agent = await rig.host.open(hook)
    request = replace(rig.request("write", hook), admission="signed")
    await rig.say(agent, "", request=request)
    assert "There is no tool 'write_file' here." in model.requests[-1].messages[-1].text
    assert not (rig.home / "workspace/a").exists()


async def test_the_fixed_prompt_of_hi_with_every_tool_is_small(rig: Rig) -> None:
    model = rig.model
    assert isinstance(model, ScriptedModel)
    await rig.say(await rig.host.open(SPEC), "hi")
    [request] = model.requests
    assert len(request.tools) == 8
    assert TokenEstimate().request(request) <= 5000
