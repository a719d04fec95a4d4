"""Discord's REST API and gateway on loopback: checks calls, shows planned faults, answers, and keeps a journal."""

import json
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.peers.discord.control import routes
from tests.peers.discord.files import LARGEST, Upload, read_call, upload_breaches
from tests.peers.discord.gateway import Gateway
from tests.peers.discord.spec import breaches
from tests.peers.discord.world import BOT_ID, World
from tests.peers.discord.world import Refused as Refusal
from tests.peers.faults import Fault
from tests.peers.platform import PlatformPeer, half
from tests.peers.serving import cut

TOKEN = "peer.discord.token"
_CALLS: tuple[tuple[str, str, str], ...] = (
    ("GET", r"users/@me", "GET me"),
    ("POST", r"users/@me/channels", "POST direct channel"),
    ("GET", r"applications/@me", "GET application"),
    ("GET", r"channels/(\d+)", "GET channel"),
    ("GET", r"channels/(\d+)/messages", "GET messages"),
    ("GET", r"channels/(\d+)/messages/(\d+)", "GET message"),
    ("POST", r"channels/(\d+)/messages", "POST message"),
    ("PUT", r"channels/(\d+)/messages/(\d+)/reactions/([^/]+)/@me", "PUT reaction"),
    ("PATCH", r"channels/(\d+)/messages/(\d+)", "PATCH message"),
    ("POST", r"channels/(\d+)/messages/(\d+)/threads", "POST thread"),
    ("POST", r"channels/(\d+)/typing", "POST typing"),
    ("GET", r"guilds/(\d+)/channels", "GET guild channels"),
    ("GET", r"guilds/(\d+)/threads/active", "GET active threads"),
    ("GET", r"applications/(\d+)/commands", "GET commands"),
    ("PUT", r"applications/(\d+)/commands", "PUT commands"),
    ("POST", r"interactions/(\d+)/(\w+)/callback", "POST interaction"),
    ("GET", r"webhooks/(\d+)/(\w+)/messages/(@original)", "GET interaction"),
    ("PATCH", r"webhooks/(\d+)/(\w+)/messages/(@original|\d+)", "PATCH interaction"),
)
_PER_CHANNEL, _SECONDS = 5, 5.0


@dataclass(slots=True)
class Call:
    """One call in the journal. Times: `time.monotonic`. `params` holds the path's parts (`where`, `message`) and the body."""

    method: str
    params: dict[str, Any]
    began: float = field(default_factory=time.monotonic)
    status: int = 0
    outcome: str = "running"

    def summary(self) -> dict[str, object]:
        """The call as plain JSON."""
        return {name: getattr(self, name) for name in ("method", "params", "began", "status", "outcome")}


