"""A plain HTTP/1.1 client with kept connections: what it costs must not be what is measured."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from bench.daemon import API_KEY, SECRET

__all__ = ["Wire", "api_turn", "hook"]

_IDLE = 10.0
"""Seconds after which a kept connection is not used again; the server closes it after 30."""


class Wire:
    """Connections to one port on loopback."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, _, writer in self._idle:
            writer.close()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a whole request; status and body of the answer."""
        reader, writer = self._kept() or await self._open()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await _body(reader, head.lower())
        self._idle.append((time.monotonic(), reader, writer))
        return int(head.split(b" ", 2)[1]), body

    async def all_at_once(self, requests: Sequence[bytes], want: int = 200) -> list[float]:
        """Send all at once; the seconds each took. Raises `RuntimeError` for any other status than `want`."""

        async def one(request: bytes) -> float:
            began = time.perf_counter()
            status, body = await self.ask(request)
            if status != want:
                raise RuntimeError(f"answered {status}: {body[:300]!r}")
            return time.perf_counter() - began

        return await asyncio.gather(*(one(request) for request in requests))

    async def leave(self, request: bytes) -> None:
        """Send a whole request and hang up at once."""
        _, writer = await self._open()
        writer.write(request)
        await writer.drain()
        writer.close()

    def _kept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The connection that was used last, unless the server may be about to close it."""
        if not self._idle:
            return None
        used, reader, writer = self._idle.pop()
        if time.monotonic() - used < _IDLE:
            return reader, writer
        for _, _, old in [*self._idle, (used, reader, writer)]:
            old.close()
        self._idle.clear()
        return None

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    for line in head.split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return await reader.readexactly(int(line[15:]))
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(parts)


def api_turn(text: str, session: str, *, key: str = "") -> bytes:
    """A request to the API: one message in a session. key: the same one again is the same request."""
    body = json.dumps({"model": "hermes", "messages": [{"role": "user", "content": text}]}).encode()
    headers = f"Authorization: Bearer {API_KEY}\r\nX-Hermes-Session: {session}\r\n"
    if key:
        headers += f"Idempotency-Key: {key}\r\n"
    return _post("/v1/chat/completions", body, headers)


def hook(path: str, text: str) -> bytes:
    """A signed webhook delivery."""
    body = json.dumps({"text": text}).encode()
    stamp = str(int(time.time()))
    signature = hmac.digest(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hex()
    return _post(path, body, f"X-Timestamp: {stamp}\r\nX-Signature: sha256={signature}\r\n")


def _post(path: str, body: bytes, headers: str) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode() + body
