"""Discord through the installed command: set up, conversations in all places, trouble that passes and that does not."""

import json

import pytest

from tests.acceptance.house import House
from tests.peers.discord import BOT_ID, DiscordPeer, Fault, File
from tests.peers.model.script import says

US = f"<@{BOT_ID}>"
OFFER = '[[tool=offer_choices {"choices": ["Yes", "/new"]}]]'


@pytest.fixture
def discord(house: House, discord_peer: DiscordPeer) -> DiscordPeer:
    """A server with the bot in it."""
    house.config["platforms"] = {
        "discord": {
            "token": discord_peer.token,
            "base_url": discord_peer.base_url,
            "gateway_url": discord_peer.gateway_url,
            "cdn_url": discord_peer.cdn_url,
            "allow_from": ["*"],
            "rate": "off",
        }
    }
    house.write()
    return discord_peer


async def test_conversations_in_all_places_over_two_lives(house: House, discord: DiscordPeer) -> None:
    discord.add_channel("9", "thread", parent="11", joined=True)
    await house.start()
    await house.platform("discord", "connected")

    discord.push_text("first")
    await discord.wait_text("5", "echo: first")
    discord.push_text("second")
    await discord.wait_text("5", "echo: second")
    assert [m["role"] for m in house.asked()][-3:] == ["user", "assistant", "user"]

    # DC-15: a thread has a conversation of its own
    discord.push_text("nobody was spoken to", "11")
    discord.push_text(f"{US} in the channel", "11")
    await discord.wait_text("11", "in the channel")
    discord.push_text("in the thread", "9")
    await discord.wait_text("9", "in the thread")
    assert "in the channel" not in str(house.asked())
    assert len(house.rows("SELECT DISTINCT session_key FROM inbox")) == 3

    # DC-11: a slow slash command is deferred at once, and its one answer takes that place
    slow = discord.push_command("ask", "slow [[delay=2500]]")
    await discord.wait_for(lambda: slow.state == "deferred", 3.0)
    await discord.wait_for(lambda: slow.state == "replied")
    discord.push_command("help", channel="11")
    await discord.wait_text("11", "/stop")
    names = {c["name"] for c in discord.world.commands}
    assert {"ask", "help", "new", "stop"} <= names

    # DC-05: a file alone is answered, and its words are read; DC-06: a bot is not answered
    discord.push_text("", "7", files=[File("note.txt", "text/plain", b"the word is heron")])
    await discord.wait_text("7", "echo: ")
    assert "the word is heron" in str(house.asked())
    discord.push_text(f"{US} I am a bot", "11", "77", bot=True)

    # an answer that grows in one message
    house.model.script.add(says("word " * 60, chunks=30, every=0.1))
    discord.push_text("tell", "8")
    await discord.wait_for(lambda: bool(discord.calls("PATCH message", where="8")), 20)
    await discord.wait_for(lambda: discord.texts("8") == [("word " * 60).strip()], 20)

    # an answer with buttons; one is pressed now, the other in the next life
    discord.push_text(f"ask me {OFFER}", "4")
    await discord.wait_for(lambda: discord.buttons("4") == [["Yes", "/new"]], 20)
    taps = [discord.push_press("/new", "4") for _ in range(2)]
    await discord.wait_text("4", "/new")
    assert {tap.state for tap in taps} == {"noted"}

    # a pause that Discord asks for is kept to
    discord.faults.add("POST message", Fault("status", 429, parameters={"seconds": 0.3}))
    discord.push_text("third")
    await discord.wait_text("5", "echo: third")
    await house.stop()

    discord.push_text("while it was away")
    discord.push_text(f"{US} away in the channel", "11")
    await house.start()
    discord.push_press("Yes", "4")
    await discord.wait_text("5", "while it was away", 20)
    await discord.wait_text("11", "away in the channel", 20)
    await discord.wait_for(lambda: len(discord.texts("4")) == 3, 20)
    assert len(house.rows("SELECT DISTINCT session_key FROM inbox WHERE session_key LIKE '%:4'")) == 1
    await house.stop()
    assert {c: len(discord.texts(c)) for c in ("5", "7", "8", "9")} == {"5": 4, "7": 1, "8": 1, "9": 1}
    assert len(discord.texts("11")) == 4
    assert "I am a bot" not in str(house.rows("SELECT text FROM outbox"))


async def test_what_a_person_must_do_is_said(house: House, discord: DiscordPeer) -> None:
    discord.gateway.grants_content = False
    await house.start()
    told = await house.platform("discord", "failed")
    assert (told["reason"], told["setting"]) == ("unauthorized", None)
    await house.said("Message Content Intent")
    await house.stop()


async def test_a_bot_is_added_and_what_is_wrong_with_it_is_told(house: House, discord: DiscordPeer) -> None:
    del house.config["platforms"]["discord"]
    house.write()
    words = ("gateway", "add", "discord", "--token", "-", "--allow", "500", "--json")
    where = ("--base-url", discord.base_url, "--gateway-url", discord.gateway_url)
    refused = await house.hermes(*words, *where, stdin="another.bots.token")
    assert refused.code == 1
    assert "refused the bot's token" in refused.err
    discord.world.app_flags = 0
    done = await house.hermes(*words, *where, stdin=discord.token)
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert (said["account"], said["variables"]) == ("@peer_bot", ["DISCORD_TOKEN"])
    assert "Message Content Intent" in said["notes"][0]
    assert f"client_id={BOT_ID}" in said["notes"][1]
    assert discord.token not in done.out + (house.home / "config.yaml").read_text()
    twin = await house.hermes(*words, *where, "--name", "second", stdin=discord.token)
    assert "platforms.second.token is the token of platforms.discord too" in twin.err
