"""What wiring hands to the thinking side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_core.context.window import TrailingWindow
from agent_core.models.chain import Chain
from agent_core.settings import AgentEntry, Agents
from agent_core.sight import Sight
from agent_core.titles import Titles
from hermes.clock import Clock
from hermes.config import SettingsSource
from hermes.context import ContextEngine
from hermes.home import Home
from hermes.messages import Message
from hermes.model import Model, Task
from hermes.services import Services
from hermes.store import Store
from hermes.tools import ToolBox

__all__ = ["Behind", "HostParts"]


async def _nothing() -> None:
    """Nothing to close."""


class Behind(Protocol):
    """Whoever writes transcripts behind the rows."""

    def note(self, session_id: str) -> None:
        """Rows of this session were committed. Never blocks, never raises."""
        ...


@dataclass(frozen=True, slots=True)
class HostParts:
    """The surroundings of every agent.

    model: the model for an agent id, or the one of that name, shared; raises `ModelError` (kind "config") where none is set up.
    model_name: its `provider/model`, empty where none is set up.
    chain: the models of a turn where others stand behind the first; `None`: only `model`.
    auxiliary: the models for work beside the conversation (a title, a summary, a choice), to be asked in this
        order until one answers; empty where there is none, or only the embedded one.
    titles: names conversations; `None`: they keep their first words. sight: shows pictures; `None`: nobody sees any.
    workspace: the folder of agents that have none of their own. result_chars: the cap of a tool result.
    """

    store: Store
    model: Callable[[str, str | None], Model]
    model_name: Callable[[str, str | None], str]
    toolbox: ToolBox
    services: Services
    settings: SettingsSource
    clock: Clock
    home: Home
    workspace: Callable[[], Path]
    result_chars: Callable[[], int] = lambda: 30_000
    behind: Behind | None = None
    close_models: Callable[[], Awaitable[None]] = _nothing
    chain: Callable[[str, str | None], Chain | None] = lambda _agent_id, _name: None
    auxiliary: Callable[[Task, str], Sequence[Model]] = lambda _task, _agent_id: ()
    titles: Titles | None = None
    sight: Sight | None = None
    engine: Callable[[Callable[[Sequence[Message]], int]], ContextEngine] = TrailingWindow

    def agent_entry(self, agent_id: str) -> AgentEntry:
        """The agent's own settings as they are now."""
        return self.settings.current().get("agents", Agents).entry(agent_id)

    def workspace_of(self, agent_id: str) -> Path:
        """The agent's folder, absolute, links not resolved."""
        return self.home.resolve(self.agent_entry(agent_id).workspace or self.workspace())
