"""Slack behind its adapter, as a contract test sees it: a direct conversation in a workspace of its own."""

from adapters.slack.render import LIMIT
from hermes.adapter import Adapter
from hermes.clock import Clock, SystemClock
from hermes.events import Target
from tests.integration.slack_desk import make_adapter
from tests.peers.slack import Fault, SlackPeer, refused

CHAT = "D1"


class Slack:
    """One app; `aclose` ends the workspace."""

    target = Target("slack", CHAT)
    limit = LIMIT
    adapter: Adapter

    def __init__(self) -> None:
        self.peer = SlackPeer()
        self.peer.world.add_channel(CHAT, "im")

    @classmethod
    async def open(cls) -> "Slack":
        """A workspace in which nobody has written."""
        made = cls()
        await made.peer.start()
        made.adapter = made.build(SystemClock())
        return made

    async def aclose(self) -> None:
        """End the workspace."""
        await self.peer.stop()
        assert self.peer.violations == []

    def build(self, clock: Clock) -> Adapter:
        return make_adapter(self.peer, clock)

    def size(self, text: str) -> int:
        return len(text)

    def shown(self) -> list[str]:
        return self.peer.texts(CHAT)

    async def lose(self) -> None:
        self.peer.faults.add("chat.postMessage", Fault("lost"))

    async def refuse(self) -> None:
        self.peer.faults.add("chat.postMessage", refused("restricted_action"))

    async def go_away(self) -> None:
        await self.peer.stop()

    async def write(self, text: str) -> None:
        await self.peer.push(text, CHAT)

    async def write_nonsense(self) -> None:
        await self.peer.push_raw(7)
