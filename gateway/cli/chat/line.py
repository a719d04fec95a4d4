"""One connection to the gateway. What comes in are lines, each for the message that it belongs to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

__all__ = ["Line", "LineLost"]


class LineLost(Exception):
    """The connection has ended."""


class Line:
    """A live connection. `role` is who answers: "daemon" or "chat"."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, role: str) -> None:
        self.role = role
        self._reader = reader
        self._writer = writer
        self._waiting: dict[str, asyncio.Queue[dict[str, Any] | None]] = {}
        self._ended = asyncio.Event()
        self._reading = asyncio.create_task(self._read(), name="chat line")

    async def ask(self, ident: str, text: str, session: str) -> AsyncIterator[dict[str, Any]]:
        """Everything of the message's turn until its end. Raises `LineLost`: it may be asked elsewhere."""
        if self.lost:
            raise LineLost
        queue = self._waiting[ident] = asyncio.Queue()
        try:
            self._writer.write(json.dumps({"id": ident, "text": text, "session": session}).encode() + b"\n")
            while (update := await queue.get()) is not None:
                yield update
                if update["type"] in {"end", "refused"}:
                    return
            raise LineLost
        finally:
            del self._waiting[ident]

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self._ended.is_set()

    async def raise_if_lost(self, seconds: float) -> None:
        """Raise `LineLost` if the connection ends within so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
        if self.lost:
            raise LineLost

    async def aclose(self) -> None:
        """Hang up."""
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        try:
            while (raw := await self._reader.readline()).endswith(b"\n"):
                update = json.loads(raw)
                queue = self._waiting.get(update.get("id", ""))
                if queue is not None:
                    queue.put_nowait(update)
        except (OSError, ValueError):
            pass  # cut, or no line of ours: the same as its end
        finally:
            self._ended.set()
            for queue in self._waiting.values():
                queue.put_nowait(None)
