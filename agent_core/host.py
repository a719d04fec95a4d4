"""`Host`: makes agents and answers what the gateway asks about sessions."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

from agent_core import bootstrap, usage
from agent_core.agent import SessionAgent, SessionFacts, bounded
from agent_core.choices import choose_model, chosen_model
from agent_core.ending import compose
from agent_core.loop import Gauge
from agent_core.overflow import FILES_SHARE, cut_to
from agent_core.parts import HostParts
from agent_core.prompt import PromptParts, build_prompt
from agent_core.settings import LLM, Agents, AgentSettings, Language
from agent_core.state import load_state
from agent_core.steps import asked_again
from agent_core.store import calls, sessions, transcript
from hermes.agent import SessionInfo, SessionSpec, TurnInput, TurnState, UnfinishedTurn
from hermes.errors import ModelError
from hermes.messages import JSONObject
from hermes.store import Job

__all__ = ["Host"]

log = logging.getLogger(__name__)

_MOST_GAUGES = 64


class Host:
    """See `hermes.agent.AgentHost`."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._gauges: dict[str, Gauge] = {}
        self._live: WeakValueDictionary[str, SessionAgent] = WeakValueDictionary()

    async def open(self, spec: SessionSpec) -> SessionAgent:
        """See `AgentHost.open`."""
        parts = self._parts
        row = await sessions.current_session(parts.store, spec.key)
        kept = row.prompt_snapshot if row is not None else None
        workspace, prompt = await self._prepared(spec, kept)
        if row is None:
            facts = SessionFacts(spec, self._new_id(), prompt, workspace)
        else:
            history = await transcript.history(parts.store, row.session_id)
            facts = SessionFacts(
                spec,
                row.session_id,
                prompt,
                workspace,
                history=bounded(history),
                stored=row.messages,
                is_new=row.prompt_snapshot is None,
                state=await load_state(parts.store, row.session_id),
                is_titled=bool(row.title) and row.titled != "words",
            )
        facts.model = await chosen_model(parts.store, spec.key)
        agent = SessionAgent(parts, facts, self._gauge)
        self._live[spec.key] = agent
        return agent

    async def _prepared(self, spec: SessionSpec, kept: str | None) -> tuple[Path, str]:
        """The workspace, and the prompt: the one that was kept, else a new one. One hop into a thread for all files."""
        parts = self._parts
        folder = parts.workspace_of(spec.agent_id)
        if kept:
            return await asyncio.to_thread(_ready, folder), kept
        snapshot = parts.settings.current()
        wanted = snapshot.get("agent", AgentSettings).context_files
        workspace, files = await asyncio.to_thread(
            _ready_and_read, folder, parts.home.soul, context_files=wanted
        )
        day = time.strftime("%Y-%m-%d", time.gmtime(parts.clock.time()))
        language = snapshot.get("language", Language).name
        return workspace, build_prompt(
            PromptParts(spec.platform, spec.kind, files, str(workspace), day, language)
        )

    def _new_id(self) -> str:
        """Sorts by time, and is unique without asking anybody."""
        now = time.gmtime(self._parts.clock.time())
        return f"{time.strftime('%Y%m%d-%H%M%S', now)}-{secrets.token_hex(6)}"

    def _gauge(self, model: str) -> Gauge:
        if model not in self._gauges and len(self._gauges) >= _MOST_GAUGES:
            self._gauges.clear()
        return self._gauges.setdefault(model, Gauge())

    def fitted(self, session: SessionSpec, texts: Sequence[str]) -> Sequence[str]:
        """See `AgentHost.fitted`."""
        live = self._live.get(session.key)
        try:
            model = self._parts.model(session.agent_id, live.model if live is not None else None)
        except ModelError:  # the turn will say so
            return texts
        return cut_to(texts, int(model.window * FILES_SHARE), self._gauge(model.name).estimate.text)

    async def unfinished(self) -> Sequence[UnfinishedTurn]:
        """See `AgentHost.unfinished`."""
        return await transcript.unfinished(self._parts.store)

    def abort(self, turn_id: str, state: TurnState, shown: str) -> Job:
        """See `AgentHost.abort`."""
        now = self._parts.clock.time()
        return transcript.close_from_steps(
            turn_id, lambda steps: compose(steps, shown, now), transcript.Ending(state, now)
        )

    async def last_input(self, session_key: str) -> TurnInput | None:
        """See `AgentHost.last_input`."""
        return asked_again(await transcript.last_asked(self._parts.store, session_key))

    def reset(self, session_key: str) -> Job:
        """See `AgentHost.reset`."""
        return sessions.close_session(session_key, self._parts.clock.time())

    def retitle(self, session_key: str, title: str) -> Job:
        """See `AgentHost.retitle`. Raises `ValueError` for an empty title."""
        return sessions.retitle(session_key, title)

    async def changed(self, session_key: str) -> None:
        """See `AgentHost.changed`. A job is about the current run, or about that and the one before it."""
        if self._parts.behind is not None:
            for session in await sessions.list_sessions(self._parts.store, session_key, 2):
                self._parts.behind.note(session.session_id)

    def resume(self, session_key: str, session_id: str) -> Job:
        """See `AgentHost.resume`."""
        return sessions.resume_session(session_key, session_id, self._parts.clock.time())

    def undo(self, session_key: str) -> Job:
        """See `AgentHost.undo`."""
        return transcript.undo_last_turn(session_key)

    async def sessions(self, session_key: str | None = None, limit: int = 20) -> Sequence[SessionInfo]:
        """See `AgentHost.sessions`."""
        return await sessions.list_sessions(self._parts.store, session_key, limit)

    async def usage(self, session_key: str | None) -> JSONObject:
        """See `AgentHost.usage`."""
        return await calls.totals(self._parts.store, session_key)

    async def spent(
        self, session_key: str, accounts: Sequence[str], since: float
    ) -> tuple[JSONObject, JSONObject]:
        """See `AgentHost.spent`."""
        own = usage.own_prices(self._parts.settings.current().get("llm", LLM))
        return await usage.spent(
            self._parts.store, own, session_key=session_key, accounts=accounts, since=since
        )

    def model_name(self, session_key: str | None = None) -> str:
        """See `AgentHost.model_name`."""
        live = self._live.get(session_key) if session_key else None
        if live is not None:
            return self._parts.model_name(live.spec.agent_id, live.model)
        return self._parts.model_name(self._parts.settings.current().get("agents", Agents).names()[0], None)

    def choose_model(self, session_key: str, name: str | None) -> Job:
        """See `AgentHost.choose_model`."""
        return choose_model(session_key, name)

    async def aclose(self) -> None:
        """See `AgentHost.aclose`."""
        for agent in list(self._live.values()):
            await agent.aclose()
        await self._parts.close_models()


def _ready(workspace: Path) -> Path:
    """The folder, made if missing, links resolved. One that cannot be made is the tools' business to tell."""
    with suppress(OSError):
        workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
    return workspace.resolve()


def _ready_and_read(folder: Path, soul: Path, *, context_files: bool) -> tuple[Path, bootstrap.Files]:
    workspace = _ready(folder)
    return workspace, bootstrap.read(workspace, soul, context_files=context_files)
