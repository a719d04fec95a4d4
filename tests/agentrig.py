"""A thinking side on a real store, with a scripted model: what tests of agents build on."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.agent import SessionAgent
from agent_core.host import Host
from agent_core.parts import HostParts
from agent_core.settings import LLM
from agent_core.store.database import SqliteStore
from agent_core.store.schema import PART
from hermes.agent import SessionSpec, Steering, TurnInput, TurnIO, TurnOutcome, TurnRequest, TurnUpdate
from hermes.config import Section, Snapshot
from hermes.events import Admission, Role
from hermes.home import Home
from hermes.messages import Message, ToolCall
from hermes.model import Model, ModelRequest
from hermes.services import Services
from hermes.testing import FakeClock
from hermes.tools import Tool, ToolContext, ToolResult

SPEC = SessionSpec("agent:main:1:telegram:direct:7", "main", "telegram", "telegram", "direct", "7")


class Settings:
    def __init__(self, home: Path, **sections: Section) -> None:
        self.snapshot = Snapshot(1, home, {"llm": LLM(provider="custom", model="m"), **sections}, {})

    def current(self) -> Snapshot:
        return self.snapshot

    def subscribe(self, changed: Callable[[Snapshot], object]) -> Callable[[], None]:
        return lambda: None


class Box:
    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self.tools = sorted(tools, key=lambda t: t.name)

    def select(
        self, *, agent_id: str, platform: str, admission: Admission, role: Role | None = None
    ) -> Sequence[Tool]:
        return self.tools


@dataclass
class IO(TurnIO):
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    updates: list[TurnUpdate] = field(default_factory=list)
    steps: int = 0
    on_update: Callable[[TurnUpdate], None] = lambda update: None
    said: Steering | None = None

    def emit(self, update: TurnUpdate) -> None:
        self.updates.append(update)
        self.on_update(update)

    def steered(self) -> Steering | None:
        said, self.said = self.said, None
        return said

    def step_stored(self) -> None:
        self.steps += 1


@dataclass
class Behind:
    noted: list[str] = field(default_factory=list)

    def note(self, session_id: str) -> None:
        self.noted.append(session_id)


@dataclass
class Rig:
    """One home; `restart` is another process's view of it."""

    home: Path
    model: Model
    tools: list[Tool] = field(default_factory=list)
    clock: FakeClock = field(default_factory=FakeClock)
    sections: dict[str, Section] = field(default_factory=dict)
    behind: Behind = field(default_factory=Behind)
    cap: int = 30_000
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def start(self) -> "Rig":
        self.store = await SqliteStore.open(self.home / "state.db", [PART])
        self.host = Host(self.parts())
        return self

    def parts(self) -> HostParts:
        return HostParts(
            store=self.store,
            model=lambda agent_id, name: self.model,
            model_name=lambda agent_id, name: f"custom/{name or 'm'}",
            toolbox=Box(self.tools),
            services=Services(self.home / "spills"),
            settings=Settings(self.home, **self.sections),
            clock=self.clock,
            home=Home(self.home),
            workspace=lambda: Path("workspace"),
            result_chars=lambda: self.cap,
            behind=self.behind,
        )

    async def stop(self) -> None:
        await self.host.aclose()
        await self.store.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def request(self, text: str, spec: SessionSpec = SPEC, **more: Any) -> TurnRequest:
        return TurnRequest(f"t{next(self.numbers)}", spec, (TurnInput(text, "u1", "Ana"),), "listed", **more)

    async def say(
        self, agent: SessionAgent, text: str, io: IO | None = None, request: TurnRequest | None = None
    ) -> TurnOutcome:
        """A whole turn, as the gateway does it."""
        request = request or self.request(text, agent.spec)
        await self.store.write(agent.begin(request))
        outcome = await agent.run(request, io or IO())
        shown = outcome.text or (f"({outcome.error})" if outcome.error else "")
        await self.store.write(agent.close(request, outcome, shown))
        agent.settled(request, outcome, shown)
        return outcome


def call(name: str, arguments: dict[str, object] | None = None, id: str = "c1", raw: str = "x") -> ToolCall:  # noqa: A002
    return ToolCall(id, name, {} if arguments is None else arguments, raw)


@dataclass
class Spy:
    """A tool that remembers its calls."""

    name: str = "act"
    answer: str = "done"
    calls: list[dict[str, object]] = field(default_factory=list)

    def tool(self, **more: Any) -> Tool:
        async def handler(arguments: dict[str, object], context: ToolContext) -> ToolResult:
            self.calls.append(arguments)
            return ToolResult(self.answer)

        schema = {"type": "object", "properties": {"x": {"type": "string"}}}
        return Tool(self.name, "Acts.", schema, handler, **more)


def assert_legal(request: ModelRequest) -> None:
    """What a strict provider checks."""
    seen: set[str] = set()
    open_calls: list[str] = []
    before = ""
    for message in request.messages:
        if message.role == "tool":
            assert open_calls
            assert message.tool_call_id == open_calls.pop(0)
            before = "tool"
            continue
        assert not open_calls, "a call without its result"
        assert message.text.strip() or message.tool_calls
        assert message.role != before or message.role == "system"
        before = message.role
        for each in message.tool_calls:
            assert each.id not in seen
            assert isinstance(each.arguments, dict)
            seen.add(each.id)
            open_calls.append(each.id)
    assert not open_calls


def texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages]


async def until(condition: Callable[[], object]) -> None:
    """Wait for what tells nobody of its changes; a test in which it never comes ends."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)
