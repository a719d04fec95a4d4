"""A Discord: `DiscordPeer` in process, `python -m tests.peers.discord` as a program."""

from tests.peers.discord.files import File
from tests.peers.discord.server import TOKEN, Call, DiscordPeer
from tests.peers.discord.spec import units
from tests.peers.discord.world import BOT_ID, GUILD, Channel, Interaction
from tests.peers.faults import Fault, refusal

__all__ = [
    "BOT_ID",
    "GUILD",
    "TOKEN",
    "Call",
    "Channel",
    "DiscordPeer",
    "Fault",
    "File",
    "Interaction",
    "refusal",
    "units",
]
