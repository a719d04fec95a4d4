"""Discord under the real gateway, whose pace is enough for a server that enforces its limits; and two Discords at once."""

from pathlib import Path

from adapters.discord.adapter import Discord
from hermes.events import Target
from tests.gatewayrig import rig
from tests.integration.discord_desk import make_discord, running
from tests.integration.telegram_desk import Desk
from tests.peers.discord import DiscordPeer

CONFIG = """
platforms:
  telegram: {allow_from: ["*"]}
gateway:
  limits: {rate: "off"}
"""


async def test_D6_the_default_pace_meets_no_429_and_another_channel_does_not_wait(
    discord_peer: DiscordPeer, tmp_path: Path
) -> None:
    discord_peer.enforce_rate = True
    adapter: Discord = make_discord(discord_peer, rate="default")
    async with rig(tmp_path / "home", config=CONFIG, platform=adapter) as g:
        for n in range(7):
            await g.send(f"{n}", chat="11", reply_to=(Target("telegram", "11"),))
        await discord_peer.wait_for(lambda: len(discord_peer.texts("11")) == 5)
        await g.send("other", chat="5")
        await discord_peer.wait_for(lambda: len(discord_peer.texts("11")) == 7)
        await discord_peer.wait_text("5", "echo: other")
    await adapter.aclose()
    places = [call.params["where"] for call in discord_peer.calls("POST message")]
    assert places.index("5") < 7  # before the last of the other channel
    assert discord_peer.texts("11") == [f"echo: {n}" for n in range(7)]
    assert [c for c in discord_peer.calls() if c.status == 429] == []


async def test_two_bots_on_two_servers_do_not_meet(discord_peer: DiscordPeer) -> None:
    async with DiscordPeer(token="another.bots.token") as second:
        here, there = Desk(), Desk()
        async with running(discord_peer, here), running(second, there):
            discord_peer.push_text("here")
            second.push_text("there")
            await here.until(lambda: len(here.events) == 1)
            await there.until(lambda: len(there.events) == 1)
        assert [d.events[0].text for d in (here, there)] == ["here", "there"]
        assert second.gateway.violations == second.violations == []