class DiscordPeer(PlatformPeer[Call]):
    """A Discord on loopback. `push_*` come from the `World`."""

    def __init__(
        self, port: int = 0, *, token: str = TOKEN, enforce_rate: bool = False, journal: Path | None = None
    ) -> None:
        super().__init__(self._application(), port, journal)
        self.token = token
        self.refusals: list[str] = []
        self.enforce_rate = enforce_rate
        self._sent: dict[str, deque[float]] = {}
        self.gateway = Gateway(token, self.changes, lambda: self.gateway_url)
        self.world = self.gateway.world = World(self.gateway.dispatch, lambda: self.cdn_url)
        self.largest_file = LARGEST
        self.push_text = self.world.push_text
        self.push_command = self.world.push_command
        self.push_press = self.world.push_press
        self.push_again = self.world.push_again
        self.push_raw = self.world.push_raw
        self.push_edited = self.world.push_edited
        self.push_deleted = self.world.push_deleted
        self.add_channel = self.world.add_channel
        self.texts = self.world.texts
        self.buttons = self.world.buttons
        self.files = self.world.files

    @property
    def base_url(self) -> str:
        """Where the REST API is."""
        return f"{self.base}/api/v10"

    @property
    def gateway_url(self) -> str:
        """Where the gateway is."""
        return f"{self.base.replace('http', 'ws')}/gw"

    @property
    def cdn_url(self) -> str:
        """Where files are served."""
        return f"{self.base}/cdn"

    async def let_go(self) -> None:
        """Cut the gateway's connections."""
        self.gateway.cut()

    # -- what tests look at ------------------------------------------------------------------------

    async def wait_text(self, channel: str, contains: str, timeout: float = 10.0) -> str:
        """Wait until the bot shows a text that contains these words in a channel; returns that text."""
        return await self.wait_among(lambda: self.texts(channel), contains, timeout)

    async def wait_online(self, timeout: float = 10.0) -> None:
        """Wait until the bot has a session and a connection."""
        await self.wait_for(lambda: self.gateway.online, timeout)

    # -- requests ----------------------------------------------------------------------------------

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024**2)
        app.add_routes(routes(self))
        app.router.add_get("/gw", self._gateway)
        app.router.add_get("/cdn/{path:.*}", self._file)
        app.router.add_route("*", "/api/v10/{path:.*}", self._handle)
        return app

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        fault = self.faults.take("gateway", {})
        if fault is not None:
            return web.Response(status=fault.status) if fault.kind == "status" else cut(request)
        return await self.gateway.serve(request)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        call = Call("GET file", {"path": path})
        self.journal.add(call)
        if "Authorization" in request.headers:
            self.violations.append("a token was sent to the file server")
        fault = self.faults.take(call.method, call.params)
        if fault is not None and (early := await self.before(request, call, fault)) is not None:
            return early
        data = self.world.cdn.get(path, request.query)
        self.finish(call, 404 if data is None else 200, f"fault:{fault.kind}" if fault else "ok")
        if data is None:
            return web.Response(status=404, text="This content is no longer available.")
        if fault is not None and fault.kind == "lost":
            return await half(request, data)
        return web.Response(body=data, content_type="application/octet-stream")

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        name, parts = _named(request.method, request.match_info["path"])
        if name is None:
            self.violations.append(f"unknown call {request.method} {request.match_info['path']}")
            return _error(404, 0, "404: Not Found")
        if (fault := self.faults.take(name, None)) is not None:
            cut_off = Call(name, {})
            self.journal.add(cut_off)
            self.finish(cut_off, 0, f"fault:{fault.kind}")
            return cut(request)
        body, uploads = await read_call(request)
        call = Call(name, _params(name, parts, body, request.query))
        if uploads:
            call.params["files"] = [(u.file.name, u.file.mime, len(u.file.data)) for u in uploads]
        self.journal.add(call)
        self.changes.notify()
        if not name.endswith("interaction") and request.headers.get("Authorization") != f"Bot {self.token}":
            return self._refuse(call, Refusal(401, 0, "401: Unauthorized"))
        return await self._serve(request, call, parts, (body, uploads))

    async def _serve(
        self, request: web.Request, call: Call, parts: tuple[str, ...], sent: tuple[Any, list[Upload]]
    ) -> web.StreamResponse:
        body, uploads = sent
        fault = self.faults.take(call.method, call.params)
        if fault is not None and (early := await self.before(request, call, fault)) is not None:
            return early
        found = breaches(call.method, body, [u.part for u in uploads])
        if found := found + upload_breaches(call.method, body, uploads, request):
            self.violations += found
            code = 50006 if "empty message" in found[0] else 50035
            return self._refuse(call, Refusal(400, code, found[0]))
        if any(len(u.file.data) > self.largest_file for u in uploads):
            return self._refuse(call, Refusal(413, 40005, "Request entity too large"))
        limit = self._limit(call, parts)
        if limit is not None and limit < 0:
            self.finish(call, 429, "limited")
            return too_many_answer(-limit)
        try:
            result = self._work(call.method, parts, sent, request.query)
        except Refusal as refused:
            return self._refuse(call, refused)
        self.finish(call, 200, f"fault:{fault.kind}" if fault else "ok")
        if fault is not None and fault.kind == "lost":
            return cut(request)
        if fault is not None and fault.kind == "malformed":
            return web.Response(
                body=json.dumps(result).encode()[:-3], headers={"Content-Type": "application/json"}
            )
        return _answer(result)

    def planned(self, fault: Fault) -> web.Response:
        """Discord's answer, or that of a server before it."""
        more = fault.parameters
        if fault.status == 429:
            return too_many_answer(
                float(more.get("seconds", fault.retry_after or 1)),
                via=bool(more.get("via", True)),
                is_global=bool(more.get("global", False)),
            )
        if fault.status >= 500 or more.get("html"):
            return web.Response(status=fault.status, text="<html>upstream</html>")
        errors = {"errors": more["errors"]} if "errors" in more else {}
        return _error(fault.status, int(more.get("code", 50013)), fault.description, **errors)

    def _work(
        self, name: str, parts: tuple[str, ...], sent: tuple[Any, list[Upload]], query: Mapping[str, str]
    ) -> Any:
        world = self.world
        body, uploads = sent
        files = [u.file for u in uploads]
        app = {"id": BOT_ID, "flags": world.app_flags, "interactions_endpoint_url": world.endpoint}
        works: dict[str, Callable[[], Any]] = {
            "GET me": lambda: world.bot,
            "POST direct channel": lambda: world.open_direct(body["recipient_id"]),
            "GET application": lambda: app,
            "GET channel": lambda: world.channel(parts[0]).wire(),
            "GET messages": lambda: [*map(world.now, _page(world.channel(parts[0]).messages, query))],
            "GET message": lambda: world.now(world.message(parts[0], parts[1])),
            "POST message": lambda: world.send(parts[0], body, files),
            "PUT reaction": lambda: world.react(parts[0], parts[1], parts[2]),
            "PATCH message": lambda: world.change(parts[0], parts[1], body),
            "POST thread": lambda: world.begin_thread(parts[0], parts[1]),
            "POST typing": lambda: world.see_typing(parts[0]),
            "GET guild channels": lambda: world.listed(parts[0], threads=False),
            "GET active threads": lambda: {"threads": world.listed(parts[0], threads=True), "members": []},
            "GET commands": lambda: world.commands,
            "PUT commands": lambda: world.register(body),
            "POST interaction": lambda: world.callback(parts[0], parts[1], body),
            "GET interaction": lambda: world.original(parts[1]),
            "PATCH interaction": lambda: world.change_original(parts[1], body, files),
        }
        return works[name]()

    def _limit(self, call: Call, parts: tuple[str, ...]) -> float | None:
        """Minus the seconds to wait when the channel has had its share."""
        if not self.enforce_rate or call.method not in ("POST message", "PATCH message"):
            return None
        times = self._sent.setdefault(f"{call.method} {parts[0]}", deque())
        now = time.monotonic()
        while times and times[0] <= now - _SECONDS:
            times.popleft()
        if len(times) >= _PER_CHANNEL:
            return -(times[0] + _SECONDS - now)
        times.append(now)
        return float(_PER_CHANNEL - len(times))

    def _refuse(self, call: Call, refused: Refusal) -> web.Response:
        self.refusals.append(f"{call.method}: {refused.status} {refused.code} {refused.told}")
        self.finish(call, refused.status, "refused")
        return _error(refused.status, refused.code, refused.told)


