"""Stand-ins that keep the contracts, for tests of parts and of plug-ins. They ship with the product."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermes.adapter import Capabilities, Intake, Piece, Receipt
from hermes.errors import AdapterError, Gone, ModelError
from hermes.events import Attachment, Event, Target
from hermes.files import StoredFile
from hermes.messages import Message, ToolCall, Usage
from hermes.model import Completion, FinishReason, ModelRequest

__all__ = ["Answer", "FakeAdapter", "FakeClock", "ScriptedModel"]


class FakeClock:
    """A clock that moves only by `advance`. Sleepers wake in order of their time."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._wall = start
        self._mono = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def time(self) -> float:
        """See `Clock.time`; moved by `advance` and `jump`."""
        return self._wall

    def monotonic(self) -> float:
        """See `Clock.monotonic`; 0 at the start, moved by `advance`."""
        return self._mono

    @property
    def sleeping(self) -> int:
        """How many tasks sleep now."""
        return sum(not f.done() for _, _, f in self._sleepers)

    @property
    def due(self) -> list[float]:
        """In how many seconds each of them wakes, the next first."""
        return sorted(at - self._mono for at, _, f in self._sleepers if not f.done())

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`; returns when `advance` has come so far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._mono + seconds, next(self._order), woken))
        await woken

    def jump(self, seconds: float) -> None:
        """Move the wall clock alone, as an operator or NTP would."""
        self._wall += seconds

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, waking sleepers one by one and letting everything that is ready run in between."""
        end = self._mono + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, woken = heapq.heappop(self._sleepers)
            self._wall += at - self._mono
            self._mono = at
            if not woken.done():
                woken.set_result(None)
            await self._settle()
        self._wall += end - self._mono
        self._mono = end
        await self._settle()

    @staticmethod
    async def _settle() -> None:
        for _ in range(20):
            await asyncio.sleep(0)


@dataclass
class FakeAdapter:
    """A platform in memory.

    `limit`: characters of a piece, the mark of a repeat aside. `sent` is what people see; `failures` are raised
    by the next sends, in order, before (`NotTaken` ...) or, for `OutcomeUnknown`, after the message was taken.
    `screen`: message id -> what it says now; `edits`: every change, as (message id, text).
    `pieces`: what was sent, as it was rendered. `files`: the files that people got, with their bytes where `stored` says
    how they are found; such a message shows as "[NAME] TEXT". `contents`: what `fetch` gives for an attachment's
    `ref`, in chunks of `chunk` bytes, or the error that it raises; one that is not in it is gone.
    """

    limit: int = 4096
    capabilities: Capabilities = field(default_factory=Capabilities)
    sent: list[tuple[Target, str, str]] = field(default_factory=list)
    failures: list[AdapterError] = field(default_factory=list)
    intake: Intake | None = None
    typed: list[Target] = field(default_factory=list)
    screen: dict[str, str] = field(default_factory=dict)
    edits: list[tuple[str, str]] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    largest_file: int = 50_000_000
    files: list[tuple[StoredFile, bytes]] = field(default_factory=list)
    stored: Callable[[StoredFile], Path] | None = None
    contents: dict[str, bytes | AdapterError] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    chunk: int = 65_536
    closed: bool = False
    started: asyncio.Event = field(default_factory=asyncio.Event)
    on_sent: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self, intake: Intake) -> None:
        """Connected at once, until cancelled; a test hands events to `intake` itself."""
        self.intake = intake
        intake.state("connected")
        self.started.set()
        await asyncio.Event().wait()

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:  # noqa: ARG002  the contract's form
        """Plain text in pieces of `limit` characters."""
        text = markdown.strip()
        return [Piece(text[i : i + self.limit]) for i in range(0, len(text), self.limit)]

    def render_file(self, file: StoredFile, caption: str, target: Target) -> Sequence[Piece]:
        """See `FileAdapter.render_file`; a caption has `limit` characters too."""
        first, *more = self.render(caption, target) or [Piece("")]
        return [Piece(first.text, file=file), *more]

    def render_choices(self, piece: Piece, choices: Sequence[str], target: Target) -> Piece:  # noqa: ARG002  the contract
        """See `ChoosingAdapter.render_choices`; the labels stand in the piece's `format`."""
        return replace(piece, format={**piece.format, "choices": list(choices)})

    async def fetch(self, event: Event, attachment: Attachment) -> AsyncIterator[bytes]:  # noqa: ARG002  the contract
        """See `FetchingAdapter.fetch`; each call is noted in `fetched`."""
        self.fetched.append(attachment.ref)
        found = self.contents.get(attachment.ref, Gone("There is no such file."))
        if isinstance(found, AdapterError):
            raise found
        for i in range(0, len(found), self.chunk):
            yield found[i : i + self.chunk]

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        """See `Adapter.send`; a repeat shows as "(again) TEXT"."""
        files = [(file, await self._bytes(file)) for file in (piece.file, *piece.more) if file is not None]
        failure = self.failures.pop(0) if self.failures else None
        if failure is None or type(failure).__name__ == "OutcomeUnknown":
            async with self.on_sent:
                self.files += files
                self.pieces.append(piece)
                self.sent.append((target, ("(again) " if again else "") + _seen(piece), key))
                self.screen[str(len(self.sent))] = self.sent[-1][1]
                self.on_sent.notify_all()
        if failure is not None:
            raise failure
        return Receipt(str(len(self.sent)))

    async def _bytes(self, file: StoredFile) -> bytes:
        return b"" if self.stored is None else await asyncio.to_thread(self.stored(file).read_bytes)

    def render_live(self, markdown: str, target: Target) -> Piece | None:
        """The first piece; used only where `capabilities.edits` says so."""
        return next(iter(self.render(markdown, target)), None)

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:  # noqa: ARG002  the contract's form
        """See `EditingAdapter.edit`; a message taken off `screen` is gone."""
        if message_id not in self.screen:
            raise Gone
        async with self.on_sent:
            self.screen[message_id] = piece.text
            self.edits.append((message_id, piece.text))
            self.on_sent.notify_all()
        return Receipt(message_id)

    async def typing(self, target: Target) -> None:
        """Note the target in `typed`."""
        self.typed.append(target)

    async def aclose(self) -> None:
        """Note it in `closed`."""
        self.closed = True

    async def wait_sent(self, count: int) -> None:
        """Return once at least `count` messages were sent."""
        async with self.on_sent:
            await self.on_sent.wait_for(lambda: len(self.sent) >= count)


def _seen(piece: Piece) -> str:
    names = [f"[{file.name}]" for file in (piece.file, *piece.more) if file is not None]
    return " ".join([*names, piece.text] if piece.text else names)


@dataclass(frozen=True)
class Answer:
    """One scripted answer: text in `chunks`, tool calls, or an error after the chunks.

    `gate`: waited for before answering.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    error: ModelError | None = None
    finish: FinishReason | None = None
    usage: Usage = field(default_factory=lambda: Usage(10, 2))
    gate: asyncio.Event | None = None
    chunks: int = 1


@dataclass
class ScriptedModel:
    """A model that gives its `script` in order, then `default(request)` for ever.

    `requests` keeps what it was asked.
    """

    script: list[Answer] = field(default_factory=list)
    default: Callable[[ModelRequest], Answer] = lambda request: Answer(f"echo: {request.messages[-1].text}")
    requests: list[ModelRequest] = field(default_factory=list)
    name: str = "scripted"
    window: int = 128_000
    running: int = 0
    most_running: int = 0
    closed: bool = False
    sees: bool | None = None

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> Completion:
        """See `Model.complete`; the next answer of the script."""
        self.requests.append(request)
        answer = self.script.pop(0) if self.script else self.default(request)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._answer(answer, on_text)
        finally:
            self.running -= 1

    async def _answer(self, answer: Answer, on_text: Callable[[str], None]) -> Completion:
        if answer.gate is not None:
            await answer.gate.wait()
        step = max(1, -(-len(answer.text) // answer.chunks))
        for i in range(0, len(answer.text), step):
            on_text(answer.text[i : i + step])
            await asyncio.sleep(0)
        if answer.error is not None:
            raise answer.error
        finish = answer.finish or ("tool_calls" if answer.tool_calls else "stop")
        return Completion(Message("assistant", answer.text, answer.tool_calls), answer.usage, finish)

    async def aclose(self) -> None:
        """Note it in `closed`."""
        self.closed = True
