"""`SessionAgent`: one live session. Its history is in memory, its state on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent_core.ending import compose, ending, title_job
from agent_core.failures import failed
from agent_core.loop import Gauge, Loop, Mind
from agent_core.models.chain import Chain, hasty
from agent_core.parts import HostParts
from agent_core.retry import RetryPolicy
from agent_core.settings import LLM, AgentSettings
from agent_core.state import SessionState, save_state
from agent_core.steps import Rebuilt, Step, asked, input_step, rebuild
from agent_core.store import sessions, transcript
from agent_core.store.calls import Payer, Spent, add_calls
from agent_core.substitute import substituted
from agent_core.titles import is_named
from agent_core.working import Hands
from hermes.agent import Notice, SessionSpec, TurnIO, TurnOutcome, TurnRequest
from hermes.errors import ModelError
from hermes.failpoint import reached
from hermes.messages import Message
from hermes.model import Model, ToolSpec
from hermes.store import Job
from hermes.tools import Tool, ToolContext

__all__ = ["Recorder", "SessionAgent", "SessionFacts"]

_MOST_KEPT = 2000
"""Messages of one session in memory; far more than any window takes."""


@dataclass(slots=True)
class SessionFacts:
    """What `Host.open` found out.

    `stored`: messages on disk, which may be more than `history` holds in memory.
    """

    spec: SessionSpec
    session_id: str
    prompt: str
    workspace: Path
    history: list[Message] = field(default_factory=list)
    stored: int = 0
    is_new: bool = True
    """The session's row or its prompt is not on disk yet."""
    state: SessionState = field(default_factory=SessionState)
    model: str | None = None
    """The model chosen for this conversation, in place of the agent's."""
    is_titled: bool = False
    """It has another title than its first words, or one was asked for."""


class Recorder:
    """Stores the steps of one turn in order."""

    def __init__(self, parts: HostParts, facts: SessionFacts, turn_id: str, seq: int, io: TurnIO) -> None:
        self._parts = parts
        self._facts = facts
        self._turn_id = turn_id
        self._seq = seq
        self._io = io

    async def __call__(self, steps: Sequence[Step], *, progress: bool, also: Sequence[Job] = ()) -> None:
        """See `working.Record`."""
        now = self._parts.clock.time()
        jobs: list[Job] = list(also)
        for kind, content in steps:
            step = transcript.Step(self._seq, kind, content, now)
            self._seq += 1
            jobs.append(transcript.add_step(self._turn_id, step, progress=progress))
        changed = save_state(self._facts.session_id, self._facts.state)
        await self._parts.store.write(*jobs, *changed)
        self._facts.state.saved()
        reached("step.stored")
        if progress:
            self._io.step_stored()


