"""A whole adapter, as small as one can be: it speaks to a chat room that lives in this process.

What a real one has in its package is here in one file: the platform's client (`Room`), the settings, `parse` and
`render` (pure), the adapter, and `build`. tests/contract/test_adapter.py runs it through the adapters' contract.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import Field

from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Piece, Receipt
from hermes.config import PlatformSettings
from hermes.errors import OutcomeUnknown, Rejected, Unreachable
from hermes.events import Event, Ignored, Parsed, Sender, Target, Unparsable, Watermark

__all__ = [
    "LIMIT",
    "ROOMS",
    "Away",
    "Lost",
    "Memory",
    "MemorySettings",
    "Muted",
    "Room",
    "build",
    "parse",
    "render",
]

LIMIT = 500
"""Characters of one line in a room."""


# --- the platform: a stand-in for its SDK ----------------------------------------------------------------------


class Away(Exception):
    """The room cannot be reached."""


class Lost(Exception):
    """The line was shown, but the answer that says so got lost."""


class Muted(Exception):
    """The room refuses this line."""


@dataclass
class Room:
    """A chat room. `written`: what people wrote. `shown`: what we wrote, by key. `trouble`: raised by the next call."""

    written: list[object] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)
    trouble: type[Away | Lost | Muted] | None = None
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def write(self, line: object) -> None:
        """Somebody writes."""
        async with self.news:
            self.written.append(line)
            self.news.notify_all()

    async def lines_after(self, number: int) -> Sequence[object]:
        """Wait for lines beyond the first `number`, and return them."""
        async with self.news:
            await self.news.wait_for(lambda: len(self.written) > number)
            return self.written[number:]

    async def show(self, key: str, text: str) -> str:
        """Show a line once per key; its number."""
        trouble, self.trouble = self.trouble, None
        if trouble in (Away, Muted):
            raise trouble
        self.shown.setdefault(key, text)
        if trouble is not None:
            raise trouble
        return str(list(self.shown).index(key))


ROOMS: dict[str, Room] = {}
"""Rooms by name: the network of this platform."""


# --- the adapter -----------------------------------------------------------------------------------------------


class MemorySettings(PlatformSettings):
    """`platforms.memory`."""

    room: str = Field(description="The room's name.")


def parse(line: object, number: int, instance: str, room: str) -> Parsed:
    """One line as one `Parsed`; pure, and no line can raise, for the next one must not suffer from it."""
    match line:
        case {"from": str(sender), "text": str(text)} if text:
            target = Target(instance, room)
            return Event(
                platform="memory",
                instance=instance,
                account="me",
                kind="group",
                chat=room,
                sender=Sender(sender),
                text=text,
                dedupe_key=f"{room}:{number}",  # the line's own identity, not that of its delivery
                reply_to=(target,),
            )
        case {"from": str()}:
            return Ignored("no text")
        case _:
            return Unparsable(repr(line), "it has no sender")


def render(markdown: str) -> Sequence[Piece]:
    """Lines of at most `LIMIT` characters; this room shows Markdown as it is."""
    text = markdown.strip()
    return [Piece(text[i : i + LIMIT]) for i in range(0, len(text), LIMIT)]


class Memory:
    """One room."""

    capabilities = Capabilities(deduplicates=True, dedupe_window=3600.0)

    def __init__(self, settings: MemorySettings, context: AdapterContext) -> None:
        self._instance = context.instance
        self._name = settings.room
        self._room = ROOMS[settings.room]

    async def run(self, intake: Intake) -> None:
        """Read lines for ever. The watermark says how many were taken; it is stored with them."""
        intake.state("connecting")
        name = f"lines:{self._name}"
        taken = int(await intake.read_watermark(name) or "0")
        intake.state("connected")
        while True:
            lines = await self._room.lines_after(taken)
            items = [parse(line, taken + i, self._instance, self._name) for i, line in enumerate(lines)]
            # Raises StoreUnavailable when nothing can be stored: then we are started anew, from the old mark.
            await intake.take(items, Watermark(self._instance, name, str(taken + len(lines))))
            taken += len(lines)
            intake.alive()

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:  # noqa: ARG002  the contract's form
        """See `Adapter.render`."""
        return render(markdown)

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:  # noqa: ARG002  the room knows its keys
        """See `Adapter.send`."""
        if target.chat != self._name:
            raise Rejected(f"There is no room {target.chat!r} here.")
        with _translated():
            return Receipt(await self._room.show(key, piece.text))

    async def typing(self, target: Target) -> None:
        """Nothing: a room does not show it."""

    async def aclose(self) -> None:
        """Nothing is open."""


@contextmanager
def _translated() -> Iterator[None]:
    """The platform's errors as ours, in one place."""
    try:
        yield
    except Away as error:
        raise Unreachable("The room cannot be reached.") from error
    except Lost as error:
        raise OutcomeUnknown("The room took the line and did not answer.") from error
    except Muted as error:
        raise Rejected("The room refuses this line.") from error


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, MemorySettings):
        raise TypeError(f"memory got {type(settings).__name__}")
    return Memory(settings, context)
