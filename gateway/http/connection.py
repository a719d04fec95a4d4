"""One TCP connection, and the bound on how many there are.

When the house is full the oldest connection that does no work (no whole request yet, or idle) makes room,
so that clients which
trickle bytes never keep others out.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, cast

import structlog
from aiohttp import web

__all__ = ["Connection", "Connections", "json_error"]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,15})\r\n", re.IGNORECASE)
_log = structlog.get_logger("gateway.http")


def json_error(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    """The error body of everything that is not the API."""
    body = json.dumps({"error": text}, ensure_ascii=False).encode()
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


class Connections:
    """The open connections, oldest first, at most `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Connection) -> None:
        self._open[connection] = None
        if len(self._open) <= self.most:
            return
        yielding = next((c for c in self._open if not c.busy), connection)
        _log.warning("http.full", connections=len(self._open))
        yielding.abort()

    def discard(self, connection: Connection) -> None:
        self._open.pop(connection, None)


class Connection(web.RequestHandler):
    """aiohttp's connection, counted, with JSON for requests that are no HTTP.

    `busy`: a whole request is being answered.
    """

    def __init__(self, server: web.Server, connections: Connections, **options: Any) -> None:
        super().__init__(server, **options)
        self._connections = connections
        self.busy = False

    def work(self) -> None:
        """The request is complete."""
        self.busy = True

    def rest(self) -> None:
        """The request is answered."""
        self.busy = False

    def abort(self) -> None:
        """Cut the connection."""
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        # aiohttp's parser loses a good request when nonsense follows it in the same read. Fed in two goes, it
        # is answered first (RFC 9112 section 6.3: its length is what it said).
        while data and (end := _end_of_first(data)) is not None:
            super().data_received(data[:end])
            data = data[end:]
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.discard(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002  aiohttp's signature
    ) -> web.StreamResponse:
        """Answer what the parser refused; the parser's words may quote the request, so they stay here."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer was begun")
        _log.info("http.malformed", peer=request.remote, status=status, error=type(exc).__name__)
        text = "This is no valid HTTP request." if status < 500 else "Something went wrong here."
        response = json_error(status, text)
        response.force_close()
        return response


def _end_of_first(data: bytes) -> int | None:
    """Where the request that `data` begins with ends, if more follows it there."""
    head = data.find(b"\r\n\r\n") + 4
    if not 4 <= head < len(data):
        return None
    length = _LENGTH.search(data, 0, head)
    end = head + (int(length[1]) if length else 0)
    return end if end < len(data) and (length or b"chunked" not in data[:head].lower()) else None
