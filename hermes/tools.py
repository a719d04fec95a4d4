"""What a tool is. `from hermes.tools import Tool, ToolResult` is all that a user's own tool needs.

from hermes.tools import Tool, ToolContext, ToolResult

async def roll(arguments, context: ToolContext) -> ToolResult:
    return ToolResult("4")

TOOLS = (Tool(name="roll", description="Roll a die.", parameters={"type": "object", "properties": {}},
handler=roll),)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from hermes.events import Admission, Role, Target
from hermes.files import StoredFile
from hermes.messages import JSONObject
from hermes.services import Services

__all__ = ["Handler", "Parallel", "Tool", "ToolBox", "ToolContext", "ToolResult"]

Parallel = Literal["never", "read", "path"]
"""never: alone in its batch. read: beside anything that is not "never".

path: beside others whose paths do not overlap.
"""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model reads. `ok=False`: an error, in words that help the model.

    `untrusted`: text from outside, fenced for the model.
    `files`: what goes out with the turn's answer, each with its caption; kept with the result, so that a turn that is
    taken up again sends them once. `choices`: answers that people may pick below it (see `ChoosingAdapter`); those of
    the last such result hold.
    """

    text: str
    ok: bool = True
    untrusted: bool = False
    files: tuple[tuple[StoredFile, str], ...] = ()
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call knows about its turn.

    workspace: absolute, symlinks resolved. state: a place for what a tool remembers within the session
    (JSON), kept by the agent. largest_file: bytes of the largest file that can go out with the turn's answer; `None`:
    where it goes no file can be sent. turn_id with call_id: the same when a turn is taken up again, and only then.
    origin: where the turn's answer goes; `None`: to whoever looks on.
    """

    session_id: str
    session_key: str
    agent_id: str
    platform: str
    admission: Admission
    call_id: str
    workspace: Path
    services: Services
    state: dict[str, Any] = field(default_factory=dict)
    largest_file: int | None = None
    turn_id: str = ""
    origin: Target | None = None


Handler = Callable[[JSONObject, ToolContext], "Awaitable[ToolResult | str] | ToolResult | str"]
"""Called with arguments that fit the schema. A plain function runs in a thread.

May raise `ToolError` with a sentence for the model.
"""


def _no_paths(_: Mapping[str, Any]) -> Sequence[str]:
    return ()


def _available() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    parameters: a JSON Schema object; arguments from models are coerced to it before the handler sees them.
    paths: for parallel="path": which paths a call touches. idempotent: may be run again after a crash.
    available: `None`, or one sentence why the tool cannot be used here. summary: one line for people about a
    call.
    trusted_only: refused for webhook, API and guests. timeout: seconds, after which the model
    gets an error.
    """

    name: str
    description: str
    parameters: JSONObject
    handler: Handler
    toolset: str = "core"
    parallel: Parallel = "never"
    paths: Callable[[Mapping[str, Any]], Sequence[str]] = _no_paths
    idempotent: bool = False
    available: Callable[[], str | None] = _available
    emoji: str = ""
    trusted_only: bool = False
    timeout: float = 120.0


class ToolBox(Protocol):
    """The tools of this installation."""

    def select(
        self, *, agent_id: str, platform: str, admission: Admission, role: Role | None = None
    ) -> Sequence[Tool]:
        """The tools that such a turn may use, in a stable order (by name), so that requests of a session stay byte-identical."""
        ...
