"""Finding tools, and choosing those of a turn."""

from pathlib import Path

import pytest

from hermes.config import Section
from hermes.errors import ConfigError
from hermes.events import Admission
from tests.agentrig import Settings
from tools.registry import find
from tools.settings import ToolsSettings
from tools.toolsets import BUNDLED, ToolSelection, Toolset, expand

GOOD = """
from hermes.tools import Tool, ToolContext, ToolResult

async def roll(arguments, context: ToolContext) -> ToolResult:
    return ToolResult("4")

SCHEMA = {"type": "object", "properties": {}}
TOOLS = (Tool(name="roll", description="Roll.", parameters=SCHEMA, handler=roll),)
"""


def test_U1_the_bundled_tools_are_found() -> None:
    found = find()
    names = [
        "offer_choices",
        "read_file",
        "search_files",
        "send_file",
        "send_message",
        "session_search",
        "todo",
        "write_file",
    ]
    assert sorted(found.tools) == names
    assert found.warnings == ()


def test_U1_a_user_s_tool_is_found_and_a_broken_one_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(GOOD)
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "leaves.py").write_text("import sys; sys.exit(3)")
    (tmp_path / "odd.py").write_text("TOOLS = 5")
    (tmp_path / "taken.py").write_text(GOOD.replace('"roll"', '"todo"'))
    (tmp_path / "misnamed.py").write_text(GOOD.replace('"roll"', '"two words"'))
    (tmp_path / "schemaless.py").write_text(GOOD.replace('"object"', '"string"').replace('"roll"', '"rest"'))
    (tmp_path / "absent.py").write_text(
        GOOD.replace("handler=roll", "handler=roll, available=lambda: 'needs dice.'")
    )
    (tmp_path / "_private.py").write_text("raise SystemError")
    found = find(tmp_path)
    assert "roll" in found.tools
    assert len(found.tools) == 9
    told = " ".join(found.warnings)
    for words in (
        "broken.py",
        "leaves.py",
        "TOOLS of odd.py",
        "another tool todo",
        "two words",
        '"type": "object"',
    ):
        assert words in told
    assert "not available: needs dice" in told
    assert len(found.warnings) == 7


def test_a_folder_that_is_not_there_is_fine(tmp_path: Path) -> None:
    assert find(tmp_path / "none").warnings == ()


TOOLS = find().tools


def test_U2_toolsets_include_each_other() -> None:
    sets = {
        "a": Toolset(("todo",), ("b",)),
        "b": Toolset(includes=("files", "core", "messages", "c")),
        "c": Toolset(("session_search",)),
    }
    assert expand(["a"], {**BUNDLED, **sets}, TOOLS) == frozenset(TOOLS)
    assert expand(["all"], BUNDLED, TOOLS) == frozenset(TOOLS)
    assert expand(["none"], BUNDLED, TOOLS) == frozenset()
    assert expand(["todo"], BUNDLED, TOOLS) == {"todo"}


def test_U2_a_circle_is_an_error() -> None:
    sets = {"a": Toolset(includes=("b",)), "b": Toolset(includes=("a",))}
    with pytest.raises(ConfigError, match="a -> b -> a"):
        expand(["a"], sets, TOOLS)


def test_an_unknown_toolset_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no toolset fiels; known are"):
        expand(["fiels"], BUNDLED, TOOLS)


def names(tools: ToolSelection, platform: str = "telegram", admission: Admission = "listed") -> list[str]:
    return [t.name for t in tools.select(agent_id="main", platform=platform, admission=admission)]


@pytest.mark.parametrize(
    ("platform", "admission", "may_write"),
    [
        ("telegram", "listed", True),
        ("telegram", "paired", True),
        ("terminal", "local", True),
        ("telegram", "anyone", False),
        ("webhook", "signed", False),
        ("api", "key", False),
    ],
)
def test_writing_is_refused_for_strangers_and_machines(
    tmp_path: Path,
    platform: str,
    admission: Admission,
    may_write: bool,
) -> None:
    chosen = names(ToolSelection(TOOLS, Settings(tmp_path)), platform, admission)
    assert ("write_file" in chosen) is may_write
    assert chosen == sorted(chosen)
    assert "read_file" in chosen


def test_U2_platform_agent_and_switched_off_tools(tmp_path: Path) -> None:
    rules: Section = ToolsSettings(
        toolsets={"webhook": (), "telegram": ("files", "core")}, disabled=("write_file",)
    )
    settings = Settings(tmp_path, tools=rules)
    tools = ToolSelection(TOOLS, settings, of_agent=lambda agent_id: ("reading", "memory"))
    assert names(tools) == ["read_file", "search_files"]
    assert names(tools, "webhook") == []
    assert names(tools, "discord") == ["read_file", "search_files", "session_search"]


def test_a_toolset_that_does_not_exist_gives_no_tools(tmp_path: Path) -> None:
    rules = ToolsSettings(toolsets={"telegram": ("fiels",)})
    assert names(ToolSelection(TOOLS, Settings(tmp_path, tools=rules))) == []


def test_the_tools_descriptions_are_short() -> None:
    assert all(len(t.description) < 300 for t in TOOLS.values())
