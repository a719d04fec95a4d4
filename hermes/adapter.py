"""What an adapter promises, and what the gateway lends it.

An adapter speaks one platform's protocol and nothing else. Its life is one coroutine, `run`; when that ends
or raises, the supervisor
starts it anew with growing pauses (`Unauthorized` ends it for good). Foreign errors never leave an adapter.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from hermes.agent import TurnUpdate
from hermes.clock import Clock
from hermes.config import Network, PlatformSettings, Rate
from hermes.errors import NotTaken
from hermes.events import Attachment, Event, Parsed, Role, Target, Verdict, Watermark
from hermes.files import StoredFile
from hermes.messages import JSONObject

if TYPE_CHECKING:
    from aiohttp.web import UrlDispatcher

__all__ = [
    "Account",
    "Adapter",
    "AdapterContext",
    "AdapterState",
    "BuildAdapter",
    "BundlingAdapter",
    "Capabilities",
    "ChoosingAdapter",
    "CommandInfo",
    "EditingAdapter",
    "FetchingAdapter",
    "FileAdapter",
    "HttpAdapter",
    "HttpLimits",
    "Intake",
    "Keep",
    "Pace",
    "Piece",
    "Receipt",
    "StreamAdapter",
]

AdapterState = Literal["connecting", "connected", "failed", "stopped"]


def _no_group(_: str) -> bool:
    return False


def _nothing_is_stored(file: StoredFile) -> Path:
    raise FileNotFoundError(file.name)


async def _nothing_is_kept(data: bytes, name: str, *, spoken: bool = False) -> StoredFile:  # noqa: ARG001
    raise NotTaken("Nothing can be kept here.")


class Keep(Protocol):
    """Puts a file into the home."""

    async def __call__(self, data: bytes, name: str, *, spoken: bool = False) -> StoredFile:
        """The file as it is kept; on disk when this returns.

        spoken: audio in it is somebody's words to us. Raises `Rejected` for one that is too large or empty, with a
        sentence; `NotTaken` where there is no room.
        """
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """The platform's own limits on what we send; `None`: none. All must hold.

    `group` applies to chats for which `is_group(chat)` holds.
    """

    bot: Rate | None = None
    chat: Rate | None = None
    group: Rate | None = None
    is_group: Callable[[str], bool] = _no_group


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the platform can do.

    deduplicates: a piece sent again with the same key within `dedupe_window` seconds shows once.
    edits: the adapter is an `EditingAdapter`: an answer can grow in place. edit_every, edit_every_group: seconds
        between two edits of one message.
    silence: seconds without `Intake.alive` after which the connection counts as dead and is made anew;
    `None`: never. names: the platform takes the "@name" of a public chat in place of its id.
    """

    deduplicates: bool = False
    dedupe_window: float = 0.0
    typing: bool = False
    edits: bool = False
    edit_every: float = 1.5
    edit_every_group: float = 4.0
    commands: bool = True
    silence: float | None = None
    names: bool = False
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True, slots=True)
class Piece:
    """One call's worth of a rendered reply. `text`: as people see it.

    `format`: the adapter's own JSON (entities, thread), stored with it.
    `file`: what goes out with the text, which is then its caption; `more`: what goes out beside it, where one message
    of the platform holds several files (`BundlingAdapter`).
    """

    text: str
    format: JSONObject = field(default_factory=dict)
    file: StoredFile | None = None
    more: tuple[StoredFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform took it. `message_id` names the message there.

    `note`: what was done differently ("sent to General"), for the log.
    """

    message_id: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """Who a platform says we are. `notes`: sentences about what may keep it from working."""

    name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """One chat command for a platform's menu."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of the shared HTTP server: body bytes and seconds to read one."""

    body: int = 1 << 20
    read_timeout: float = 30.0


class Intake(Protocol):
    """The way in, one per platform instance."""

    async def take(self, items: Sequence[Parsed], watermark: Watermark | None = None) -> Sequence[Verdict]:
        """Judge and store.

        When this returns, verdicts and watermark are durable and the platform may be told.

        One verdict per item, in order. Raises `StoreUnavailable`: then nothing was taken and the platform
        must not be told.
        """
        ...

    async def read_watermark(self, name: str) -> str | None:
        """The stored watermark, `None` when there is none."""
        ...

    def role(self, event: Event) -> Role | None:
        """What the event's sender is now, whatever it says; `None`: he is not let in.

        For messages that cost much to read: those of strangers need not be. `take` decides, and anew.
        """
        ...

    def state(self, state: AdapterState, reason: str | None = None) -> None:
        """Report the connection's state.

        `reason` is a short constant ("unauthorized", "conflict") or a sentence without secrets.
        """
        ...

    def alive(self) -> None:
        """A poll or heartbeat has completed just now."""
        ...

    def follow(self, ticket: str) -> AsyncIterator[TurnUpdate]:
        """Everything the turn of that event shows, from its start, ending with `TurnEnded`.

        Also for turns that are over (then only that).
        """
        ...

    async def abandon(self, ticket: str) -> None:
        """Nobody waits for that volatile event any more: its turn is cancelled and closed."""
        ...


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """What an adapter is built with.

    `files`: an own directory under the home for what it must keep (made on first use).
    """

    instance: str
    clock: Clock
    network: Network
    http: HttpLimits
    files: Path
    commands: tuple[CommandInfo, ...]
    targets: Callable[[str], Target]
    """Parses "platform:chat[:thread]"; raises `ConfigError` for a target that cannot exist."""
    stored: Callable[[StoredFile], Path] = _nothing_is_stored
    """Where a file that is sent lies; it stands there until the piece has its receipt."""
    keep: Keep = _nothing_is_kept
    """For what comes inside of a message, and could not be fetched later: kept before the message is taken."""


@runtime_checkable
class Adapter(Protocol):
    """One platform instance."""

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do; the same object for the adapter's life."""
        ...

    async def run(self, intake: Intake) -> None:
        """Connect, receive, hand everything to `intake`, until cancelled.

        On cancellation the platform is told goodbye quickly (under 5 s).
        """
        ...

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:
        """The reply as pieces, in order, each within the platform's limits; pure.

        Blank text gives no piece.
        """
        ...

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        """Send one piece once. `key` is unique per piece and stable over restarts.

        `again`: an earlier try had an unknown outcome: de-duplicate or mark it visibly. Raises `NotTaken`,
        `Rejected`, `OutcomeUnknown`, `Unreachable` (not a byte was written), `Unauthorized`.
        """
        ...

    async def typing(self, target: Target) -> None:
        """Show that somebody is writing, best effort; raises `AdapterError` kinds only."""
        ...

    async def aclose(self) -> None:
        """Close connections.

        Until then `send` works, also before `run` was called and after it was cancelled.
        """
        ...


@runtime_checkable
class EditingAdapter(Adapter, Protocol):
    """An adapter whose messages can be changed after they were sent."""

    def render_live(self, markdown: str, target: Target) -> Piece | None:
        """The beginning of an answer that still grows, as one piece; pure.

        Marks that are not closed yet are left out, so that nobody sees half of them. `None` for blank text.
        """
        ...

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """Make the message say `piece`. What it says already counts as done.

        Raises `Gone`, and otherwise what `send` raises.
        """
        ...


@runtime_checkable
class FetchingAdapter(Adapter, Protocol):
    """An adapter that can fetch the files that came with a message."""

    def fetch(self, event: Event, attachment: Attachment) -> AsyncIterator[bytes]:
        """The bytes of one of the event's attachments, in order, read as they are asked for.

        Works when `send` works. Nothing is kept: each call asks the platform anew. Raises `Gone` where the file is no
        longer there or is never given out (the message says why), `NotTaken` and `Unreachable` where a later try may
        do better, `Unauthorized`.
        """
        ...


@runtime_checkable
class FileAdapter(Adapter, Protocol):
    """An adapter that can send files. `send` takes the pieces of `render_file` like any others."""

    @property
    def largest_file(self) -> int:
        """Bytes of the largest file that the platform takes from us."""
        ...

    def render_file(self, file: StoredFile, caption: str, target: Target) -> Sequence[Piece]:
        """The file as pieces, in order; pure. The first has it; a caption that is too long goes on as text.

        caption: Markdown, may be blank. The file is at most `largest_file` long.
        """
        ...


@runtime_checkable
class BundlingAdapter(FileAdapter, Protocol):
    """An adapter of a platform where an answer and its files are one message: a mail."""

    def render_reply(
        self, markdown: str, files: Sequence[tuple[StoredFile, str]], target: Target
    ) -> Sequence[Piece]:
        """The reply with its files, each with its caption, in as few pieces as the platform takes; pure.

        In place of `render` and `render_file` for a reply that has files. Text and captions may be blank. Each file is
        at most `largest_file` long; what is too much for one message goes on in the next.
        """
        ...


@runtime_checkable
class ChoosingAdapter(Adapter, Protocol):
    """An adapter that can put buttons under a message."""

    def render_choices(self, piece: Piece, choices: Sequence[str], target: Target) -> Piece:
        """The piece with a button for each choice; pure.

        choices: one to eight labels of one line, at most 60 characters each, no two alike. Who presses one says it: the
        press comes in as an `Event` whose text is the label, never read as a command, with a `dedupe_key` made of the
        press's own id, and a `replay_key` made of the message, the presser and the choice for `PRESSED_TWICE` seconds and
        while it is open.
        """
        ...


@runtime_checkable
class HttpAdapter(Adapter, Protocol):
    """An adapter that is called over the shared HTTP server."""

    def mount(self, router: UrlDispatcher, intake: Intake) -> None:
        """Add its routes. Called once, before the server listens."""
        ...


@runtime_checkable
class StreamAdapter(Adapter, Protocol):
    """An adapter that is reached over the control socket (the terminal)."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, intake: Intake) -> None:
        """Talk JSON lines with one local client until it goes.

        The peer is already known to be the home's owner.
        """
        ...


BuildAdapter = Callable[[PlatformSettings, AdapterContext], Adapter]
"""The function `build` of an adapter's package.

Imported only when an instance of the platform is switched on.
"""
