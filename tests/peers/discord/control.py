"""Steering a Discord peer that runs as a program: HTTP endpoints under /__peer__/."""

from typing import TYPE_CHECKING

from aiohttp import web

from tests.peers.discord.files import File
from tests.peers.faults import Fault

if TYPE_CHECKING:
    from tests.peers.discord.server import DiscordPeer


class _Endpoints:
    def __init__(self, peer: "DiscordPeer") -> None:
        self._peer = peer

    async def push(self, request: web.Request) -> web.Response:
        orders = await request.json()
        made = []
        for order in orders if isinstance(orders, list) else [orders]:
            kind = order.pop("kind", "text")
            if kind == "text":
                order["files"] = [File.of(told) for told in order.get("files", ())]
                made.append(self._peer.push_text(**order))
            elif kind == "command":
                made.append({"id": self._peer.push_command(**order).id})
            elif kind == "press":
                made.append({"id": self._peer.push_press(**order).id})
            else:
                return web.json_response({"error": f"unknown kind {kind!r}"}, status=400)
        return web.json_response(made)

    async def faults(self, request: web.Request) -> web.Response:
        for order in await request.json():
            method = order.pop("method")
            self._peer.faults.add(method, Fault(**order))
        return web.json_response({"pending": self._peer.faults.pending()})

    async def add_channel(self, request: web.Request) -> web.Response:
        return web.json_response(self._peer.add_channel(**await request.json()).wire())

    async def journal(self, request: web.Request) -> web.Response:
        return web.json_response([c.summary() for c in self._peer.calls(request.query.get("method"))])

    async def texts(self, request: web.Request) -> web.Response:
        return web.json_response({c: self._peer.texts(c) for c in self._peer.world.channels})

    async def violations(self, _: web.Request) -> web.Response:
        found = [*self._peer.violations, *self._peer.gateway.violations]
        return web.json_response({"violations": found, "refusals": self._peer.refusals})

    async def wait(self, request: web.Request) -> web.Response:
        """Answer once the bot shows `contains` in `channel`; 408 after `timeout` s."""
        query = request.query
        try:
            text = await self._peer.wait_text(
                query["channel"], query.get("contains", ""), float(query.get("timeout", 10))
            )
        except TimeoutError:
            return web.json_response(self._peer.texts(query["channel"]), status=408)
        return web.json_response([text])


def routes(peer: "DiscordPeer") -> list[web.RouteDef]:
    """The control endpoints of a peer."""
    ends = _Endpoints(peer)
    return [
        web.post("/__peer__/push", ends.push),
        web.post("/__peer__/faults", ends.faults),
        web.post("/__peer__/channel", ends.add_channel),
        web.get("/__peer__/journal", ends.journal),
        web.get("/__peer__/texts", ends.texts),
        web.get("/__peer__/violations", ends.violations),
        web.get("/__peer__/wait", ends.wait),
    ]