class SessionAgent:
    """See `hermes.agent.Agent`. Made by `Host.open`."""

    def __init__(self, parts: HostParts, facts: SessionFacts, gauge: Callable[[str], Gauge]) -> None:
        self._parts = parts
        self._facts = facts
        self._gauge = gauge
        self._turns: dict[str, Rebuilt] = {}
        self._cuts: dict[str, int] = {}
        self._owing: dict[str, tuple[Spent, ...]] = {}
        self._on_disk = facts.stored
        self._specs: tuple[tuple[Tool, ...], tuple[ToolSpec, ...]] = ((), ())

    @property
    def session_id(self) -> str:
        """See `Agent.session_id`."""
        return self._facts.session_id

    @property
    def model(self) -> str | None:
        """The model chosen for this conversation; `None`: the agent's."""
        return self._facts.model

    @property
    def spec(self) -> SessionSpec:
        """Which conversation this is."""
        return self._facts.spec

    def begin(self, request: TurnRequest) -> Job:
        """See `Agent.begin`."""
        if request.resumed:
            return self._counting(transcript.count_start(request.turn_id))
        facts, now = self._facts, self._parts.clock.time()
        spec = request.session
        messages = asked(request.inputs, spec.kind, spec.platform, now)
        before = [m for i in request.inputs for m in i.history] if not facts.stored else []
        kind, content = input_step(request.inputs, messages, before, request.role)
        self._turns[request.turn_id] = rebuild([(kind, content)])
        jobs = [sessions.ensure_session(spec, facts.session_id, now)]
        if facts.is_new:
            jobs.append(sessions.save_prompt(facts.session_id, facts.prompt, self._model_name(request)))
        if request.redo:
            jobs.append(transcript.undo_last_turn(spec.key))
        jobs.append(transcript.begin_turn(request.turn_id, facts.session_id, content, now))
        return self._counting(*jobs)

    def _counting(self, *jobs: Job) -> Job:
        """The jobs, and then a look at how many messages the session has on disk.

        `run` sees by it whether its memory is still true.
        """
        session_id = self._facts.session_id

        def job(connection: sqlite3.Connection) -> None:
            for each in jobs:
                each(connection)
            row = connection.execute(
                "SELECT message_count FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
            self._on_disk = row[0] if row else 0

        return job

    async def run(self, request: TurnRequest, io: TurnIO) -> TurnOutcome:
        """See `Agent.run`."""
        self._facts.is_new = False
        if self._on_disk != self._facts.stored:  # undone, aborted or written by somebody else in between
            await self._reload()
        seq = 1
        if request.resumed or request.turn_id not in self._turns:
            steps = await transcript.steps(self._parts.store, request.turn_id)
            self._turns[request.turn_id] = rebuild((s.kind, s.content) for s in steps)
            seq = steps[-1].seq + 1 if steps else 0
        turn = self._turns[request.turn_id]
        agent_id = request.session.agent_id
        chain = self._parts.chain(agent_id, self._facts.model)
        try:
            model = chain.first() if chain else self._parts.model(agent_id, self._facts.model)
        except ModelError as error:
            return failed(error, TurnOutcome("failed"))
        tools = self._tools(request)
        record = Recorder(self._parts, self._facts, request.turn_id, seq, io)
        mind = self._mind(request, tools, model, chain)
        loop = Loop(mind, self._hands(request, io, tools, record, turn), io, turn)
        outcome = await loop.run()
        self._cuts[request.turn_id] = loop.cut
        self._owing[request.turn_id] = tuple(loop.owing)
        told = self._told(outcome, loop.cut)
        return told if chain is None else substituted(told, chain, self._facts.state)

    def _mind(self, request: TurnRequest, tools: tuple[Tool, ...], model: Model, chain: Chain | None) -> Mind:
        parts, facts = self._parts, self._facts
        snapshot = parts.settings.current()
        llm, rules = snapshot.get("llm", LLM), snapshot.get("agent", AgentSettings)
        spec = request.session
        gauge = self._gauge(model.name)
        patient = RetryPolicy(tries=llm.tries, hang=llm.timeouts.total)
        mind = Mind(
            model=model,
            system=facts.prompt,
            specs=self._specs_of(tools),
            history=facts.history,
            engine=parts.engine(gauge.messages),
            gauge=gauge,
            clock=parts.clock,
            session=facts.session_id,
            budget=rules.budget,
            retries=patient if chain is None or chain.is_last else hasty(llm.tries, llm.fallback_after),
            max_tokens=llm.max_tokens,
            charge=lambda spent: add_calls(self._payer(request), spent),
            sight=parts.sight,
            payer=self._payer(request),
            asked=lambda inputs: asked(inputs, spec.kind, spec.platform, parts.clock.time()),
        )
        if chain is None or chain.is_last:
            return mind

        def otherwise(error: ModelError, lasted: float) -> Mind | None:
            other = chain.after(error, lasted, model.window)
            return None if other is None else self._mind(request, tools, other, chain)

        return replace(mind, otherwise=otherwise)

    def _tools(self, request: TurnRequest) -> tuple[Tool, ...]:
        spec = request.session
        return tuple(
            self._parts.toolbox.select(
                agent_id=spec.agent_id,
                platform=spec.platform,
                admission=request.admission,
                role=request.role,
            )
        )

    def _hands(
        self, request: TurnRequest, io: TurnIO, tools: tuple[Tool, ...], record: Recorder, turn: Rebuilt
    ) -> Hands:
        parts = self._parts
        rules = parts.settings.current().get("agent", AgentSettings)
        return Hands(
            tools={tool.name: tool for tool in tools},
            context=lambda call_id: self._context(request, call_id),
            record=record,
            clock=parts.clock,
            io=io,
            most=rules.parallel,
            cap=parts.result_chars(),
            files=turn.files,
            choices=turn.choices,
        )

    def _specs_of(self, tools: tuple[Tool, ...]) -> tuple[ToolSpec, ...]:
        if self._specs[0] != tools:
            self._specs = (tools, tuple(ToolSpec(t.name, t.description, t.parameters) for t in tools))
        return self._specs[1]

    def _context(self, request: TurnRequest, call_id: str) -> ToolContext:
        spec = request.session
        return ToolContext(
            session_id=self._facts.session_id,
            session_key=spec.key,
            agent_id=spec.agent_id,
            platform=spec.platform,
            admission=request.admission,
            call_id=call_id,
            workspace=self._facts.workspace,
            services=self._parts.services,
            state=self._facts.state.tools,
            largest_file=request.largest_file,
            turn_id=request.turn_id,
            origin=request.origin,
        )

    def _told(self, outcome: TurnOutcome, cut: int) -> TurnOutcome:
        """The outcome with a notice, once in a session, that the model no longer sees all of it."""
        if not cut or self._facts.state.cut_told:
            return outcome
        self._facts.state.cut_told = True
        return replace(outcome, notices=(*outcome.notices, Notice("history_cut", {"dropped": cut})))

    def close(self, request: TurnRequest, outcome: TurnOutcome, shown: str) -> Job:
        """See `Agent.close`."""
        now = self._parts.clock.time()
        turn = self._turns.get(request.turn_id)
        end = ending(outcome, add_calls(self._payer(request), self._owing.get(request.turn_id, ())), now)
        if turn is None:  # it never ran here: the steps know
            closing = transcript.close_from_steps(request.turn_id, lambda s: compose(s, shown, now), end)
        else:
            messages = _with_shown(turn, outcome, shown, now)
            closing = transcript.close_turn(request.turn_id, messages, end)
        words = " ".join(i.text for i in request.inputs).strip() or (turn.title if turn else "")
        extra = (
            title_job(self._facts.session_id, words),
            *save_state(self._facts.session_id, self._facts.state),
        )

        def job(connection: sqlite3.Connection) -> None:
            closing(connection)
            for each in extra:
                each(connection)

        return job

    def _payer(self, request: TurnRequest) -> Payer:
        facts, spec = self._facts, request.session
        sender = request.inputs[-1].sender_id if request.inputs else ""
        person = f"{spec.instance}:{sender}"
        return Payer(facts.session_id, spec.key, spec.agent_id, person, request.turn_id)

    def _model_name(self, request: TurnRequest) -> str | None:
        entry = self._parts.agent_entry(request.session.agent_id)
        return (
            self._facts.model or entry.model or self._parts.settings.current().get("llm", LLM).model or None
        )

    def settled(self, request: TurnRequest, outcome: TurnOutcome, shown: str) -> None:
        """See `Agent.settled`."""
        facts = self._facts
        turn = self._turns.pop(request.turn_id, None)
        self._owing.pop(request.turn_id, None)
        if turn is None:
            facts.stored = -1  # written from the steps: `run` reads it back before the next turn
        else:
            messages = _with_shown(turn, outcome, shown, self._parts.clock.time())
            cut = self._cuts.pop(request.turn_id, 0)
            facts.history = bounded([*facts.history[cut:], *messages])
            facts.stored += len(messages)
        facts.state.saved()
        if self._parts.behind is not None:
            self._parts.behind.note(facts.session_id)
        if outcome.state == "answered" and not facts.is_titled:
            self._ask_for_title(request)

    def _ask_for_title(self, request: TurnRequest) -> None:
        titles = self._parts.titles
        if titles is not None and titles.wants(self._facts.session_id) and is_named(request.session):
            titles.offer(replace(self._payer(request), turn_id=None, task="title"))

    async def _reload(self) -> None:
        messages = await transcript.history(self._parts.store, self._facts.session_id)
        self._facts.history = bounded(messages)
        self._facts.stored = self._on_disk

    async def aclose(self) -> None:
        """See `Agent.aclose`."""
        self._turns.clear()
        self._facts.history = []
        self._facts.stored = -1


def bounded(messages: list[Message]) -> list[Message]:
    """The newest messages that are kept in memory, from a user message on."""
    if len(messages) <= _MOST_KEPT:
        return messages
    kept = messages[-_MOST_KEPT * 3 // 4 :]
    start = next((i for i, m in enumerate(kept) if m.role == "user"), 0)
    return kept[start:]


def _with_shown(turn: Rebuilt, outcome: TurnOutcome, shown: str, at: float) -> list[Message]:
    """The turn's messages; where the model had no last word, what the user was told stands aside.

    Choices that it offered without a word are its own.
    """
    if outcome.state == "answered" or not shown.strip():
        return list(turn.messages)
    is_own = outcome.state == "silent" and bool(outcome.choices)
    return [*turn.messages, Message("assistant", shown, at=at, aside=not is_own)]
