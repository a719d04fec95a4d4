"""Socket Mode from Slack's side: connections, envelopes, acknowledgements, repeats.

https://docs.slack.dev/apis/events-api/using-socket-mode . An envelope that is not acknowledged comes again under a
new id, with `retry_attempt`: here over the next connection, or when a test asks for it. A press comes once: who pressed
is shown that it failed.
"""

import json
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web


@dataclass(slots=True)
class Envelope:
    """What is to be acknowledged. `ids`: under which it was sent."""

    kind: str
    payload: Any
    attempt: int = 0
    ids: list[str] = field(default_factory=list)
    sent_at: float = 0.0
    acked_at: float | None = None

    def wire(self) -> dict[str, Any]:
        """As it is sent, under a new id."""
        self.ids.append(str(uuid.uuid4()))
        self.sent_at = time.monotonic()
        shown: dict[str, Any] = {"envelope_id": self.ids[-1], "type": self.kind, "payload": self.payload}
        shown["accepts_response_payload"] = self.kind != "events_api"
        if self.kind == "events_api":
            shown["retry_attempt"] = self.attempt
            shown["retry_reason"] = "timeout" if self.attempt else ""
        return shown


class Links:
    """The connections of one app. `opened` counts them; `answers_pings`: off, they are dead without a word."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._tickets: set[str] = set()
        self._sockets: list[web.WebSocketResponse] = []
        self.envelopes: list[Envelope] = []
        self.opened = 0
        self.strays: list[str] = []
        self.answers_pings = True

    @property
    def current(self) -> web.WebSocketResponse | None:
        """The newest connection that is open."""
        return next((s for s in reversed(self._sockets) if not s.closed), None)

    def ticket(self) -> str:
        """A ticket for one connection."""
        self._tickets.add(made := uuid.uuid4().hex)
        return made

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """A connection, from hello to its end."""
        if request.query.get("ticket") not in self._tickets:
            return web.Response(status=403)
        self._tickets.discard(request.query["ticket"])
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        await socket.send_json({
            "type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"},
            "debug_info": {"host": "applink", "build_number": 1, "approximate_connection_time": 18060},
        })  # fmt: skip
        self._sockets.append(socket)
        self.opened += 1
        self._changed()
        try:
            with suppress(ConnectionError):  # cut meanwhile
                for envelope in [e for e in self.unacknowledged if e.kind != "interactive" or not e.ids]:
                    envelope.attempt += bool(envelope.ids)
                    await socket.send_json(envelope.wire())
                await self._read(socket)
        finally:
            self._sockets.remove(socket)
            self._changed()
        return socket

    async def _read(self, socket: web.WebSocketResponse) -> None:
        async for frame in socket:
            if frame.type == WSMsgType.PING and self.answers_pings:
                await socket.pong(frame.data)
            elif frame.type == WSMsgType.TEXT:
                self._acked(frame.data)

    def _acked(self, text: str) -> None:
        number = json.loads(text).get("envelope_id")
        envelope = next((e for e in self.envelopes if number in e.ids), None)
        if envelope is None:
            self.strays.append(text)
        elif envelope.acked_at is None:
            envelope.acked_at = time.monotonic()
        self._changed()

    async def deliver(self, kind: str, payload: Any, attempt: int = 0) -> Envelope:
        """Send an envelope now, or over the next connection."""
        envelope = Envelope(kind, payload, attempt)
        self.envelopes.append(envelope)
        await self.again(envelope, attempt)
        return envelope

    async def again(self, envelope: Envelope, attempt: int) -> None:
        """Send it (once more), under a new id."""
        envelope.attempt = attempt
        if self.current is not None:
            with suppress(ConnectionError):  # cut meanwhile
                await self.current.send_json(envelope.wire())

    async def say(self, message: Any) -> None:
        """Send any message (text as it is) over the current connection."""
        assert self.current is not None
        with suppress(ConnectionError):  # cut meanwhile
            await self.current.send_str(message if isinstance(message, str) else json.dumps(message))

    def cut(self) -> None:
        """Cut every connection without a word."""
        for socket in self._sockets:
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()

    async def close(self) -> None:
        """End every connection."""
        for socket in list(self._sockets):
            await socket.close()

    @property
    def unacknowledged(self) -> list[Envelope]:
        """Envelopes of which Slack does not know that they have arrived."""
        return [e for e in self.envelopes if e.acked_at is None]