def too_many_answer(seconds: float, *, via: bool = True, is_global: bool = False) -> web.Response:
    """A 429 of Discord's own (`via`), or that of the server before it: no JSON, and no such header."""
    if not via:
        return web.Response(
            status=429, text="<html>error code: 1015</html>", headers={"Retry-After": str(int(seconds))}
        )
    told = {"message": "You are being rate limited.", "retry_after": seconds, "global": is_global}
    scope = {"X-RateLimit-Scope": "global", "X-RateLimit-Global": "true"} if is_global else {}
    return _answer(told, 429, {"Via": "1.1 google", "Retry-After": str(int(seconds) + 1), **scope})


def _named(method: str, path: str) -> tuple[str | None, tuple[str, ...]]:
    for verb, pattern, name in _CALLS:
        if verb == method and (found := re.fullmatch(pattern, path)):
            return name, found.groups()
    return None, ()


def _params(name: str, parts: tuple[str, ...], body: Any, query: Mapping[str, str]) -> dict[str, Any]:
    params: dict[str, Any] = dict(query)
    if isinstance(body, dict):
        params |= body
    elif body is not None:
        params["body"] = body
    if parts:
        params["where"] = parts[0]
    if len(parts) > 1 and "interaction" not in name:
        params["message"] = parts[1]
    return params


def _page(messages: Mapping[str, dict[str, Any]], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """The oldest after `after`, the newest of them first, as Discord lists them."""
    after, limit = int(query.get("after", 0)), int(query.get("limit", 50))
    found = sorted((m for m in messages.values() if int(m["id"]) > after), key=lambda m: int(m["id"]))
    return list(reversed(found[:limit]))


def _answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    if body is None:
        return web.Response(status=204)
    kind = {"Content-Type": "application/json", **(headers or {})}
    return web.Response(body=json.dumps(body).encode(), status=status, headers=kind)


def _error(status: int, code: int, told: str, **more: object) -> web.Response:
    return _answer({"message": told, "code": code, **more}, status)
