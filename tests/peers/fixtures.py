"""Fixtures that start peers in the test's own loop and complain about calls that no correct client makes."""

from collections.abc import AsyncIterator

import pytest

from tests.peers.discord import DiscordPeer
from tests.peers.model import ModelPeer
from tests.peers.slack import SlackPeer
from tests.peers.telegram import TelegramPeer


@pytest.fixture
async def telegram_peer() -> AsyncIterator[TelegramPeer]:
    """A running Bot API server without flood limits; fails the test at its end if there were violations.

    A test that provokes violations clears `peer.violations` after looking at them.
    """
    async with TelegramPeer() as peer:
        yield peer
        assert peer.violations == []


@pytest.fixture
async def model_peer() -> AsyncIterator[ModelPeer]:
    """A running model server with all checks; fails the test at its end if there were violations."""
    async with ModelPeer() as peer:
        yield peer
        assert peer.violations == []


@pytest.fixture
async def slack_peer() -> AsyncIterator[SlackPeer]:
    """A running Slack workspace; fails the test at its end if there were violations."""
    async with SlackPeer() as peer:
        yield peer
        assert peer.violations == []


@pytest.fixture
async def discord_peer() -> AsyncIterator[DiscordPeer]:
    """A running Discord without rate limits; fails the test at its end if there were violations."""
    async with DiscordPeer() as peer:
        yield peer
        assert [*peer.violations, *peer.gateway.violations] == []
