"""Slack behind its adapter, as a contract test sees it: a direct conversation in a workspace of its own."""

from pathlib import Path

from adapters.slack.render import LIMIT
from hermes.adapter import Adapter
from hermes.clock import Clock, SystemClock
from hermes.events import Target
from tests.contract.platforms import Depot, Got
from tests.integration.slack_desk import make_adapter
from tests.peers.slack import USER, Fault, Message, SlackPeer, refused

CHAT = "D1"
SHOWING = ("chat.postMessage", "files.completeUploadExternal")


class Slack:
    """One app; `aclose` ends the workspace."""

    target = Target("slack", CHAT)
    limit = LIMIT
    adapter: Adapter

    def __init__(self, depot: Depot) -> None:
        self.depot = depot
        self.peer = SlackPeer()
        self.peer.world.add_channel(CHAT, "im")

    @classmethod
    async def open(cls, depot: Depot | None = None) -> "Slack":
        """A workspace in which nobody has written."""
        made = cls(depot or Depot(Path("/nonexistent")))
        await made.peer.start()
        made.adapter = made.build(SystemClock())
        return made

    async def aclose(self) -> None:
        """End the workspace."""
        await self.peer.stop()
        assert self.peer.violations == []

    def build(self, clock: Clock) -> Adapter:
        return make_adapter(self.peer, clock, self.depot.folder)

    def size(self, text: str) -> int:
        return len(text)

    def shown(self) -> list[str]:
        return [message.text for message in self._ours() if not message.files]

    def got(self) -> list[Got]:
        return [Got(file.name, file.content, m.text) for m in self._ours() for file in m.files]

    def _ours(self) -> list[Message]:
        return [message for message in self.peer.channels[CHAT].messages if message.user == USER]

    async def lose(self) -> None:
        for method in SHOWING:
            self.peer.faults.add(method, Fault("lost"))

    async def refuse(self) -> None:
        for method in SHOWING:
            self.peer.faults.add(method, refused("restricted_action"))

    async def go_away(self) -> None:
        await self.peer.stop()

    async def write(self, text: str) -> None:
        await self.peer.push(text, CHAT)

    async def write_file(self, text: str, name: str, data: bytes) -> None:
        await self.peer.push_files(self.peer.files.add(name, data, "text/plain"), text=text, channel=CHAT)

    def buttons(self) -> list[list[str]]:
        return [message.buttons for message in self._ours()]

    async def press(self, label: str) -> None:
        await self.peer.press(label, CHAT)

    def pressed(self) -> int:
        told = [
            envelope.acked_at is not None
            for envelope in self.peer.links.envelopes
            if envelope.kind == "interactive"
        ]
        return sum(told)

    async def take_away(self) -> None:
        for file in self.peer.files.by_id.values():
            file.state = "deleted"

    async def write_nonsense(self) -> None:
        await self.peer.push_raw(7)
