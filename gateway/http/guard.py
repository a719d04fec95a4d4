"""What every request passes: limits on its body, JSON for every error, no traceback to anybody.

The limits lie on the body's stream: a handler that reads it (`await request.read()`) gets the refusal at
that point, as an
`HTTPException`, so each handler decides itself what it checks before the body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import structlog
from aiohttp import StreamReader, web

from gateway.http.connection import Connection, json_error
from gateway.http.peer import Networks, client_address
from hermes.adapter import HttpLimits

__all__ = ["Guard"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_log = structlog.get_logger("gateway.http")
_LINGER = 2.0
_MOST_LINGERING = 64
_SENTENCES = {
    400: "The request's body is broken.",
    404: "There is nothing at this address.",
    408: "The body did not arrive in time.",
    415: "Compressed bodies are not taken; send it without Content-Encoding.",
}


class Guard:
    """The one middleware of the server."""

    def __init__(self, limits: HttpLimits, trusted: Networks) -> None:
        self._limits = limits
        self._trusted = trusted
        self._lingering = 0
        self._closing = asyncio.Event()

    def close(self) -> None:
        """The server stops: linger no longer."""
        self._closing.set()

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, whatever happens."""
        connection = cast("Connection", request.protocol)
        request.content.on_eof(connection.work)
        timer = self._limit(request)
        try:
            response = await self._answer(self._seen(request), handler)
            if not request.content.is_eof():
                await self._close_unread(request, response)
        finally:
            connection.rest()
            if timer is not None:
                timer.cancel()
        return response

    def _seen(self, request: web.Request) -> web.Request:
        if not self._trusted:
            return request
        address = client_address(request.remote, request.headers, self._trusted)
        return request if address is None or address == request.remote else request.clone(remote=address)

    def _limit(self, request: web.Request) -> asyncio.TimerHandle | None:
        content = request.content
        length = request.content_length
        if length is not None and length > self._limits.body:
            content.set_exception(web.HTTPRequestEntityTooLarge(self._limits.body, length))
        elif request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            content.set_exception(web.HTTPUnsupportedMediaType())
        elif not content.is_eof():
            return asyncio.get_running_loop().call_later(self._limits.read_timeout, _expire, content)
        return None

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as e:
            return self._refused(e)
        except web.RequestPayloadError:
            return json_error(400, _SENTENCES[400])
        except ConnectionError:  # the client is gone; aiohttp wants to know
            raise
        except Exception as e:  # noqa: BLE001  the last line before the client: logged here, never shown
            _log.exception("http.failed", method=request.method, path=request.path, error=type(e).__name__)
            return json_error(500, "Something went wrong here; the log says what.")

    def _refused(self, error: web.HTTPException) -> web.Response:
        kept = {n: error.headers[n] for n in ("Allow", "Retry-After", "Location") if n in error.headers}
        return json_error(error.status, self._sentence(error), kept)

    def _sentence(self, error: web.HTTPException) -> str:
        if isinstance(error, web.HTTPMethodNotAllowed):
            return f"Only {', '.join(sorted(error.allowed_methods))} is possible here."
        if error.status == 413:
            return f"The body is larger than {self._limits.body} bytes (gateway.limits.http_body)."
        return _SENTENCES.get(error.status, f"{error.reason}.")

    async def _close_unread(self, request: web.Request, response: web.StreamResponse) -> None:
        """Answer while the rest of the body stays unread, and leave the client a moment to see the answer.

        Closing at once would make the kernel reset the connection, which can take the answer away from the
        client (RFC 9112 section 9.6).
        """
        response.force_close()
        await response.prepare(request)
        await response.write_eof()
        transport = request.transport
        if transport is None or self._lingering >= _MOST_LINGERING:
            return
        transport.pause_reading()
        if transport.can_write_eof():
            transport.write_eof()
        self._lingering += 1
        try:
            async with asyncio.timeout(_LINGER):
                await self._closing.wait()
        except TimeoutError:
            pass  # long enough
        finally:
            self._lingering -= 1


def _expire(content: StreamReader) -> None:
    if not content.is_eof():
        content.set_exception(web.HTTPRequestTimeout())
