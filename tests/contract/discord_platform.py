"""Discord, as a contract test sees it."""

import re
from pathlib import Path
from typing import Any

from hermes.adapter import Adapter
from hermes.clock import Clock, SystemClock
from hermes.events import Target
from tests.contract.platforms import Depot, Got
from tests.integration.discord_desk import make_discord
from tests.peers.discord import BOT_ID, DiscordPeer, Fault, File, refusal, units


class Discord:
    target = Target("discord", "5")
    limit = 2000

    def __init__(self, peer: DiscordPeer, depot: Depot) -> None:
        self.peer = peer
        self.depot = depot
        self.adapter = self.build(SystemClock())

    @classmethod
    async def open(cls, depot: Depot | None = None) -> "Discord":
        return cls(await DiscordPeer().start(), depot or Depot(Path("/nonexistent")))

    async def aclose(self) -> None:
        await self.peer.stop()
        assert [*self.peer.violations, *self.peer.gateway.violations] == []

    def build(self, clock: Clock) -> Adapter:
        return make_discord(self.peer, clock, folder=self.depot.folder)

    def size(self, text: str) -> int:
        return units(text)

    def shown(self) -> list[str]:
        """As people read it."""
        return [_read(m["content"]) for m in self._ours() if m["content"] and not m["attachments"]]

    def got(self) -> list[Got]:
        return [
            Got(_named(file), self.peer.world.cdn.data(file["id"]), _read(m["content"]))
            for m in self._ours()
            for file in m["attachments"]
        ]

    def _ours(self) -> list[dict[str, Any]]:
        return [m for m in self.peer.world.channels["5"].messages.values() if m["author"]["id"] == BOT_ID]

    async def lose(self) -> None:
        self.peer.faults.add("POST message", Fault("lost"))

    async def refuse(self) -> None:
        self.peer.faults.add("POST message", refusal(403, "Missing Permissions"))

    async def go_away(self) -> None:
        await self.peer.stop()

    async def write(self, text: str) -> None:
        """Nothing waits at Discord for a bot that never came, so people wait for it."""
        self.peer.gateway.when_online(lambda: self.peer.push_text(text))

    async def write_file(self, text: str, name: str, data: bytes) -> None:
        file = File(name, "text/plain", data)
        self.peer.gateway.when_online(lambda: self.peer.push_text(text, files=[file]))

    async def take_away(self) -> None:
        self.peer.world.channels["5"].messages.clear()
        self.peer.world.cdn.revoke()

    def buttons(self) -> list[list[str]]:
        return self.peer.buttons("5")

    async def press(self, label: str) -> None:
        self.peer.gateway.when_online(lambda: self.peer.push_press(label))

    def pressed(self) -> int:
        return sum(made.state == "noted" for made in self.peer.world.interactions.values())

    async def write_nonsense(self) -> None:
        self.peer.gateway.when_online(
            lambda: self.peer.push_raw("MESSAGE_CREATE", {"channel_id": "5", "author": "?", "content": 7})
        )


def _read(text: str) -> str:
    """Without the marks that keep a character from being one."""
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text)


def _named(file: dict[str, Any]) -> str:
    """As Discord shows it: by its title."""
    title = file.get("title")
    return f"{title}{Path(file['filename']).suffix}" if title else str(file["filename"])
