"""A scene for each test, ended whatever happens."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.house import House, MakeHouse
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer


@pytest.fixture
async def make_house(
    tmp_path: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer
) -> AsyncIterator[MakeHouse]:
    """Return what makes a `House`; keywords go to the settings under `gateway`."""
    houses: list[House] = []

    def make(**gateway: Any) -> House:
        houses.append(House(tmp_path, model_peer, telegram_peer, **gateway))
        return houses[-1]

    yield make
    for house in houses:
        await house.aclose()
