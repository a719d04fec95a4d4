"""The files of examples/, used as docs/ tells people to use them."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.messages import Message, ToolCall
from hermes.model import ModelRequest
from hermes.testing import Answer, ScriptedModel
from tests.agentrig import SPEC, Rig
from tools.registry import find

DICE = Path(__file__).parents[2] / "examples" / "tools" / "dice.py"


def roll(**arguments: object) -> Answer:
    return Answer(tool_calls=(ToolCall("c1", "roll", arguments),))


def result(request: ModelRequest) -> Message:
    return request.messages[-1]


@pytest.fixture
async def rig(home: Path) -> AsyncIterator[Rig]:
    """An agent with every tool that the home has."""
    found = await asyncio.to_thread(find, home / "tools")
    rig = await Rig(home, ScriptedModel(), list(found.tools.values())).start()
    yield rig
    await rig.stop()


def script_of(rig: Rig, *answers: Answer) -> ScriptedModel:
    assert isinstance(rig.model, ScriptedModel)
    rig.model.script.extend(answers)
    return rig.model


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    shutil.copy(DICE, tmp_path / "tools")
    return tmp_path


def test_a_file_in_the_home_is_a_tool(home: Path) -> None:
    found = find(home / "tools")
    assert found.warnings == ()
    assert found.tools["roll"].toolset == "games"


async def test_the_agent_rolls_dice(rig: Rig) -> None:
    model = script_of(rig, roll(count="3", sides=6), Answer("done"), roll(), Answer("done"))
    agent = await rig.host.open(SPEC)
    await rig.say(agent, "roll three dice")
    await rig.say(agent, "once more")
    assert "roll" in {tool.name for tool in model.requests[0].tools}
    first, second = (result(model.requests[n]) for n in (1, 3))
    numbers, _, total = first.text.partition(" (")[0].partition(" = ")
    assert len(numbers.split(" + ")) == 3  # the text "3" was made a number
    assert sum(map(int, numbers.split(" + "))) == int(total)
    assert "(roll 1 of this conversation)" in first.text
    assert "(roll 2 of this conversation)" in second.text


@pytest.mark.parametrize(
    ("arguments", "words"), [({"count": 500}, "At most 100"), ({"sides": 1}, "sides"), ({"x": 1}, "x")]
)
async def test_what_the_dice_cannot_do_is_told_to_the_model(
    rig: Rig, arguments: dict[str, object], words: str
) -> None:
    model = script_of(rig, roll(**arguments), Answer("done"))
    outcome = await rig.say(await rig.host.open(SPEC), "roll")
    assert words in result(model.requests[1]).text
    assert "conversation)" not in result(model.requests[1]).text
    assert outcome.text == "done"
