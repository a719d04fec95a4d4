"""Scenes for a test, ended whatever happens."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.crash.house import House, MakeHouse
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer


@pytest.fixture
async def make_house(tmp_path: Path) -> AsyncIterator[MakeHouse]:
    """Return what makes a `House` with peers of its own; keywords go to the settings under `gateway`."""
    houses: list[House] = []
    async with AsyncExitStack() as stack:

        async def make(**gateway: Any) -> House:
            model = await stack.enter_async_context(ModelPeer())
            telegram = await stack.enter_async_context(TelegramPeer())
            house = House(tmp_path / f"house{len(houses)}", model, telegram, **gateway)
            stack.push_async_callback(house.aclose)
            houses.append(house)
            return house

        yield make
    for house in houses:
        assert house.model.violations == []
        assert house.telegram.violations == []
