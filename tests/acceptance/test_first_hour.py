"""The first hour of somebody new still goes as docs/first-hour.md shows it."""

from pathlib import Path

import pytest

from tests.acceptance.first_hour import PAGE, as_page, commands, walk
from tests.peers.model import ModelPeer
from tests.peers.telegram import TelegramPeer


@pytest.mark.timeout(400)  # some thirty commands one after the other
async def test_the_first_hour_goes_as_the_page_shows(
    tmp_path: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer
) -> None:
    page = as_page(await walk(tmp_path, model_peer, telegram_peer))
    assert commands(page) == commands(PAGE.read_text(encoding="utf-8"))
