"""Telegram, Discord, Slack, e-mail, webhook and API in one daemon: outages, one person everywhere, faults."""

import random

import pytest

from bench.storm import Load, Mode, storm
from tests.acceptance.house import House
from tests.acceptance.outages import Days, settle
from tests.peers.discord import DiscordPeer
from tests.peers.mail import Dovecot, SmtpPeer
from tests.peers.slack import SlackPeer
from tests.peers.town import Town


@pytest.fixture
def town(
    house: House, discord_peer: DiscordPeer, slack_peer: SlackPeer, dovecot: Dovecot, smtp_peer: SmtpPeer
) -> Town:
    """All peers at once."""
    return Town(house.telegram, discord_peer, slack_peer, dovecot, smtp_peer)


async def test_a_platform_that_is_away_disturbs_no_other_and_loses_nothing(house: House, town: Town) -> None:
    settle(house, town)
    days = Days(house, town)
    await days.begin()
    for street in town:
        await days.without(street, 0)
    await days.end()


async def test_one_person_goes_on_by_discord_and_by_mail(house: House, town: Town) -> None:
    platforms = town.platforms()
    platforms["telegram"]["allow_from"] = ["5"]
    house.config["platforms"] = platforms
    house.config["gateway"]["sessions"] = {"dm": "per_person"}
    house.write()
    telegram, discord, email = town.telegram, town.discord, town.email
    await house.start()
    for street in town:
        await house.platform(street.name, "connected")

    await telegram.say(5, "the word is plum")
    await telegram.wait_shown(5, "echo: the word is plum")
    await telegram.say(5, "/link")
    code = _code(await telegram.wait_shown(5, "code: "))
    await discord.say(3, f"/link {code}")
    assert "We go on with the conversation" in await discord.wait_shown(3, "joined to telegram:5")
    await discord.say(3, "which word?")
    await discord.wait_shown(3, "echo: which word?")
    assert "the word is plum" in str(house.asked())

    await discord.say(3, "/link")
    code = _code(await discord.wait_shown(3, "code: "))
    await email.say(4, f"/link {code}")
    await email.wait_shown(4, "is now joined")
    await email.say(4, "and by mail?")
    await email.wait_shown(4, "echo: and by mail?")
    said = [m["content"] for m in house.asked() if m["role"] == "user"]
    assert [text.splitlines()[-1] for text in said] == ["the word is plum", "which word?", "and by mail?"]

    await telegram.say(5, "back again")
    await telegram.wait_shown(5, "echo: back again")
    assert "and by mail?" in str(house.asked())
    shown = (await house.hermes("people", "show", "telegram:5")).out
    assert "discord:" in shown
    assert f"email:{email.target(4)}" in shown
    await house.stop()
    assert not any("plum" in text for text in discord.shown(3) + email.shown(4))
    assert len(telegram.shown(5)) == 4  # two answers, the code, and word of who used it
    assert town.violations() == []


def _code(text: str) -> str:
    return text.replace("\\", "").split("code: ")[1].split()[0]


@pytest.mark.parametrize("mode", ["resend", "drop"])
def test_a_small_storm_loses_doubles_and_shuffles_nothing(mode: Mode, dovecot: Dovecot) -> None:
    load = Load(120, mode, random.SystemRandom().randrange(2**32), faults=0.15, slow_retries=False)
    print(load)
    done = storm(load)
    assert done.wrong == {}
    assert done.troubles.total() > 0
