"""Platforms behind adapters, as a contract test sees them: what is shown, who writes, what goes wrong."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from adapters.api.adapter import build as build_api
from adapters.api.settings import ApiSettings
from adapters.terminal.adapter import build as build_terminal
from adapters.terminal.settings import TerminalSettings
from adapters.webhook.adapter import build as build_webhook
from adapters.webhook.settings import WebhookSettings
from examples.adapter_memory import LIMIT, ROOMS, Away, Lost, MemorySettings, Muted, Room
from examples.adapter_memory import build as build_memory
from hermes.adapter import Adapter, AdapterContext, AdapterState, HttpLimits, Piece
from hermes.clock import Clock, SystemClock
from hermes.config import Network
from hermes.errors import ConfigError, OutcomeUnknown, Rejected, StoreUnavailable, Unreachable
from hermes.events import Attachment, Event, Parsed, Sender, Target, Unparsable, Verdict, Watermark
from hermes.files import FileKind, StoredFile
from hermes.testing import FakeAdapter
from tests.integration.telegram_desk import Desk, make_adapter
from tests.peers.telegram import Fault, ShownMessage, TelegramPeer, refusal, units


class Platform(Protocol):
    """A platform that can be sent to, with a target there."""

    @property
    def adapter(self) -> Adapter: ...

    @property
    def target(self) -> Target: ...

    @property
    def limit(self) -> int: ...

    def size(self, text: str) -> int:
        """In the unit that the platform counts by."""

    def shown(self) -> list[str]:
        """Texts that people see, in order."""

    async def lose(self) -> None:
        """The next send is shown, but its answer gets lost."""

    async def refuse(self) -> None:
        """The next send is refused for good."""

    async def go_away(self) -> None:
        """From now on nothing can be reached."""


@dataclass(frozen=True)
class Got:
    """A file as people got it: its name there, its bytes, and the words that stand with it."""

    name: str
    data: bytes
    caption: str


@dataclass
class Depot:
    """Where files lie that an adapter sends: its `AdapterContext.stored` is `path`."""

    folder: Path

    def put(
        self, data: bytes, name: str, kind: FileKind = "document", mime: str = "application/octet-stream"
    ) -> StoredFile:
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / digest).write_bytes(data)
        return StoredFile(digest, kind, mime, name, len(data))

    def path(self, file: StoredFile) -> Path:
        return self.folder / file.digest


class Receiving(Platform, Protocol):
    """A platform that people write on."""

    def build(self, clock: Clock) -> Adapter:
        """An adapter as a new process would make it."""

    async def write(self, text: str) -> None:
        """Somebody writes."""

    async def write_nonsense(self) -> None:
        """Something that no program can read comes in."""


class Filing(Receiving, Protocol):
    """A platform with files, both ways. What `lose` and `refuse` say holds for files too."""

    @property
    def depot(self) -> Depot: ...

    def got(self) -> list[Got]:
        """The files that people see, in order. `shown` has the words of messages without a file."""

    async def write_file(self, text: str, name: str, data: bytes) -> None:
        """Somebody sends a file, and words with it."""

    async def take_away(self) -> None:
        """No file that was sent to us can be had any longer."""


def context(instance: str, clock: Clock | None = None) -> AdapterContext:
    def targets(text: str) -> Target:
        raise ConfigError(text)

    return AdapterContext(
        instance, clock or SystemClock(), Network(), HttpLimits(), Path("/nonexistent"), (), targets
    )


class Choosing(Receiving, Protocol):
    """A platform with buttons under its messages."""

    def buttons(self) -> list[list[str]]:
        """What the buttons under each of our messages say, in order; none under a message without."""

    async def press(self, label: str) -> None:
        """Who writes (`write`) presses the newest button of that name."""

    def pressed(self) -> int:
        """How many presses the platform was told of that they were taken."""


@dataclass
class Fake:
    depot: Depot
    adapter: FakeAdapter = field(default_factory=FakeAdapter)
    target: Target = field(default_factory=lambda: Target("fake", "1"))

    _written: int = 0

    def __post_init__(self) -> None:
        self.adapter.stored = self.depot.path

    @property
    def limit(self) -> int:
        return self.adapter.limit + len("(again) ")

    def size(self, text: str) -> int:
        return len(text)

    def shown(self) -> list[str]:
        return [text for text, piece in self._seen() if piece.file is None]

    def got(self) -> list[Got]:
        bare = [
            text.replace(f"[{piece.file.name}]", "", 1).strip() for text, piece in self._seen() if piece.file
        ]
        return [
            Got(file.name, data, words) for (file, data), words in zip(self.adapter.files, bare, strict=True)
        ]

    def _seen(self) -> list[tuple[str, Piece]]:
        return [
            (text, piece) for (_, text, _), piece in zip(self.adapter.sent, self.adapter.pieces, strict=True)
        ]

    def build(self, clock: Clock) -> Adapter:
        return self.adapter

    async def write(self, text: str) -> None:
        await self._take(self._event(text))

    async def write_nonsense(self) -> None:
        await self._take(Unparsable("?", "nonsense"))

    async def write_file(self, text: str, name: str, data: bytes) -> None:
        ref = f"file {len(self.adapter.contents)}"
        self.adapter.contents[ref] = data
        await self._take(replace(self._event(text), attachments=(Attachment("document", ref, name),)))

    async def take_away(self) -> None:
        self.adapter.contents.clear()

    def _event(self, text: str) -> Event:
        self._written += 1
        return Event(
            *("fake", "fake", "bot", "direct", "1", Sender("1"), text, f"key {self._written}"),
            reply_to=(self.target,),
        )

    async def _take(self, item: Parsed) -> None:
        await self.adapter.started.wait()
        assert self.adapter.intake is not None
        await self.adapter.intake.take([item])

    async def lose(self) -> None:
        self.adapter.failures.append(OutcomeUnknown())

    async def refuse(self) -> None:
        self.adapter.failures.append(Rejected())

    async def go_away(self) -> None:
        self.adapter.failures += [Unreachable()] * 9


class Telegram:
    target = Target("telegram", "5")
    limit = 4096

    def __init__(self, peer: TelegramPeer, depot: Depot | None = None) -> None:
        self.peer = peer
        self.depot = depot or Depot(Path("/nonexistent"))
        peer.add_chat(5)
        self.adapter = self.build(SystemClock())

    @classmethod
    async def open(cls, depot: Depot) -> "Telegram":
        """A server of its own."""
        return cls(await TelegramPeer().start(), depot)

    async def aclose(self) -> None:
        """End the server."""
        await self.peer.stop()
        assert self.peer.violations == []

    def build(self, clock: Clock) -> Adapter:
        return make_adapter(self.peer, clock, stored=self.depot.path)

    def size(self, text: str) -> int:
        return units(text)

    def shown(self) -> list[str]:
        return [message.text for message in self._ours() if message.media is None]

    def got(self) -> list[Got]:
        return [Got(m.file_name or "", m.file_data, m.text) for m in self._ours() if m.media is not None]

    def _ours(self) -> list[ShownMessage]:
        return [message for message in self.peer.chats[5] if message.from_bot]

    async def lose(self) -> None:
        for method in ("sendMessage", "sendDocument"):
            self.peer.faults.add(method, Fault("lost"))

    async def refuse(self) -> None:
        for method in ("sendMessage", "sendDocument"):
            self.peer.faults.add(method, refusal(403, "Forbidden: bot was blocked by the user"))

    async def go_away(self) -> None:
        await self.peer.stop()

    async def write(self, text: str) -> None:
        self.peer.push_text(text, 5)

    async def write_file(self, text: str, name: str, data: bytes) -> None:
        self.peer.push_document(data, 5, name=name, caption=text)

    async def take_away(self) -> None:
        self.peer.world.files.clear()

    def buttons(self) -> list[list[str]]:
        return [list(message.buttons) for message in self._ours()]

    async def press(self, label: str) -> None:
        self.peer.push_press(label, 5)

    def pressed(self) -> int:
        return len(self.peer.world.callback_answers)

    async def write_nonsense(self) -> None:
        self.peer.push_raw({"message": {"text": 7, "chat": "?"}})


class Memory:
    """examples/adapter_memory.py"""

    target = Target("memory", "lobby")
    limit = LIMIT

    def __init__(self) -> None:
        self.room = ROOMS["lobby"] = Room()
        self.adapter = self.build(SystemClock())

    def build(self, clock: Clock) -> Adapter:
        return build_memory(MemorySettings(room="lobby"), context("memory", clock))

    def size(self, text: str) -> int:
        return len(text)

    def shown(self) -> list[str]:
        return list(self.room.shown.values())

    async def lose(self) -> None:
        self.room.trouble = Lost

    async def refuse(self) -> None:
        self.room.trouble = Muted

    async def go_away(self) -> None:
        self.room.trouble = Away

    async def write(self, text: str) -> None:
        await self.room.write({"from": "ana", "text": text})

    async def write_nonsense(self) -> None:
        await self.room.write("?")


def unsendable() -> list[Adapter]:
    """Adapters whose platforms are only answered, never written to."""
    return [
        build_webhook(WebhookSettings(), context("webhook")),
        build_api(ApiSettings.model_validate({"key": "the-key"}), context("api")),
        build_terminal(TerminalSettings(), context("terminal")),
    ]


@dataclass
class Book(Desk):
    """A desk that also notes each batch that was stored: its items, and its watermark."""

    batches: list[tuple[list[Parsed], Watermark | None]] = field(default_factory=list)
    connected: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def items(self) -> list[Parsed]:
        return [item for items, _ in self.batches for item in items]

    async def take(self, items: Sequence[Parsed], watermark: Watermark | None = None) -> Sequence[Verdict]:
        verdicts = await super().take(items, watermark)
        self.batches.append((list(items), watermark))
        await self._tell()
        return verdicts

    def state(self, state: AdapterState, reason: str | None = None) -> None:
        super().state(state, reason)
        if state == "connected":
            self.connected.set()


@asynccontextmanager
async def running(adapter: Adapter, desk: Desk) -> AsyncIterator[asyncio.Task[None]]:
    """The adapter at work; like the gateway's supervisor it is started anew when it ends with an error."""

    async def keep_running() -> None:
        while True:
            try:
                await adapter.run(desk)
            except StoreUnavailable:
                await asyncio.sleep(0)

    task = asyncio.create_task(keep_running(), name="run")
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,), timeout=5)
        assert task.cancelled()
