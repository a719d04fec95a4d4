"""The model server: checks requests, answers by script or echo, misbehaves when told to."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from aiohttp import web

from tests.peers.journal import Changes, Journal
from tests.peers.model.audio import HEARD, read_form, transcription
from tests.peers.model.control import routes
from tests.peers.model.images import image_faults
from tests.peers.model.schema import schema_faults, strict_faults, validator
from tests.peers.model.script import Answer, Responder, Script, last_user, read_directives, text_of
from tests.peers.model.wire import events, whole
from tests.peers.serving import LoopbackServer, cut

Checks = Literal["full", "strict", "off"]
_BIGGEST_BODY = 64 << 20


@dataclass(slots=True)
class Request:
    """One request in the journal. Times are `time.monotonic` seconds; `outcome` is ok, violation,
    unauthorized, `error:STATUS`, cut, or client-gone. `body` is kept when the peer was told to."""

    session: str = ""
    model: str = ""
    stream: bool = False
    messages: int = 0
    last_text: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    began: float = field(default_factory=time.monotonic)
    first_byte: float = 0.0
    ended: float = 0.0
    status: int = 0
    outcome: str = "running"

    def summary(self) -> dict[str, object]:
        """The request as plain JSON."""
        names = (
            "session", "model", "stream", "messages", "last_text", "body", "began", "first_byte", "ended",
            "status", "outcome",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


class ModelPeer:
    """An OpenAI-compatible server on loopback; `url` is the base URL for clients (it ends in /v1).

    `checks`: "full" validates against the OpenAPI schema and the strict rules, "strict" only the latter
    (quick), "off" nothing (benches). `script` holds planned answers, else it echoes; see `Responder`.
    A session is what the body calls `user` or `prompt_cache_key`, else `[[session=NAME]]` in the first user
    message, else that message's text.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        checks: Checks = "full",
        api_key: str | None = None,
        keep_bodies: bool = True,
        journal: Path | None = None,
        extra_fields: frozenset[str] = frozenset(),
    ) -> None:
        self.checks: Checks = checks
        self.api_key = api_key
        self.keep_bodies = keep_bodies
        self.extra_fields = extra_fields
        self.models = ["peer-model", "peer-small"]
        self.script = Script()
        self.responder = Responder()
        self.violations: list[str] = []
        self.journal: Journal[Request] = Journal(journal, most=20_000)
        self.changes = Changes()
        self.in_flight: Counter[str] = Counter()
        self.most_in_flight = 0
        self.most_per_session: Counter[str] = Counter()
        self.server = LoopbackServer(self._application(), port)
        if checks == "full":
            validator("CreateChatCompletionRequest")

    # -- life --------------------------------------------------------------------------------------

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return self.server.base

    @property
    def url(self) -> str:
        """Base URL for a client."""
        return f"{self.base}/v1"

    async def start(self) -> Self:
        """Begin to serve."""
        self.journal.start()
        await self.server.start()
        return self

    async def stop(self) -> None:
        """Release hanging requests, close everything, complete the journal file."""
        await self.server.stop()
        await self.journal.aclose()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def reset(self) -> None:
        """Forget scripts, shown errors, violations, journal and maxima."""
        self.script.clear()
        self.responder.clear()
        self.violations.clear()
        self.journal.clear()
        self.most_in_flight = 0
        self.most_per_session.clear()

    # -- what tests look at ------------------------------------------------------------------------

    @property
    def requests(self) -> list[Request]:
        """Requests in order of arrival."""
        return list(self.journal)

    @property
    def connections_opened(self) -> int:
        """Connections that carried a request so far."""
        return self.server.connections_opened

    @property
    def connections_open(self) -> int:
        """Connections that are open now."""
        return self.server.open_connections

    @property
    def connections_closed(self) -> int:
        """Connections that carried a request and are closed now."""
        return self.server.connections_closed

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until `condition` holds; looked at whenever a request arrives, begins to answer, or ends."""
        await self.changes.wait_for(condition, timeout)

    # -- requests ----------------------------------------------------------------------------------

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=_BIGGEST_BODY)
        app.add_routes(routes(self))
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/audio/transcriptions", self._complete)
        app.router.add_get("/v1/models", self._list_models)
        return app

    async def _list_models(self, request: web.Request) -> web.Response:
        if not self._is_authorized(request):
            return _unauthorized()
        data = [
            {"id": m, "object": "model", "created": 1_700_000_000, "owned_by": "peer"} for m in self.models
        ]
        return web.json_response({"object": "list", "data": data})

    def _is_authorized(self, request: web.Request) -> bool:
        return self.api_key is None or request.headers.get("Authorization") == f"Bearer {self.api_key}"

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.server.count_connection(request)
        entry = Request(headers={k: v for k, v in request.headers.items() if k.lower() != "authorization"})
        self.journal.add(entry)
        try:
            return await self._serve(request, entry)
        except (asyncio.CancelledError, ConnectionError):
            entry.outcome = "client-gone"
            raise
        finally:
            self._leave(entry)

    async def _serve(self, request: web.Request, entry: Request) -> web.StreamResponse:
        if not self._is_authorized(request):
            entry.status, entry.outcome = 401, "unauthorized"
            return _unauthorized()
        is_sound = request.path.endswith("/transcriptions")
        body, faults = await read_form(request) if is_sound else self._read(await request.read())
        if self.keep_bodies:
            entry.body = body
        if faults:
            self.violations += faults
            entry.status, entry.outcome = 400, "violation"
            return _refused("; ".join(faults))
        if is_sound:
            return await self._hear(request, entry, body)
        self._enter(entry, body)
        messages = body["messages"]
        answer = self.script.take(entry.model, entry.last_text) or self.responder.answer(
            messages, entry.session
        )
        return await self._send(request, entry, body, answer)

    async def _hear(self, request: web.Request, entry: Request, body: dict[str, Any]) -> web.StreamResponse:
        entry.model, entry.last_text = str(body["model"]), HEARD
        self.changes.notify()
        spoken = Answer(text=f"{body['file']['size']} bytes of {body['file']['type']}")
        return await self._send(request, entry, body, self.script.take(entry.model, HEARD) or spoken)

    def _read(self, raw: bytes) -> tuple[dict[str, Any], list[str]]:
        try:
            body = json.loads(raw.decode("utf-8"))
        except ValueError as wrong:
            return {}, [f"unreadable body: {wrong}"]
        if not isinstance(body, dict):
            return {}, ["the body is not an object"]
        if self.checks == "off":
            return body, []
        faults = strict_faults(body, self.extra_fields)
        if self.checks == "full":
            known = {k: v for k, v in body.items() if k not in self.extra_fields}
            faults += schema_faults(known)
        return body, faults or image_faults(body["messages"])

    def _enter(self, entry: Request, body: dict[str, Any]) -> None:
        messages = body["messages"]
        position = last_user(messages)
        entry.session = session_of(body)
        entry.model, entry.stream = str(body.get("model")), bool(body.get("stream"))
        entry.messages = len(messages)
        entry.last_text = text_of(messages[position]) if position is not None else ""
        self.in_flight[entry.session] += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight.total())
        most = self.most_per_session
        most[entry.session] = max(most[entry.session], self.in_flight[entry.session])
        self.changes.notify()

    def _leave(self, entry: Request) -> None:
        entry.ended = time.monotonic()
        self.journal.write(entry)
        if entry.session and self.in_flight[entry.session] > 0:
            self.in_flight[entry.session] -= 1
            if not self.in_flight[entry.session]:
                del self.in_flight[entry.session]
        self.changes.notify()

    # -- answers -----------------------------------------------------------------------------------

    async def _send(
        self, request: web.Request, entry: Request, body: dict[str, Any], answer: Answer
    ) -> web.StreamResponse:
        if answer.first:
            await asyncio.sleep(answer.first)
        if answer.hang == "headers":
            await self.server.hang()
            entry.outcome = "hung"
            return cut(request)
        entry.status = answer.status
        if answer.status != 200:
            entry.outcome = f"error:{answer.status}"
            return _plain(answer)
        if entry.stream:
            parts, kind = events(body, answer), "text/event-stream"
        else:
            told = transcription if entry.last_text == HEARD else whole
            text = answer.raw if answer.raw is not None else json.dumps(told(body, answer))
            text = text[: len(text) // 2] if answer.malformed else text
            parts, kind = [text.encode()], "application/json"
        return await self._send_parts(request, entry, answer, parts, kind)

    async def _send_parts(
        self, request: web.Request, entry: Request, answer: Answer, parts: list[bytes], kind: str
    ) -> web.StreamResponse:
        headers = {"Content-Type": kind, "Cache-Control": "no-cache", **answer.headers}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for part in _cut_parts(_grouped(parts, answer), answer.cut_after):
            await response.write(part)
            if not entry.first_byte:
                entry.first_byte = time.monotonic()
                self.changes.notify()
                if answer.hang == "body":
                    await self.server.hang()
                    entry.outcome = "hung"
                    return cut(request)
            if answer.every:
                await asyncio.sleep(answer.every)
        if answer.cut_after is not None:
            entry.outcome = "cut"
            if request.transport is not None:
                request.transport.close()
            return response
        await response.write_eof()
        entry.outcome = "ok"
        return response


def _grouped(parts: list[bytes], answer: Answer) -> list[bytes]:
    """One write for the whole body where no pause or hang needs several: that saves most of the time."""
    return parts if answer.every or answer.hang else [b"".join(parts)]


def _cut_parts(parts: list[bytes], limit: int | None) -> list[bytes]:
    if limit is None:
        return parts
    kept, left = [], limit
    for part in parts:
        if left > 0:
            kept.append(part[:left])
        left -= len(part)
    return kept


def session_of(body: Mapping[str, Any]) -> str:
    """The session that a request belongs to."""
    named = body.get("user") or body.get("prompt_cache_key")
    if named:
        return str(named)
    first = next((text_of(m) for m in body["messages"] if m.get("role") == "user"), "")
    return read_directives(first).simple.get("session") or first[:80] or "-"


def _plain(answer: Answer) -> web.Response:
    text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
    kind = "text/plain" if isinstance(answer.body, str) else "application/json"
    return web.Response(text=text, status=answer.status, headers=dict(answer.headers), content_type=kind)


def _refused(message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=400)


def _unauthorized() -> web.Response:
    error = {
        "message": "Incorrect API key provided.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_api_key",
    }
    return web.json_response({"error": error}, status=401)
