"""The Bot API server: reads calls, checks them, shows planned faults, answers, and keeps a journal."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from tests.peers.faults import Fault
from tests.peers.platform import PlatformPeer, half
from tests.peers.serving import cut
from tests.peers.telegram.chats import Chat, Refused
from tests.peers.telegram.control import routes
from tests.peers.telegram.methods import MEDIA, Breach, Methods
from tests.peers.telegram.rate import FloodGate
from tests.peers.telegram.spec import Checked, Upload, bot_api
from tests.peers.telegram.updates import UpdateQueue
from tests.peers.telegram.world import World

TOKEN = "424242:peer-token"
_BIGGEST_BODY = 60 << 20
_PACED_IN_CHAT = frozenset({"sendMessage", "sendMediaGroup", "editMessageText", "editMessageCaption", *MEDIA})
_UNPACED = ("get", "set", "deleteWebhook", "deleteMyCommands", "answer", "logOut", "close")


@dataclass(slots=True)
class Call:
    """One call in the journal. Times are `time.monotonic` seconds; `outcome` is ok, refused, violation,
    client-gone, or `fault:KIND`."""

    method: str
    params: dict[str, Any]
    content_type: str
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    status: int = 0
    outcome: str = "running"
    description: str = ""
    result: Any = None

    def summary(self) -> dict[str, object]:
        """The call as plain JSON."""
        names = ("method", "params", "content_type", "began", "ended", "status", "outcome", "description")
        return {name: getattr(self, name) for name in names}


class TelegramPeer(PlatformPeer[Call]):
    """A Bot API server on loopback. `base_url` and `file_url` are what python-telegram-bot wants.

    `enforce_rate` turns the flood limits on. `refusals` are all error answers that were not planned faults. `push_*`
    verbs and `chats` come from the `World`.
    """

    def __init__(
        self, port: int = 0, *, token: str = TOKEN, enforce_rate: bool = False, journal: Path | None = None
    ) -> None:
        super().__init__(self._application(), port, journal)
        self.token = token
        self.refusals: list[str] = []
        self.flood = FloodGate() if enforce_rate else None
        self._spec = bot_api()
        self.updates = UpdateQueue(self.server.stopping, self.changes)
        self.world = World(self.updates)
        self.push_text = self.world.push_text
        self.push_channel_post = self.world.push_channel_post
        self.push_edited = self.world.push_edited
        self.push_photo = self.world.push_photo
        self.push_voice = self.world.push_voice
        self.push_document = self.world.push_document
        self.push_media = self.world.push_media
        self.push_content = self.world.push_content
        self.push_reaction = self.world.push_reaction
        self.push_callback = self.world.push_callback
        self.push_press = self.world.push_press
        self.push_raw = self.world.push_raw
        self.push_again = self.updates.again
        self.add_chat = self.world.add_chat
        self.add_file = self.world.add_file
        self.migrate = self.world.migrate
        self._methods = Methods(self.world)

    # -- life --------------------------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        """Prefix that the token is appended to."""
        return f"{self.base}/bot"

    @property
    def file_url(self) -> str:
        """Prefix for downloads that the token is appended to."""
        return f"{self.base}/file/bot"

    async def start(self) -> Self:
        """Begin to serve, and to call whoever asked to be called."""
        await super().start()
        self.world.hook.start()
        return self

    async def let_go(self) -> None:
        """Release waiting polls."""
        await self.world.hook.stop()
        self.server.stopping.set()
        self.updates.wake()

    # -- what tests look at ------------------------------------------------------------------------

    @property
    def chats(self) -> Mapping[int, Chat]:
        """Chats by id; each is the sequence of the messages that are shown now."""
        return self.world.chats

    async def wait_text(self, chat_id: int, contains: str, timeout: float = 10.0) -> str:
        """Wait until the bot shows a text that contains these words in a chat; returns that text."""

        def shown() -> list[str]:
            return self.chats[chat_id].texts() if chat_id in self.chats else []

        return await self.wait_among(shown, contains, timeout)

    # -- requests ----------------------------------------------------------------------------------

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=_BIGGEST_BODY)
        app.add_routes(routes(self))
        app.router.add_route("*", "/bot{token}/{method}", self._handle)
        app.router.add_get("/file/bot{token}/{path:.+}", self._download)
        return app

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return _answer(error(401, "Unauthorized"), 401)
        method = self._spec.method_name(request.match_info["method"])
        if method is None:
            self.violations.append(f"unknown method {request.match_info['method']!r}")
            return _answer(error(404, "Not Found: method not found"), 404)
        if fault := self.faults.take(method, None):
            unread = Call(method, {}, request.content_type)
            self.journal.add(unread)
            self.finish(unread, 0, f"fault:{fault.kind}")
            return cut(request)
        try:
            raw, uploads = await _read(request)
        except (ValueError, UnicodeDecodeError) as wrong:
            self.violations.append(f"{method}: unreadable body: {wrong}")
            return _answer(error(400, f"Bad Request: {wrong}"), 400)
        checked = self._spec.check(method, raw, uploads)
        call = Call(method, checked.params, request.content_type)
        self.journal.add(call)
        self.changes.notify()
        try:
            return await self._serve(request, call, checked)
        except asyncio.CancelledError:
            self.finish(call, 0, "client-gone")
            raise

    async def _serve(self, request: web.Request, call: Call, checked: Checked) -> web.StreamResponse:
        fault = self.faults.take(call.method, checked.params)
        if fault is not None and (early := await self.before(request, call, fault)) is not None:
            return early
        try:
            body, status = {"ok": True, "result": await self._work(call, checked)}, 200
            call.result = body["result"]
            self.finish(call, 200, f"fault:{fault.kind}" if fault else "ok")
        except Refused as refused:
            body, status = error(refused.code, refused.description, refused.parameters), refused.code
            self._refuse(call, refused)
        if fault is not None and fault.kind == "lost":
            return cut(request)
        if fault is not None and fault.kind == "malformed":
            return web.Response(text=json.dumps(body)[:-3], content_type="application/json")
        return _answer(body, status)

    def planned(self, fault: Fault) -> web.Response:
        """The API's error object."""
        more = {"retry_after": fault.retry_after} if fault.retry_after is not None else {}
        return _answer(error(fault.status, fault.description, {**fault.parameters, **more}), fault.status)

    async def _work(self, call: Call, checked: Checked) -> Any:
        if checked.faults:
            raise Breach("Bad Request: " + "; ".join(checked.faults))
        self._pace(call)
        if call.method == "getUpdates":
            if self.world.hook.url:
                raise Refused("Conflict: can't use getUpdates method while webhook is active", 409)
            return await self.updates.poll(checked.params)
        if call.method not in self._methods:
            raise Breach(f"Bad Request: this server does not offer {call.method}")
        result = self._methods.run(call.method, checked)
        # The caller gets its own copy: later edits of the message must not change the journal.
        return json.loads(json.dumps(result))

    def _pace(self, call: Call) -> None:
        if self.flood is not None and not call.method.startswith(_UNPACED):
            chat_id = call.params.get("chat_id")
            in_chat = call.method in _PACED_IN_CHAT and isinstance(chat_id, int)
            self.flood.enter(chat_id if in_chat else None)

    def _refuse(self, call: Call, refused: Refused) -> None:
        breach = isinstance(refused, Breach)
        line = f"{call.method}: {refused.code} {refused.description}"
        self.refusals.append(line)
        if breach:
            self.violations.append(line)
        call.description = refused.description
        self.finish(call, refused.code, "violation" if breach else "refused")

    def finish(self, call: Call, status: int, outcome: str) -> None:
        """A call is answered."""
        call.ended = time.monotonic()
        super().finish(call, status, outcome)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return _answer(error(401, "Unauthorized"), 401)
        path = request.match_info["path"]
        call = Call("download", {"path": path}, "")
        self.journal.add(call)
        fault = self.faults.take("download", call.params)
        if fault is not None and (early := await self.before(request, call, fault)) is not None:
            return early
        data = next((data for known, data in self.world.files.values() if known == path), None)
        self.finish(call, 404 if data is None else 200, "ok" if data is not None else "refused")
        if data is None:
            return _answer(error(404, "Not Found"), 404)
        if fault is not None and fault.kind == "lost":
            return await half(request, data)
        return web.Response(body=data)


def error(code: int, description: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The API's error object."""
    more = {"parameters": dict(parameters)} if parameters else {}
    return {"ok": False, "error_code": code, "description": description, **more}


def _answer(body: Mapping[str, Any], status: int) -> web.Response:
    return web.json_response(body, status=status)


async def _read(request: web.Request) -> tuple[dict[str, Any], dict[str, Upload]]:
    """Parameters (query, form or JSON) and file parts of a call."""
    raw: dict[str, Any] = dict(request.query)
    uploads: dict[str, Upload] = {}
    if request.content_type == "application/json" and request.can_read_body:
        raw |= json.loads((await request.read()).decode("utf-8"))
    elif request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        form = await request.post()
        for key, value in form.items():
            if isinstance(value, web.FileField):
                with value.file:
                    uploads[key] = Upload(value.filename, value.file.read(), value.content_type)
            else:
                raw[key] = value if isinstance(value, str) else bytes(value).decode("utf-8")
    return raw, uploads
