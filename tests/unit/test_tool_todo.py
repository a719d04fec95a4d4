"""The list of things to do, and the search over past conversations."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hermes.errors import StoreUnavailable, ToolError
from hermes.services import SearchHit, Services
from hermes.testing import Answer, ScriptedModel
from hermes.tools import ToolContext
from tests.agentrig import SPEC, Rig, call
from tools.session_search import session_search
from tools.todo import TOOLS, todo


def context(services: Services | None = None) -> ToolContext:
    return ToolContext(
        "s", "k", "main", "telegram", "listed", "c", Path("/"), services or Services(Path("/x"))
    )


async def test_the_list_is_written_updated_and_shown() -> None:
    here = context()
    assert (await todo({}, here)).text == "The list is empty."
    await todo({"items": [{"text": "buy  milk"}, {"text": "cook", "state": "doing"}]}, here)
    shown = await todo(
        {"items": [{"text": "buy milk", "state": "done"}, {"text": "eat"}], "merge": True}, here
    )
    assert shown.text == "1 of 3 done\n[x] buy milk\n[>] cook\n[ ] eat"
    assert (await todo({"items": []}, here)).text == "The list is empty."


async def test_the_list_is_bounded() -> None:
    with pytest.raises(ToolError, match="at most 100"):
        await todo({"items": [{"text": str(n)} for n in range(101)]}, context())
    with pytest.raises(ToolError, match="1 to 500"):
        await todo({"items": [{"text": "x" * 501}]}, context())


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = await Rig(tmp_path, ScriptedModel(), list(TOOLS)).start()
    yield rig
    await rig.stop()


async def test_the_list_outlives_a_restart(rig: Rig) -> None:
    model = rig.model
    assert isinstance(model, ScriptedModel)
    model.script = [Answer("", (call("todo", {"items": '[{"text": "buy milk"}]'}),)), Answer("noted")]
    await rig.say(await rig.host.open(SPEC), "milk")
    await rig.restart()
    model.script = [Answer("", (call("todo"),)), Answer("that is it")]
    await rig.say(await rig.host.open(SPEC), "what is left?")
    assert model.requests[-1].messages[-1].text == "0 of 1 done\n[ ] buy milk"


@dataclass
class Search:
    hits: Sequence[SearchHit] = ()
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    broken: bool = False

    async def search(self, query: str, *, session_key: str, limit: int = 10) -> Sequence[SearchHit]:
        self.asked.append((query, session_key, limit))
        if self.broken:
            raise StoreUnavailable("The disk is full.")
        return self.hits


async def test_S3_hits_are_listed_with_their_conversation() -> None:
    search = Search([SearchHit("s1", "Trip", "user", 0.0, "to  the\nsea")])
    result = await session_search({"query": "sea"}, context(Services(Path("/x"), search=search)))
    assert result.text == "- 1970-01-01 user in Trip (s1): to the sea"
    assert result.untrusted
    assert search.asked == [("sea", "k", 10)]


async def test_S3_a_search_that_cannot_work_says_why() -> None:
    with pytest.raises(ToolError, match="no search"):
        await session_search({"query": "x"}, context())
    with pytest.raises(ToolError, match="disk is full"):
        await session_search({"query": "x"}, context(Services(Path("/x"), search=Search(broken=True))))
