"""The Slack adapter between a Slack workspace and an intake in memory that keeps the contract."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.slack.adapter import Slack, build
from adapters.slack.settings import SlackSettings
from hermes.adapter import AdapterContext, CommandInfo, HttpLimits
from hermes.clock import Clock, SystemClock
from hermes.config import Network
from hermes.errors import ConfigError
from hermes.events import Target
from hermes.files import FileKind, StoredFile
from tests.integration.telegram_desk import Desk
from tests.peers.slack import SlackPeer

COMMANDS = (CommandInfo("help", "What I can do"), CommandInfo("stop", "Stop"))


def _targets(text: str) -> Target:
    raise ConfigError(text)


def keep(folder: Path, name: str, content: bytes, kind: FileKind = "document") -> StoredFile:
    """A file as the home keeps it, where an adapter that was made with this folder finds it."""
    digest = hashlib.sha256(content).hexdigest()
    (folder / digest).write_bytes(content)
    return StoredFile(digest, kind, "application/octet-stream", name, len(content))


def make_adapter(
    peer: SlackPeer, clock: Clock | None = None, folder: Path = Path("/nonexistent"), **keys: Any
) -> Slack:
    """The adapter. folder: what it keeps, and what it sends."""
    settings = SlackSettings.model_validate({"type": "slack", **peer.settings(), **keys})
    context = AdapterContext(
        "slack", clock or SystemClock(), Network(), HttpLimits(), folder, COMMANDS, _targets,
        lambda file: folder / file.digest,
    )  # fmt: skip
    adapter = build(settings, context)
    assert isinstance(adapter, Slack)
    return adapter


@asynccontextmanager
async def opened(peer: SlackPeer, folder: Path = Path("/nonexistent"), **keys: Any) -> AsyncIterator[Slack]:
    """An adapter that only sends."""
    adapter = make_adapter(peer, folder=folder, **keys)
    try:
        yield adapter
    finally:
        await adapter.aclose()


@asynccontextmanager
async def running(
    peer: SlackPeer, desk: Desk, clock: Clock | None = None, **keys: Any
) -> AsyncIterator[asyncio.Task[None]]:
    """An adapter that listens."""
    adapter = make_adapter(peer, clock, **keys)
    task = asyncio.create_task(adapter.run(desk), name="run slack")
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await adapter.aclose()
