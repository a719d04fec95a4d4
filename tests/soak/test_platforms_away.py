"""Each platform is away for a minute, one after the other, while people write on all of them."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.house import House, opened
from tests.acceptance.outages import Days, settle
from tests.peers.discord import DiscordPeer
from tests.peers.mail import Dovecot, SmtpPeer
from tests.peers.model import ModelPeer
from tests.peers.slack import SlackPeer
from tests.peers.telegram import TelegramPeer
from tests.peers.town import Town

_SECONDS = float(os.environ.get("AWAY_SECONDS", "60"))


@pytest.fixture
async def house(tmp_path: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer) -> AsyncIterator[House]:
    """Return a house; its daemon is not started."""
    async with opened(tmp_path, model_peer, telegram_peer) as house:
        yield house


async def test_a_minute_away_disturbs_no_other_and_loses_nothing(
    house: House, discord_peer: DiscordPeer, slack_peer: SlackPeer, dovecot: Dovecot, smtp_peer: SmtpPeer
) -> None:
    town = Town(house.telegram, discord_peer, slack_peer, dovecot, smtp_peer)
    settle(house, town)
    days = Days(house, town)
    await days.begin()
    for street in town:
        await days.without(street, _SECONDS)
        print(f"{street.name} was away")
    await days.end()
