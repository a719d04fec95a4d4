"""The server: Web API and Socket Mode in one; reads calls, checks them, shows planned faults, keeps a journal."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.peers.faults import Fault
from tests.peers.platform import PlatformPeer
from tests.peers.serving import cut
from tests.peers.slack.blocks import block_faults, given
from tests.peers.slack.control import routes
from tests.peers.slack.files import File, Files, Refusal
from tests.peers.slack.links import Envelope, Links
from tests.peers.slack.methods import NEEDS, SCOPES, Methods
from tests.peers.slack.shelf import Shelf
from tests.peers.slack.spec import web_api
from tests.peers.slack.world import TEAM, Channel, World

BOT_TOKEN, APP_TOKEN, SIGNING_SECRET = "xoxb-1-peer", "xapp-1-peer", "peer-signing-secret"
_OPENING = "apps.connections.open"


def refused(error: str, *, times: int = 1, **match: Any) -> Fault:
    """An answer `ok: false`; nothing is done."""
    return Fault("status", 200, error, match=match, times=times)


def slower(retry_after: int, *, times: int = 1, status: int = 429, **match: Any) -> Fault:
    """429 (or 200 with `ratelimited`) and `Retry-After`."""
    return Fault("status", status, "ratelimited", retry_after=retry_after, match=match, times=times)


@dataclass(slots=True)
class Call:
    """One call in the journal; `outcome` is ok, refused, violation, client-gone, or `fault:KIND`."""

    method: str
    params: dict[str, Any]
    content_type: str
    began: float = field(default_factory=time.monotonic)
    status: int = 0
    outcome: str = "running"

    def summary(self) -> dict[str, object]:
        """The call as plain JSON."""
        return {
            name: getattr(self, name) for name in ("method", "params", "content_type", "began", "outcome")
        }


class SlackPeer(PlatformPeer[Call]):
    """A workspace on loopback with one app in it. `base_url` is what the client wants."""

    def __init__(self, port: int = 0, *, journal: Path | None = None) -> None:
        super().__init__(self._application(), port, journal)
        self.world = World()
        self.files = Files(lambda: self.base)
        self.methods = Methods(self.world, self.files)
        self.links = Links(self.changes.notify)
        self.responses: list[dict[str, Any]] = []
        self.answers_responses = 5
        self.scopes = SCOPES
        self._spec = web_api()

    # -- life --------------------------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        """Where the Web API is."""
        return f"{self.base}/api/"

    def settings(self, **more: Any) -> dict[str, Any]:
        """What stands under `platforms.slack`."""
        tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN}
        return {**tokens, "base_url": self.base_url, "allow_from": ["*"], "rate": "off", **more}

    async def let_go(self) -> None:
        """End every connection of Socket Mode."""
        self.server.stopping.set()
        await self.links.close()

    # -- what people do ----------------------------------------------------------------------------

    async def push(self, text: str, channel: str = "D1", user: str = "U1", **more: Any) -> Envelope:
        """A person writes; see `World.say`."""
        return await self.links.deliver("events_api", self.world.say(text, channel, user, **more))

    async def push_files(self, *files: File, text: str = "", channel: str = "D1", **more: Any) -> Envelope:
        """A person writes, with files (`files.add`); see `World.say_with`."""
        return await self.links.deliver("events_api", self.world.say_with(files, text, channel, **more))

    async def push_command(self, text: str, channel: str = "C1", user: str = "U1") -> Envelope:
        """A person gives the command."""
        url = f"{self.base}/commands/{TEAM}/{len(self.links.envelopes)}"
        return await self.links.deliver(
            "slash_commands", self.world.command(text, channel, user, response_url=url)
        )

    async def press(
        self, button: str, channel: str = "D1", user: str = "U1", ts: str | None = None
    ) -> Envelope:
        """A person presses a button; see `World.press`."""
        return await self.links.deliver("interactive", self.world.press(button, channel, user, ts))

    async def push_raw(self, event: Any, kind: str = "events_api") -> Envelope:
        """Any event, in its wrapper."""
        return await self.links.deliver(kind, self.world.callback(event))

    # -- what tests look at ------------------------------------------------------------------------

    @property
    def channels(self) -> Mapping[str, Channel]:
        """Conversations by id."""
        return self.world.channels

    def texts(self, channel: str, thread: str | None = None) -> list[str]:
        """What the app shows there."""
        return self.channels[channel].texts(thread) if channel in self.channels else []

    async def wait_text(self, channel: str, contains: str, timeout: float = 10.0) -> str:
        """Wait until the app shows a text that contains these words in a channel; returns that text."""
        return await self.wait_among(lambda: self.texts(channel), contains, timeout)

    async def connected(self, times: int = 1) -> None:
        """Wait until there were so many connections and the newest is open."""
        await self.wait_for(lambda: self.links.opened >= times and self.links.current is not None)

    async def acknowledged(self) -> None:
        """Wait until every envelope is acknowledged."""
        await self.wait_for(lambda: not self.links.unacknowledged)

    # -- requests ----------------------------------------------------------------------------------

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=64 << 20)
        app.add_routes(routes(self))
        app.router.add_route("*", "/api/{method}", self._handle)
        app.router.add_get("/link", self._link)
        app.router.add_post("/commands/{team}/{number}", self._respond)
        app.router.add_routes(Shelf(self).routes())
        return app

    async def _link(self, request: web.Request) -> web.StreamResponse:
        return await self.links.handle(request)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.server.count_connection(request)
        method = request.match_info["method"]
        if not self._spec.knows(method):
            self.violations.append(f"unknown method {method!r}")
            return web.json_response({"ok": False, "error": "unknown_method"})
        if fault := self.faults.take(method, None):
            self.finish(self.note(method, {}, ""), 0, f"fault:{fault.kind}")
            return cut(request)
        params = await _read(request)
        call = self.note(method, params, request.content_type)
        try:
            return await self._serve(request, call)
        except asyncio.CancelledError:
            self.finish(call, 0, "client-gone")
            raise

    async def _serve(self, request: web.Request, call: Call) -> web.StreamResponse:
        fault = self.faults.take(call.method, call.params)
        if fault is not None and (early := await self.before(request, call, fault)) is not None:
            return early
        body = self._work(request, call)
        if fault is not None:
            self.finish(call, 200, f"fault:{fault.kind}")
        if fault is not None and fault.kind == "lost":
            return cut(request)
        if fault is not None and fault.kind == "malformed":
            return web.Response(text=json.dumps(body)[:-3], content_type="application/json")
        return web.json_response(body, headers={"x-oauth-scopes": self.scopes})

    def planned(self, fault: Fault) -> web.Response:
        """Slack's answer, or that of a server before it."""
        if fault.status >= 500:
            return web.Response(status=fault.status, text="<html>upstream</html>", content_type="text/html")
        waits = {"Retry-After": str(fault.retry_after)} if fault.retry_after is not None else {}
        body = {"ok": False, "error": fault.description, **fault.parameters}
        return web.json_response(body, status=fault.status, headers=waits)

    def _work(self, request: web.Request, call: Call) -> dict[str, Any]:
        wanted = APP_TOKEN if call.method == _OPENING else BOT_TOKEN
        if request.headers.get("Authorization") != f"Bearer {wanted}":
            self.finish(call, 200, "refused")
            return {"ok": False, "error": "invalid_auth"}
        faults = self._spec.faults(call.method, request.method, call.content_type, call.params)
        if faults:
            self.violations += faults
            self.finish(call, 200, "violation")
            return {"ok": False, "error": "invalid_arguments", "response_metadata": {"messages": faults}}
        needed = NEEDS.get(call.method)
        if needed is not None and needed not in self.scopes.split(","):
            self.finish(call, 200, "refused")
            return {"ok": False, "error": "missing_scope", "needed": needed, "provided": self.scopes}
        if call.method == _OPENING:
            self.finish(call, 200, "ok")
            return {"ok": True, "url": f"ws://{self.base[7:]}/link?ticket={self.links.ticket()}&app_id=A1"}
        try:
            body = self.methods.run(call.method, call.params)
        except Refusal as refusal:
            self.finish(call, 200, "refused")
            return refusal.body
        self.finish(call, 200, "ok")
        return body

    async def _respond(self, request: web.Request) -> web.Response:
        """A command's `response_url`: five times within half an hour."""
        if self.answers_responses == 0:
            return web.Response(status=404, text="used_url")
        self.answers_responses -= 1
        said = await request.json()
        self.violations += block_faults(given(said))
        self.responses.append(said)
        self.changes.notify()
        return web.Response(text="ok")

    def may_read(self, request: web.Request) -> bool:
        """Whether whoever asks for a file's bytes may have them."""
        is_ours = request.headers.get("Authorization") == f"Bearer {BOT_TOKEN}"
        return is_ours and "files:read" in self.scopes.split(",")

    def note(self, method: str, params: dict[str, Any], content_type: str) -> Call:
        """Put a call into the journal."""
        call = Call(method, params, content_type)
        self.journal.add(call)
        self.changes.notify()
        return call


async def _read(request: web.Request) -> dict[str, Any]:
    params: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        text = await request.text()
        params |= json.loads(text) if text else {}
    else:
        params |= {key: str(value) for key, value in (await request.post()).items()}
    return params
