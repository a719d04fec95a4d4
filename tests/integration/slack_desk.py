"""The Slack adapter between a Slack workspace and an intake in memory that keeps the contract."""

import asyncio
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
from tests.integration.telegram_desk import Desk
from tests.peers.slack import SlackPeer

COMMANDS = (CommandInfo("help", "What I can do"), CommandInfo("stop", "Stop"))


def _targets(text: str) -> Target:
    raise ConfigError(text)


def make_adapter(peer: SlackPeer, clock: Clock | None = None, **keys: Any) -> Slack:
    settings = SlackSettings.model_validate({"type": "slack", **peer.settings(), **keys})
    context = AdapterContext(
        "slack", clock or SystemClock(), Network(), HttpLimits(), Path("/nonexistent"), COMMANDS, _targets
    )
    adapter = build(settings, context)
    assert isinstance(adapter, Slack)
    return adapter


@asynccontextmanager
async def opened(peer: SlackPeer, **keys: Any) -> AsyncIterator[Slack]:
    """An adapter that only sends."""
    adapter = make_adapter(peer, **keys)
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
