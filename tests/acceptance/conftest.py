"""A house for each test, empty of processes at its end."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.house import House, opened
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer


@pytest.fixture
async def house(tmp_path: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer) -> AsyncIterator[House]:
    """Return a house with all platforms; its daemon is not started."""
    async with opened(tmp_path, model_peer, telegram_peer) as house:
        yield house
