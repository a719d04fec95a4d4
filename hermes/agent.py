"""The thinking side as the gateway sees it: sessions, turns, and what comes out of them.

The gateway never looks into reasoning; the agent never knows a platform's protocol.

A turn's life (one transaction each, by the gateway):
    `begin` + the inbox rows taken             -> the turn exists, its start is counted
    `run`   (stores every step by itself)      -> outcome
    `close` + outbox rows + inbox rows closed  -> answered once
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hermes.events import Admission, ChatKind, Role, Target
from hermes.files import StoredFile
from hermes.messages import JSONObject, Message, Usage
from hermes.store import Job

__all__ = [
    "Agent",
    "AgentHost",
    "GivenFile",
    "Notice",
    "SessionInfo",
    "SessionSpec",
    "Steering",
    "TextDelta",
    "TextReset",
    "ToolEnded",
    "ToolStarted",
    "TurnEnded",
    "TurnIO",
    "TurnInput",
    "TurnOutcome",
    "TurnRequest",
    "TurnState",
    "TurnUpdate",
    "UnfinishedTurn",
]

TurnState = Literal["answered", "silent", "failed", "stopped", "dead"]


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """Which conversation: `key` is the router's session key; the rest describes where it takes place."""

    key: str
    agent_id: str
    platform: str
    instance: str
    kind: ChatKind
    chat: str
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file that came with a message, as its turn gets it.

    file: `None` where it could not be had. text: what a document says, or what was spoken; a document's is fenced for
    the model. note: a sentence about what the model does not get of it, "" where it gets all.
    """

    file: StoredFile | None = None
    text: str = ""
    note: str = ""

    @property
    def title(self) -> str:
        """What people know it by: what was spoken, else its name; "" where it could not be had."""
        if self.file is None:
            return ""
        return self.text if self.file.kind == "voice" and self.text else self.file.name


@dataclass(frozen=True, slots=True)
class TurnInput:
    """One event's part of a turn.

    `untrusted` text is fenced for the model; `history` starts a new session. role: of what is asked again, the role
    of the turn that was asked first; `None`: not known.
    """

    text: str
    sender_id: str
    sender_name: str = ""
    at: float = 0.0
    untrusted: bool = False
    quoted: str | None = None
    history: tuple[Message, ...] = ()
    files: tuple[GivenFile, ...] = ()
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A turn to run.

    resumed: it was begun by an earlier process; its inputs are then read from its stored steps.
    redo: `begin` first takes the session's last turn out of the conversation (as `AgentHost.undo` does), in
    the same transaction. role: what its senders are to the owner, of several the least, and no more than whose words it
    asks again; stored with the inputs; `None`: as the admission says.
    largest_file, origin: see `ToolContext`.
    """

    turn_id: str
    session: SessionSpec
    inputs: tuple[TurnInput, ...]
    admission: Admission
    resumed: bool = False
    redo: bool = False
    role: Role | None = None
    largest_file: int | None = None
    origin: Target | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A new piece of the answer being written."""

    text: str


@dataclass(frozen=True, slots=True)
class TextReset:
    """Everything written since the last tool call is void (the stream broke and is tried again)."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins; `summary` is one line for people, without secrets."""

    call_id: str
    name: str
    summary: str
    emoji: str = ""


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call has ended."""

    call_id: str
    name: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Notice:
    """A key of the table of system sentences with its fields, to be shown to the user ("history_cut", ...)."""

    key: str
    fields: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over and committed.

    `text` is the whole answer or the sentence that says why there is none. turn: which; messages that one turn
    answered have the same; "" where there was none (a command) or nobody knows any longer.
    """

    state: TurnState
    text: str
    usage: Usage = field(default_factory=Usage)
    turn: str = field(default="", compare=False)


TurnUpdate = TextDelta | TextReset | ToolStarted | ToolEnded | Notice | TurnEnded


@dataclass(frozen=True, slots=True)
class Steering:
    """What people said to the running turn.

    job: gives their events to the turn; it is committed with the step that holds `inputs`.
    """

    inputs: tuple[TurnInput, ...]
    job: Job


class TurnIO(Protocol):
    """What the gateway lends to a running turn."""

    stop: asyncio.Event
    """Set when the user wants the turn to stop: a model call ends at once, a tool batch is waited for."""

    def emit(self, update: TurnUpdate) -> None:
        """Show something; never blocks, never raises."""
        ...

    def steered(self) -> Steering | None:
        """What was said since the last call; asked before each model call. It is the agent's from then on."""
        ...

    def step_stored(self) -> None:
        """A step was committed (the start count is back at zero)."""
        ...


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ended, not yet committed.

    text: the answer in Markdown ("" when silent). error: a key of the table of system sentences when state is
    "failed"
    ("model_down", "model_timeout", "model_auth", "overflow", "history_unreadable", ...), with `error_fields`.
    notices: system sentences to show beside the answer. files: what its tools gave out, each with its caption; sent
    with the answer when the turn is "answered" or "silent". choices: answers that people may pick below it.
    """

    state: TurnState
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    error_fields: JSONObject = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    model_calls: int = 0
    files: tuple[tuple[StoredFile, str], ...] = ()
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """A turn that an earlier process left open. `starts`: starts since its last stored step.

    Times in epoch seconds. role: that of its request; `None`: not known.
    """

    turn_id: str
    session_key: str
    starts: int
    begun_at: float
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One stored session, for lists. Times in epoch seconds."""

    session_id: str
    key: str
    agent_id: str
    title: str
    started_at: float
    last_at: float
    messages: int
    closed: bool


