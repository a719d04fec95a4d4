"""The Telegram adapter between the Bot API peer and an intake in memory that keeps the contract."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.telegram.adapter import Telegram, build
from adapters.telegram.settings import TelegramSettings
from hermes.adapter import AdapterContext, AdapterState, CommandInfo, HttpLimits
from hermes.agent import TurnUpdate
from hermes.clock import Clock, SystemClock
from hermes.config import Network
from hermes.errors import ConfigError, StoreUnavailable
from hermes.events import Deleted, Event, Ignored, Parsed, Role, Target, Unparsable, Verdict, Watermark
from hermes.files import StoredFile
from hermes.testing import FakeClock, ScriptedModel
from tests.gatewayrig import OPEN, Rig, rig
from tests.peers.telegram import TelegramPeer

_PATIENCE = 20.0  # real seconds, so that what never comes ends a test


@dataclass
class Desk:
    """An intake: keeps items and watermarks together, as one transaction would; a full disk takes nothing."""

    events: list[Event] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    deleted: list[Deleted] = field(default_factory=list)
    unparsable: list[Unparsable] = field(default_factory=list)
    watermarks: dict[str, str] = field(default_factory=dict)
    states: list[tuple[AdapterState, str | None]] = field(default_factory=list)
    duplicates: int = 0
    refusals: int = 0
    is_full: bool = False
    gate: asyncio.Event | None = None  # a commit waits for it
    roles: dict[str, Role | None] = field(default_factory=dict)  # of whom is no member
    taking: asyncio.Event = field(default_factory=asyncio.Event)
    beats: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, items: Sequence[Parsed], watermark: Watermark | None = None) -> Sequence[Verdict]:
        self.taking.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.is_full:
            self.refusals += 1
            await self._tell()
            raise StoreUnavailable
        verdicts = [self._judge(item) for item in items]
        if watermark is not None:
            self.watermarks[watermark.name] = watermark.value
        await self._tell()
        return verdicts

    def _judge(self, item: Parsed) -> Verdict:
        if isinstance(item, Ignored):
            self.ignored.append(item.reason)
            return Verdict("ignored", reason=item.reason)
        if isinstance(item, Deleted):
            self.deleted.append(item)
            return Verdict("ignored", reason="deleted")
        if isinstance(item, Unparsable):
            self.unparsable.append(item)
            return Verdict("unparsable")
        if any(_is_again(item, known) for known in self.events):
            self.duplicates += 1
            return Verdict("duplicate")
        self.events.append(item)
        return Verdict("accepted", f"t{len(self.events)}")

    async def read_watermark(self, name: str) -> str | None:
        return self.watermarks.get(name)

    def role(self, event: Event) -> Role | None:
        return self.roles.get(event.sender.id, "member")

    def state(self, state: AdapterState, reason: str | None = None) -> None:
        self.states.append((state, reason))

    def alive(self) -> None:
        self.beats += 1

    async def follow(self, ticket: str) -> AsyncIterator[TurnUpdate]:
        nothing: tuple[TurnUpdate, ...] = ()  # nobody follows what came by chat
        for update in nothing:
            yield update

    async def abandon(self, ticket: str) -> None:
        raise NotImplementedError

    async def until(self, predicate: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE), self.changed:
            await self.changed.wait_for(predicate)

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()


def _is_again(item: Event, known: Event) -> bool:
    """The same message, or what may not be taken twice soon after."""
    twice = item.replay_key is not None and item.replay_key == known.replay_key
    return twice or item.dedupe_key == known.dedupe_key


def _targets(text: str) -> Target:
    raise ConfigError(text)


def _nothing_stored(file: StoredFile) -> Path:
    raise FileNotFoundError(file.name)


def make_adapter(
    peer: TelegramPeer,
    clock: Clock | None = None,
    *,
    stored: Callable[[StoredFile], Path] = _nothing_stored,
    **keys: Any,
) -> Telegram:
    settings = {"type": "telegram", "token": peer.token, "base_url": peer.base_url, "rate": "off", **keys}
    commands = (CommandInfo("help", "What I can do"), CommandInfo("Not-Ok", "left out"), CommandInfo("x", ""))
    context = AdapterContext(
        "telegram",
        clock or SystemClock(),
        Network(),
        HttpLimits(),
        Path("/nonexistent"),
        commands,
        _targets,
        stored,
    )
    adapter = build(TelegramSettings.model_validate(settings), context)
    assert isinstance(adapter, Telegram)
    return adapter


@asynccontextmanager
async def opened(peer: TelegramPeer, **keys: Any) -> AsyncIterator[Telegram]:
    """An adapter that only sends."""
    adapter = make_adapter(peer, **keys)
    try:
        yield adapter
    finally:
        await adapter.aclose()


@asynccontextmanager
async def running(
    peer: TelegramPeer, desk: Desk, clock: Clock | None = None, **keys: Any
) -> AsyncIterator[asyncio.Task[None]]:
    """An adapter that polls."""
    adapter = make_adapter(peer, clock, **keys)
    task = asyncio.create_task(adapter.run(desk), name="run telegram")
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await adapter.aclose()


@asynccontextmanager
async def conversing(
    root: Path, peer: TelegramPeer, model: ScriptedModel, config: str = OPEN, **keys: Any
) -> AsyncIterator[Rig]:
    """A gateway that hears the peer, and answers there."""
    adapter = make_adapter(peer, **keys)
    async with rig(root, model=model, platform=adapter, config=config) as g:
        task = asyncio.create_task(adapter.run(g.core.intake("telegram")), name="run telegram")
        try:
            yield g
        finally:
            task.cancel()
            await asyncio.wait((task,))
            await adapter.aclose()


async def pass_time(clock: FakeClock, seconds: float, done: Callable[[], bool]) -> float:
    """Let fake time pass whenever the adapter sleeps, for `seconds` or until `done`; return what passed."""
    began = clock.monotonic()
    async with asyncio.timeout(_PATIENCE):
        while clock.monotonic() - began < seconds and not done():
            if clock.sleeping:
                await clock.advance(1.0)
            else:
                await asyncio.sleep(0)
    return clock.monotonic() - began
