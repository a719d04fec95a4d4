"""What all platforms have in common for whoever tests them at once, and Telegram, Discord and Slack in that form.

Direct chats are numbered from 1. What a platform does on a bad day has one name everywhere (`Trouble`):

    cut        the connection of a call is dropped before anything is done
    lost       the call is carried out, and the connection dropped in place of an answer
    malformed  the call is carried out, and its answer cannot be read
    error      the server fails
    slower     it asks to slow down
    slow       it takes its time
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol

from tests.peers.discord import DiscordPeer
from tests.peers.faults import Fault, FaultPlan
from tests.peers.slack import SlackPeer
from tests.peers.telegram import TelegramPeer

Trouble = Literal["cut", "lost", "malformed", "error", "slower", "slow"]
Again = Callable[[], Awaitable[Any]]
"""The platform tells of the same message once more."""

FAULTS: dict[Trouble, Fault] = {
    "cut": Fault("cut"),
    "lost": Fault("lost"),
    "malformed": Fault("malformed"),
    "error": Fault("status", 502, "Bad Gateway"),
    "slower": Fault("status", 429, "Too Many Requests: retry after 1", retry_after=1),
    "slow": Fault("delay", seconds=1.0),
}
_TAKEN_AND_LOST = ("fault:lost", "fault:malformed")


class Street(Protocol):
    """One platform, seen by the people there.

    deduplicates: a message that is sent again shows once. troubles: what `plan` takes.
    """

    name: str
    deduplicates: bool
    troubles: Sequence[Trouble]

    def settings(self) -> dict[str, Any]:
        """What stands under `platforms.NAME`, but for who may write."""
        ...

    def target(self, chat: int) -> str:
        """The chat as a target of ours, without the platform."""
        ...

    async def say(self, chat: int, text: str) -> Again:
        """The person of that chat writes; while the platform is away it keeps the message."""
        ...

    def shown(self, chat: int) -> list[str]:
        """What that person sees of us, in order."""
        ...

    def plan(self, trouble: Trouble, chat: int) -> None:
        """The next message to that chat meets trouble."""
        ...

    def unheard(self) -> list[str]:
        """Texts that were taken, and of which we were not told so, once each time."""
        ...

    async def shake(self, dice: random.Random) -> None:
        """The connection by which messages come in breaks, in one of its ways."""
        ...

    async def go_away(self) -> None:
        """From now on nobody answers, and what is open is cut."""
        ...

    async def come_back(self) -> None:
        """All is well again."""
        ...

    async def wait_shown(self, chat: int, part: str, timeout: float = 20.0) -> str:
        """Wait until the person sees a text with these words. Raises `TimeoutError`."""
        ...


def _with(part: str, texts: Iterable[str]) -> str | None:
    return next((text for text in texts if part in text), None)


class _Waiting:
    """Waits on a peer that tells of its changes."""

    peer: Any

    def shown(self, chat: int) -> list[str]:
        raise NotImplementedError

    async def wait_shown(self, chat: int, part: str, timeout: float = 20.0) -> str:
        await self.peer.wait_for(lambda: _with(part, self.shown(chat)) is not None, timeout)
        return _with(part, self.shown(chat)) or ""

    async def go_away(self) -> None:
        await self.peer.server.go_away()

    async def come_back(self) -> None:
        await self.peer.server.come_back()


class TelegramStreet(_Waiting):
    """Telegram keeps what nobody fetches."""

    name = "telegram"
    deduplicates = False
    troubles: Sequence[Trouble] = tuple(FAULTS)
    peer: TelegramPeer

    def __init__(self, peer: TelegramPeer) -> None:
        self.peer = peer
        self.faults: FaultPlan = peer.faults

    def settings(self) -> dict[str, Any]:
        return {"token": self.peer.token, "base_url": self.peer.base_url, "rate": "off"}

    def target(self, chat: int) -> str:
        self.peer.add_chat(chat)
        return str(chat)

    async def say(self, chat: int, text: str) -> Again:
        update = self.peer.push_text(text, chat=chat)

        async def again() -> None:
            self.peer.push_again(update["update_id"], new_id=True)

        return again

    def shown(self, chat: int) -> list[str]:
        return self.peer.chats[chat].texts() if chat in self.peer.chats else []

    def plan(self, trouble: Trouble, chat: int) -> None:
        self.faults.add("sendMessage", replace(FAULTS[trouble], match={"chat_id": chat}))

    def unheard(self) -> list[str]:
        return [str(c.params["text"]) for c in self.peer.calls("sendMessage") if c.outcome in _TAKEN_AND_LOST]

    async def shake(self, dice: random.Random) -> None:
        trouble: Trouble = dice.choice(("cut", "lost", "malformed", "error"))
        self.faults.add("getUpdates", FAULTS[trouble])


class DiscordStreet(_Waiting):
    """Discord keeps for a session what is said while its connection is gone; a channel is a person."""

    name = "discord"
    deduplicates = True
    troubles: Sequence[Trouble] = tuple(FAULTS)
    peer: DiscordPeer

    def __init__(self, peer: DiscordPeer) -> None:
        self.peer = peer

    def settings(self) -> dict[str, Any]:
        peer = self.peer
        addresses = {"base_url": peer.base_url, "gateway_url": peer.gateway_url}
        return {"token": peer.token, **addresses, "rate": "off"}

    def target(self, chat: int) -> str:
        channel = str(1000 + chat)  # the first numbers are taken
        if channel not in self.peer.world.channels:
            self.peer.add_channel(channel, "dm")
        return channel

    async def say(self, chat: int, text: str) -> Again:
        message = self.peer.push_text(text, self.target(chat), str(5000 + chat))

        async def again() -> None:
            self.peer.push_again(message)

        return again

    def shown(self, chat: int) -> list[str]:
        return self.peer.texts(self.target(chat))

    def plan(self, trouble: Trouble, chat: int) -> None:
        self.peer.faults.add("POST message", replace(FAULTS[trouble], match={"where": self.target(chat)}))

    def unheard(self) -> list[str]:
        calls = self.peer.calls("POST message")
        return [str(c.params["content"]) for c in calls if c.outcome in _TAKEN_AND_LOST]

    async def shake(self, dice: random.Random) -> None:
        gateway = self.peer.gateway
        dice.choice((gateway.cut, gateway.ask_to_reconnect, gateway.invalidate))()


class SlackStreet(_Waiting):
    """Slack says again what was not acknowledged, over the next connection."""

    name = "slack"
    deduplicates = True
    troubles: Sequence[Trouble] = tuple(FAULTS)
    peer: SlackPeer

    def __init__(self, peer: SlackPeer) -> None:
        self.peer = peer

    def settings(self) -> dict[str, Any]:
        return {k: v for k, v in self.peer.settings().items() if k != "allow_from"}

    def target(self, chat: int) -> str:
        self.peer.world.people.setdefault(f"U{chat}", f"Person {chat}")
        return self.peer.world.add_channel(f"D{chat}", "im").id

    async def say(self, chat: int, text: str) -> Again:
        envelope = await self.peer.push(text, self.target(chat), f"U{chat}")
        return partial(self.peer.links.deliver, envelope.kind, envelope.payload, attempt=1)

    def shown(self, chat: int) -> list[str]:
        return self.peer.texts(f"D{chat}")

    def plan(self, trouble: Trouble, chat: int) -> None:
        self.peer.faults.add("chat.postMessage", replace(FAULTS[trouble], match={"channel": f"D{chat}"}))

    def unheard(self) -> list[str]:
        calls = self.peer.calls("chat.postMessage")
        return [str(c.params["text"]) for c in calls if c.outcome in _TAKEN_AND_LOST]

    async def shake(self, dice: random.Random) -> None:
        links = self.peer.links
        if links.current is not None and dice.random() < 0.5:
            await links.say({"type": "disconnect", "reason": "refresh_requested"})
        else:
            links.cut()
