"""What people write on Discord comes in once, whatever the connection goes through."""

from hermes.events import Target
from tests.integration.discord_desk import running
from tests.integration.telegram_desk import Desk
from tests.peers.discord import BOT_ID, DiscordPeer


def texts(desk: Desk) -> list[str]:
    return [event.text for event in desk.events]


async def test_direct_messages_and_mentions_come_in_and_nothing_else(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        discord_peer.push_text("hello")
        discord_peer.push_text("not for us", "11")
        discord_peer.push_text(f"<@{BOT_ID}> in the server", "11")
        (piece,) = adapter.render("an answer", Target("discord", "5"))
        await adapter.send(Target("discord", "5"), piece, key="k")
        discord_peer.push_text("bye")
        await desk.until(lambda: len(desk.events) == 4)
    assert [(e.text, e.addressed) for e in desk.events] == [
        ("hello", True),
        ("not for us", False),
        ("in the server", True),
        ("bye", True),
    ]
    assert desk.ignored == ["own message"]
    assert desk.states[-1] == ("connected", None)
