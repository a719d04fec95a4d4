"""Steering a Bot API peer that runs as a program: HTTP endpoints under /__peer__/ and a client for them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.peers.faults import Fault
from tests.peers.remote import PeerControl
from tests.peers.telegram.world import push_from_json

if TYPE_CHECKING:
    from tests.peers.telegram.server import TelegramPeer


class _Endpoints:
    def __init__(self, peer: "TelegramPeer") -> None:
        self._peer = peer

    async def push(self, request: web.Request) -> web.Response:
        orders = await request.json()
        orders = orders if isinstance(orders, list) else [orders]
        try:
            updates = [push_from_json(self._peer.world, order) for order in orders]
        except (KeyError, TypeError, ValueError, StopIteration) as wrong:
            return web.json_response({"error": f"{type(wrong).__name__}: {wrong}"}, status=400)
        self._peer.changes.notify()
        return web.json_response(updates)

    async def faults(self, request: web.Request) -> web.Response:
        for order in await request.json():
            method = order.pop("method")
            self._peer.faults.add(method, Fault(**order))
        return web.json_response({"pending": self._peer.faults.pending()})

    async def add_chat(self, request: web.Request) -> web.Response:
        return web.json_response(self._peer.world.add_chat(**await request.json()).wire())

    async def journal(self, request: web.Request) -> web.Response:
        calls = self._peer.calls(request.query.get("method"))
        return web.json_response([call.summary() for call in calls])

    async def chats(self, request: web.Request) -> web.Response:
        return web.json_response(self._chats())

    async def violations(self, request: web.Request) -> web.Response:
        return web.json_response({"violations": self._peer.violations, "refusals": self._peer.refusals})

    async def wait(self, request: web.Request) -> web.Response:
        """Answer once the bot shows `count` texts with `contains` in `chat`; 408 after `timeout` s."""
        query = request.query
        chat_id, contains, count = int(query["chat"]), query.get("contains", ""), int(query.get("count", 1))

        def shown() -> list[str]:
            chat = self._peer.chats.get(chat_id)
            return [text for text in chat.texts() if contains in text] if chat else []

        try:
            await self._peer.wait_for(lambda: len(shown()) >= count, float(query.get("timeout", 10)))
        except TimeoutError:
            return web.json_response(self._chats(), status=408)
        return web.json_response(shown())

    def _chats(self) -> dict[str, Any]:
        return {str(chat_id): [m.summary() for m in chat] for chat_id, chat in self._peer.chats.items()}


def routes(peer: "TelegramPeer") -> list[web.RouteDef]:
    """The control endpoints of a peer."""
    ends = _Endpoints(peer)
    return [
        web.post("/__peer__/push", ends.push),
        web.post("/__peer__/faults", ends.faults),
        web.post("/__peer__/chat", ends.add_chat),
        web.get("/__peer__/journal", ends.journal),
        web.get("/__peer__/chats", ends.chats),
        web.get("/__peer__/violations", ends.violations),
        web.get("/__peer__/wait", ends.wait),
    ]


class TelegramPeerControl(PeerControl):
    """Speaks to `python -m tests.peers.telegram`. Verbs have a twin with an `a` in front for the loop.

    `push("text", text="hi", chat=1)` takes the arguments of `World.push_text` and so on; `faults` takes what
    `Fault` takes. Chats are keyed by the id as text.
    """

    def push(self, kind: str, **arguments: Any) -> dict[str, Any]:
        """A person does something; returns the update."""
        return self._first(self.post("push", {"kind": kind, **arguments}))

    async def apush(self, kind: str, **arguments: Any) -> dict[str, Any]:
        """As `push`."""
        return self._first(await self.apost("push", {"kind": kind, **arguments}))

    def fault(self, method: str, kind: str, **arguments: Any) -> None:
        """Plan a fault."""
        self.post("faults", [{"method": method, "kind": kind, **arguments}])

    async def afault(self, method: str, kind: str, **arguments: Any) -> None:
        """As `fault`."""
        await self.apost("faults", [{"method": method, "kind": kind, **arguments}])

    def add_chat(self, chat_id: int, **arguments: Any) -> None:
        """Make a chat known (`kind`, `title`, `topics`)."""
        self.post("chat", {"chat_id": chat_id, **arguments})

    def journal(self, method: str | None = None) -> list[dict[str, Any]]:
        """Calls in order."""
        return list(self.get("journal", _query(method=method)))

    async def ajournal(self, method: str | None = None) -> list[dict[str, Any]]:
        """As `journal`."""
        return list(await self.aget("journal", _query(method=method)))

    def chats(self) -> dict[str, list[dict[str, Any]]]:
        """What is shown now, per chat."""
        return dict(self.get("chats"))

    async def achats(self) -> dict[str, list[dict[str, Any]]]:
        """As `chats`."""
        return dict(await self.aget("chats"))

    def violations(self) -> list[str]:
        """Calls that no correct client makes."""
        return list(self.get("violations")["violations"])

    async def aviolations(self) -> list[str]:
        """As `violations`."""
        return list((await self.aget("violations"))["violations"])

    def wait_text(self, chat: int, contains: str = "", *, count: int = 1, timeout: float = 10.0) -> list[str]:
        """Texts of the bot that contain these words, once there are `count`. Raises `TimeoutError`."""
        return list(self.get("wait", _query(chat=chat, contains=contains, count=count, timeout=timeout)))

    async def await_text(
        self, chat: int, contains: str = "", *, count: int = 1, timeout: float = 10.0
    ) -> list[str]:
        """As `wait_text`."""
        return list(
            await self.aget("wait", _query(chat=chat, contains=contains, count=count, timeout=timeout))
        )

    @staticmethod
    def _first(updates: Any) -> dict[str, Any]:
        return dict(updates[0])


def _query(**given: Any) -> Mapping[str, str]:
    return {key: str(value) for key, value in given.items() if value is not None}