class Agent(Protocol):
    """One live session: its history in memory, its state on disk.

    Runs one turn at a time; the caller sees to that.
    """

    @property
    def session_id(self) -> str:
        """The id of the session's current run; `reset` starts another."""
        ...

    def begin(self, request: TurnRequest) -> Job:
        """A job that creates the turn (start count 1) and stores its inputs as the first step.

        For `resumed`, counts one more start.
        """
        ...

    async def run(self, request: TurnRequest, io: TurnIO) -> TurnOutcome:
        """Think until there is an answer. Failures of model and tools are outcomes, not exceptions.

        Raises `StoreUnavailable` when a step cannot be stored, and `CancelledError`: the turn then stays open
        on disk.
        """
        ...

    def close(self, request: TurnRequest, outcome: TurnOutcome, shown: str) -> Job:
        """A job that writes the message rows and usage and closes the turn.

        `shown`: what the user was told (may be a system sentence).
        """
        ...

    def settled(self, request: TurnRequest, outcome: TurnOutcome, shown: str) -> None:
        """The closing transaction is durable: the history in memory takes the turn in."""
        ...

    async def aclose(self) -> None:
        """Let go of memory; nothing is lost, the next `open` rebuilds it."""
        ...


class AgentHost(Protocol):
    """Makes agents and answers what the gateway's commands ask about sessions."""

    async def open(self, spec: SessionSpec) -> Agent:
        """The agent for a session, its history read from the store.

        Raises `StoreCorrupt`/`StoreUnavailable`: never an agent with an empty history in place of one that
        cannot be read.
        """
        ...

    def fitted(self, session: SessionSpec, texts: Sequence[str]) -> Sequence[str]:
        """What files say, as many texts as were given, cut to what the session's model has room for beside all else."""
        ...

    async def unfinished(self) -> Sequence[UnfinishedTurn]:
        """Turns that are open on disk, oldest first. Asked once, at start."""
        ...

    def abort(self, turn_id: str, state: TurnState, shown: str) -> Job:
        """A job that closes an unfinished turn without running it ("dead", "stopped").

        Its inputs and `shown` become message rows.
        """
        ...

    async def last_input(self, session_key: str) -> TurnInput | None:
        """What was asked by the last finished turn of the session's current run, all of it as one, with the turn's role.

        `None` when there is none.
        """
        ...

    def reset(self, session_key: str) -> Job:
        """A job that closes the session's current run; the next message starts a fresh one.

        The caller drops the live agent.
        """
        ...

    def retitle(self, session_key: str, title: str) -> Job:
        """A job that names the session's current run."""
        ...

    async def changed(self, session_key: str) -> None:
        """A job of this host was committed: what is written behind the rows follows."""
        ...

    def resume(self, session_key: str, session_id: str) -> Job:
        """A job that makes an earlier run of the same key the current one.

        Raises `LookupError` in the job when it is not one of this key's.
        """
        ...

    def undo(self, session_key: str) -> Job:
        """A job that takes the last finished turn out of the conversation (kept on disk, marked).

        Returns the text of its input, or `None`.
        """
        ...

    async def sessions(self, session_key: str | None = None, limit: int = 20) -> Sequence[SessionInfo]:
        """Stored sessions, newest first; of one key, or all."""
        ...

    async def usage(self, session_key: str | None) -> JSONObject:
        """{"turns": n, "calls": n, "prompt": n, "completion": n} of the session's current run (`None`: of all)."""
        ...

    async def spent(
        self, session_key: str, accounts: Sequence[str], since: float
    ) -> tuple[JSONObject, JSONObject]:
        """What the session's current run has used, and what a person's accounts (`INSTANCE:SENDER`) have since `since`.

        Each {"calls": n, "prompt": n, "completion": n, "cost": dollars, or None where a price is not known}.
        """
        ...

    def model_name(self, session_key: str | None = None) -> str:
        """`provider/model` that the next turn of the session will use; empty where none is set up.

        The provider `local` has one model, and `choose_model` changes nothing there.
        """
        ...

    def choose_model(self, session_key: str, name: str | None) -> Job:
        """A job that makes the session's next turns use the provider's model `name`; `None`: the agent's again.

        The caller drops the live agent.
        """
        ...

    async def aclose(self) -> None:
        """Close model clients."""
        ...
