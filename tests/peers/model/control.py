"""Steering a model peer that runs as a program: HTTP endpoints under /__peer__/ and a client for them."""

from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.peers.model.script import answer_from_json
from tests.peers.remote import PeerControl

if TYPE_CHECKING:
    from tests.peers.model.server import ModelPeer


class _Endpoints:
    def __init__(self, peer: "ModelPeer") -> None:
        self._peer = peer

    async def script(self, request: web.Request) -> web.Response:
        order = await request.json()
        try:
            answers = [answer_from_json(answer) for answer in order.pop("answers")]
            self._peer.script.add(*answers, **order)
        except (KeyError, TypeError) as wrong:
            return web.json_response({"error": str(wrong)}, status=400)
        return web.json_response({"planned": len(self._peer.script)})

    async def journal(self, request: web.Request) -> web.Response:
        return web.json_response([entry.summary() for entry in self._peer.journal])

    async def state(self, request: web.Request) -> web.Response:
        peer = self._peer
        return web.json_response(
            {
                "requests": len(peer.journal),
                "in_flight": peer.in_flight.total(),
                "most_in_flight": peer.most_in_flight,
                "most_per_session": dict(peer.most_per_session),
                "connections_opened": peer.connections_opened,
                "connections_open": peer.connections_open,
                "violations": peer.violations,
                "planned": len(peer.script),
            }
        )

    async def reset(self, request: web.Request) -> web.Response:
        self._peer.reset()
        return web.json_response({})

    async def wait(self, request: web.Request) -> web.Response:
        """Answer once `requests` requests came, or `in_flight` are being served; 408 after `timeout` s."""
        query, peer = request.query, self._peer
        came, flying = int(query.get("requests", 0)), int(query.get("in_flight", 0))
        try:
            await peer.wait_for(
                lambda: len(peer.journal) >= came and peer.in_flight.total() >= flying,
                float(query.get("timeout", 10)),
            )
        except TimeoutError:
            return web.json_response({"requests": len(peer.journal)}, status=408)
        return web.json_response({"requests": len(peer.journal)})


def routes(peer: "ModelPeer") -> list[web.RouteDef]:
    """The control endpoints of a peer."""
    ends = _Endpoints(peer)
    return [
        web.post("/__peer__/script", ends.script),
        web.post("/__peer__/reset", ends.reset),
        web.get("/__peer__/journal", ends.journal),
        web.get("/__peer__/state", ends.state),
        web.get("/__peer__/wait", ends.wait),
    ]


class ModelPeerControl(PeerControl):
    """Speaks to `python -m tests.peers.model`. Every verb has a twin with an `a` in front for the event loop.

    Answers are dicts with the fields of `Answer`; tool calls inside are dicts with those of `ToolCall`.
    """

    def script(self, *answers: dict[str, Any], **match: Any) -> None:
        """Plan answers; `model`, `text` and `times` as in `Script.add`."""
        self.post("script", {"answers": answers, **match})

    async def ascript(self, *answers: dict[str, Any], **match: Any) -> None:
        """As `script`."""
        await self.apost("script", {"answers": answers, **match})

    def journal(self) -> list[dict[str, Any]]:
        """Requests in order."""
        return list(self.get("journal"))

    async def ajournal(self) -> list[dict[str, Any]]:
        """As `journal`."""
        return list(await self.aget("journal"))

    def state(self) -> dict[str, Any]:
        """Counters and violations."""
        return dict(self.get("state"))

    async def astate(self) -> dict[str, Any]:
        """As `state`."""
        return dict(await self.aget("state"))

    def reset(self) -> None:
        """Forget everything."""
        self.post("reset", {})

    async def areset(self) -> None:
        """As `reset`."""
        await self.apost("reset", {})

    def wait(self, *, requests: int = 0, in_flight: int = 0, timeout: float = 10.0) -> None:
        """Wait until so many requests came and are being served. Raises `TimeoutError`."""
        self.get("wait", {"requests": str(requests), "in_flight": str(in_flight), "timeout": str(timeout)})

    async def await_requests(self, *, requests: int = 0, in_flight: int = 0, timeout: float = 10.0) -> None:
        """As `wait`."""
        query = {"requests": str(requests), "in_flight": str(in_flight), "timeout": str(timeout)}
        await self.aget("wait", query)
