"""Steering a Slack peer that runs as a program: HTTP endpoints under /__peer__/ and a client for them."""

import base64
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.peers.faults import Fault
from tests.peers.remote import PeerControl

if TYPE_CHECKING:
    from tests.peers.slack.server import SlackPeer


class _Endpoints:
    def __init__(self, peer: "SlackPeer") -> None:
        self._peer = peer

    async def push(self, request: web.Request) -> web.Response:
        envelope = await self._peer.push(**await request.json())
        return web.json_response({"ts": envelope.payload["event"]["ts"]})

    async def files(self, request: web.Request) -> web.Response:
        """A person writes with files: `files` are objects of name, mimetype and content (base64)."""
        asked = await request.json()
        made = [
            self._peer.files.add(f["name"], base64.b64decode(f["content"]), f["mimetype"])
            for f in asked.pop("files")
        ]
        envelope = await self._peer.push_files(*made, **asked)
        return web.json_response({"ts": envelope.payload["event"]["ts"]})

    async def command(self, request: web.Request) -> web.Response:
        await self._peer.push_command(**await request.json())
        return web.json_response({})

    async def press(self, request: web.Request) -> web.Response:
        await self._peer.press(**await request.json())
        return web.json_response({})

    async def faults(self, request: web.Request) -> web.Response:
        for order in await request.json():
            method = order.pop("method")
            self._peer.faults.add(method, Fault(**order))
        return web.json_response({"pending": self._peer.faults.pending()})

    async def journal(self, request: web.Request) -> web.Response:
        return web.json_response([c.summary() for c in self._peer.calls(request.query.get("method"))])

    async def channels(self, _: web.Request) -> web.Response:
        return web.json_response(
            {n: [m.summary() for m in c.messages] for n, c in self._peer.channels.items()}
        )

    async def state(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "violations": self._peer.violations,
                "opened": self._peer.links.opened,
                "unacknowledged": len(self._peer.links.unacknowledged),
            }
        )

    async def wait(self, request: web.Request) -> web.Response:
        """Answer once the app shows `count` texts with `contains` in `channel`; 408 after `timeout` s."""
        query = request.query
        contains, count = query.get("contains", ""), int(query.get("count", 1))

        def shown() -> list[str]:
            return [text for text in self._peer.texts(query["channel"]) if contains in text]

        try:
            await self._peer.wait_for(lambda: len(shown()) >= count, float(query.get("timeout", 10)))
        except TimeoutError:
            return web.json_response(shown(), status=408)
        return web.json_response(shown())


def routes(peer: "SlackPeer") -> list[web.RouteDef]:
    """The control endpoints of a peer."""
    ends = _Endpoints(peer)
    return [
        web.post("/__peer__/push", ends.push),
        web.post("/__peer__/files", ends.files),
        web.post("/__peer__/command", ends.command),
        web.post("/__peer__/press", ends.press),
        web.post("/__peer__/faults", ends.faults),
        web.get("/__peer__/journal", ends.journal),
        web.get("/__peer__/channels", ends.channels),
        web.get("/__peer__/state", ends.state),
        web.get("/__peer__/wait", ends.wait),
    ]


class SlackPeerControl(PeerControl):
    """Speaks to `python -m tests.peers.slack`; `push` takes what `SlackPeer.push` takes."""

    def push(self, text: str, **arguments: Any) -> str:
        """A person writes; the message's number."""
        return str(self.post("push", {"text": text, **arguments})["ts"])

    def push_file(self, name: str, content: bytes, mimetype: str, **arguments: Any) -> str:
        """A person sends a file; the message's number."""
        file = {"name": name, "content": base64.b64encode(content).decode(), "mimetype": mimetype}
        return str(self.post("files", {"files": [file], **arguments})["ts"])

    def press(self, button: str, **arguments: Any) -> None:
        """A person presses a button."""
        self.post("press", {"button": button, **arguments})

    def fault(self, method: str, kind: str, **arguments: Any) -> None:
        """Plan a fault."""
        self.post("faults", [{"method": method, "kind": kind, **arguments}])

    def channels(self) -> dict[str, list[dict[str, Any]]]:
        """What is shown now."""
        return dict(self.get("channels"))

    def violations(self) -> list[str]:
        """Calls that no correct client makes."""
        return list(self.get("state")["violations"])

    def wait_text(
        self, channel: str, contains: str = "", *, count: int = 1, timeout: float = 10.0
    ) -> list[str]:
        """Texts of the app that contain these words, once there are `count`. Raises `TimeoutError`."""
        query = {"channel": channel, "contains": contains, "count": str(count), "timeout": str(timeout)}
        return list(self.get("wait", query))
