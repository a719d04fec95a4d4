"""A house whose roads to the model and to Telegram can be made bad."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.house import House, opened
from tests.peers.chaos import ChaosProxy
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer


@dataclass(frozen=True)
class Scene:
    """A house and both its roads; the daemon is not started."""

    house: House
    to_model: ChaosProxy
    to_telegram: ChaosProxy


@pytest.fixture
async def house(tmp_path: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer) -> AsyncIterator[House]:
    """Return a house with all platforms; its daemon is not started."""
    async with opened(tmp_path, model_peer, telegram_peer) as house:
        yield house


@pytest.fixture
async def scene(house: House) -> AsyncIterator[Scene]:
    """Return it with a proxy on each road; what hangs is given up soon."""
    async with (
        ChaosProxy(house.model.server.port) as to_model,
        ChaosProxy(house.telegram.server.port) as to_telegram,
    ):
        llm, telegram = house.config["llm"], house.config["platforms"]["telegram"]
        llm["custom"]["base_url"] = f"{to_model.base}/v1"
        llm["timeouts"] = {"connect": "2s", "first_byte": "2s", "silence": "2s", "total": "120s"}
        llm["tries"] = 20
        telegram["base_url"] = f"{to_telegram.base}/bot"
        telegram["poll_timeout"] = "2s"
        house.write()
        yield Scene(house, to_model, to_telegram)
        await house.aclose()
