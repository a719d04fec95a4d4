"""Discord, as a contract test sees it."""

import re

from hermes.adapter import Adapter
from hermes.clock import Clock, SystemClock
from hermes.events import Target
from tests.integration.discord_desk import make_discord
from tests.peers.discord import DiscordPeer, Fault, refusal, units


class Discord:
    target = Target("discord", "5")
    limit = 2000

    def __init__(self, peer: DiscordPeer) -> None:
        self.peer = peer
        self.adapter = self.build(SystemClock())

    @classmethod
    async def open(cls) -> "Discord":
        return cls(await DiscordPeer().start())

    async def aclose(self) -> None:
        await self.peer.stop()
        assert [*self.peer.violations, *self.peer.gateway.violations] == []

    def build(self, clock: Clock) -> Adapter:
        return make_discord(self.peer, clock)

    def size(self, text: str) -> int:
        return units(text)

    def shown(self) -> list[str]:
        """As people read it: without the marks that keep a character from being one."""
        return [re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text) for text in self.peer.texts("5")]

    async def lose(self) -> None:
        self.peer.faults.add("POST message", Fault("lost"))

    async def refuse(self) -> None:
        self.peer.faults.add("POST message", refusal(403, "Missing Permissions"))

    async def go_away(self) -> None:
        await self.peer.stop()

    async def write(self, text: str) -> None:
        """Nothing waits at Discord for a bot that never came, so people wait for it."""
        self.peer.gateway.when_online(lambda: self.peer.push_text(text))

    async def write_nonsense(self) -> None:
        self.peer.gateway.when_online(
            lambda: self.peer.push_raw("MESSAGE_CREATE", {"channel_id": "5", "author": "?", "content": 7})
        )
