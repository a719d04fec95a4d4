"""A Telegram Bot API server: `TelegramPeer` in process, `python -m tests.peers.telegram` as a program."""

from tests.peers.faults import Fault, refusal, too_many
from tests.peers.telegram.chats import Chat, ShownMessage
from tests.peers.telegram.control import TelegramPeerControl
from tests.peers.telegram.entities import units
from tests.peers.telegram.server import TOKEN, Call, TelegramPeer

__all__ = [
    "TOKEN",
    "Call",
    "Chat",
    "Fault",
    "ShownMessage",
    "TelegramPeer",
    "TelegramPeerControl",
    "refusal",
    "too_many",
    "units",
]
