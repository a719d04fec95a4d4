"""The Discord adapter between the Discord peer and an intake in memory that keeps the contract."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from adapters.discord.adapter import Discord, build
from adapters.discord.settings import DiscordSettings
from hermes.adapter import AdapterContext, CommandInfo, HttpLimits
from hermes.clock import Clock, SystemClock
from hermes.config import Network
from hermes.errors import ConfigError
from hermes.events import Target
from hermes.files import StoredFile
from tests.integration.telegram_desk import Desk
from tests.peers.discord.gateway import Gateway


class Served(Protocol):
    """A Discord that an adapter can be connected to."""

    token: str
    gateway: Gateway

    @property
    def base_url(self) -> str: ...

    @property
    def gateway_url(self) -> str: ...

    @property
    def cdn_url(self) -> str: ...

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> None: ...


_LONGEST = 0.1


class Hasty(SystemClock):
    """A clock for which no pause is long; `pauses` are those that were asked for."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await super().sleep(min(seconds, _LONGEST))


COMMANDS = (CommandInfo("help", "What I can do"), CommandInfo("Not Ok", "left out"), CommandInfo("stop", ""))


def _targets(text: str) -> Target:
    raise ConfigError(text)


def make_discord(
    peer: Served,
    clock: Clock | None = None,
    commands: tuple[CommandInfo, ...] = COMMANDS,
    folder: Path = Path("/nonexistent"),
    **keys: Any,
) -> Discord:
    settings = {
        "type": "discord",
        "token": peer.token,
        "base_url": peer.base_url,
        "gateway_url": peer.gateway_url,
        "cdn_url": peer.cdn_url,
        "rate": "off",
        "allow_from": ["*"],
        **keys,
    }
    context = AdapterContext(
        "discord",
        clock or SystemClock(),
        Network(),
        HttpLimits(),
        folder,
        commands,
        _targets,
        lambda file: folder / file.digest,
    )
    adapter = build(DiscordSettings.model_validate(settings), context)
    assert isinstance(adapter, Discord)
    return adapter


def stored(folder: Path, name: str, data: bytes, mime: str = "application/octet-stream") -> StoredFile:
    """A file that the home keeps in `folder`."""
    digest = hashlib.sha256(data).hexdigest()
    (folder / digest).write_bytes(data)
    return StoredFile(digest, "document", mime, name, len(data))


@asynccontextmanager
async def opened(peer: Served, **keys: Any) -> AsyncIterator[Discord]:
    """An adapter that only sends."""
    adapter = make_discord(peer, **keys)
    try:
        yield adapter
    finally:
        await adapter.aclose()


@asynccontextmanager
async def running(
    peer: Served, desk: Desk, clock: Clock | None = None, **keys: Any
) -> AsyncIterator[Discord]:
    """An adapter that listens, once it is online."""
    adapter = make_discord(peer, clock or Hasty(), **keys)
    task = asyncio.create_task(adapter.run(desk), name="run discord")
    try:
        await peer.wait_for(lambda: peer.gateway.online or task.done())
        yield adapter
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await adapter.aclose()
