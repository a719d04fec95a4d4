"""Files over the wire: downloads are read as they are asked for, uploads are read from the disk while they are sent.

The SDK is not used for them: it reads a file whole, and on the event loop. Whatever the progress, both end in time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from adapters.telegram.failures import failure
from adapters.telegram.form import Form, Upload
from hermes.errors import AdapterError, Gone, NotTaken, OutcomeUnknown, Rejected, Unreachable

__all__ = ["UNSENT", "Transfer"]

UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)
"""Failures before a byte was written."""

_STEP = httpx.Timeout(connect=10.0, pool=30.0, read=60.0, write=30.0)  # seconds for one step of it
_LONGEST, _SLOWEST = 60.0, 16_384  # seconds for any file, and bytes a second beyond that
_CHUNK = 1 << 16


class Transfer:
    """Connections of their own, so that no file keeps a message waiting. `methods`, `files`: addresses with token."""

    def __init__(self, client: httpx.AsyncClient, methods: str, files: str) -> None:
        self._client = client
        self._methods = methods
        self._files = files

    async def upload(self, method: str, params: Mapping[str, Any], upload: Upload) -> Any:  # noqa: ANN401  JSON
        """The `result` of a method that takes a file.

        Raises `Unreachable` before a byte was written, `NotTaken` when the connection broke before the file's end,
        `OutcomeUnknown` when the answer was lost, `Rejected` when the file cannot be read, else what
        `failures.failure` says.
        """
        try:
            async with Form(params, upload) as form:
                status, body = await self._post(method, form)
        except OSError as e:
            raise Rejected(f"The file to send cannot be read ({type(e).__name__}).") from e
        if not 200 <= status < 300:
            raise failure(method, status, body)
        return _result(method, body)

    async def _post(self, method: str, form: Form) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(_longest(form.size)):
                response = await self._client.post(
                    f"{self._methods}/{method}", content=form.chunks(), headers=form.headers, timeout=_STEP
                )
        except (httpx.HTTPError, TimeoutError) as e:
            raise _broken(method, e, whole=form.whole) from e
        return response.status_code, response.content

    async def download(self, path: str) -> AsyncGenerator[bytes, None]:
        """The bytes of a file. Raises `Gone`, `NotTaken`, `Unreachable`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _LONGEST
        try:
            async with self._client.stream(
                "GET",
                f"{self._files}/{quote(path)}",
                headers={"Accept-Encoding": "identity"},
                timeout=_STEP,
            ) as response:
                _check(response.status_code)
                async for chunk in response.aiter_raw(_CHUNK):
                    yield chunk
                    until += len(chunk) / _SLOWEST
                    if loop.time() > until:
                        raise Unreachable("Telegram sends the file too slowly.")
        except httpx.HTTPError as e:
            raise Unreachable(f"Telegram's file could not be read to its end ({type(e).__name__}).") from e

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _longest(size: int) -> float:
    return _LONGEST + size / _SLOWEST


def _broken(method: str, cause: Exception, *, whole: bool) -> AdapterError:
    kind = type(cause).__name__
    if isinstance(cause, UNSENT):
        return Unreachable(f"Telegram could not be reached for {method} ({kind}).")
    if not whole:
        return NotTaken(f"The connection broke before the file was sent to its end ({method}, {kind}).")
    return OutcomeUnknown(f"Telegram's answer to {method} was lost ({kind}).")


def _result(method: str, body: bytes) -> Any:  # noqa: ANN401  JSON
    try:
        return json.loads(body)["result"]
    except (ValueError, RecursionError, KeyError, TypeError) as e:
        raise OutcomeUnknown(f"Telegram's answer to {method} could not be read.") from e


def _check(status: int) -> None:
    if status == 404:
        raise Gone("Telegram no longer has this file.")
    if status != 200:
        raise NotTaken(f"Telegram answered the request for a file with HTTP {status}.")
