"""Staying connected: to the daemon, or to a gateway in this process that gives way to a daemon."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Self

from gateway.cli.chat.line import Line, LineLost
from gateway.control import connect
from hermes.errors import HermesError, HomeHeld
from hermes.home import Home

if TYPE_CHECKING:
    from gateway.app import Gateway

__all__ = ["RECONNECT_SECONDS", "Link", "LinkLost"]

RECONNECT_SECONDS = 30.0
_LOOK_EVERY = 0.1
_STOP_SHOWS = 1.0


class LinkLost(HermesError):
    """The daemon has gone. Start it again, or just go on: the chat then answers by itself."""


class Link:
    """Whoever answers. An update `again` tells that an answer comes anew, from its start."""

    def __init__(self, home: Home, session: str) -> None:
        self._home = home
        self._session = session
        self._line: Line | None = None
        self._here = AsyncExitStack()
        self._gateway: Gateway | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._attaching = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._attach(anew=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._line is not None:
            await self._line.aclose()
        if self._leaving is not None and not self._yielded:
            self._leaving.cancel()
        if self._leaving is not None:
            await asyncio.gather(self._leaving, return_exceptions=True)
        await self._here.aclose()

    @property
    def _yielded(self) -> bool:
        return self._gateway is not None and self._gateway.yielded.is_set()

    def hurry(self) -> None:
        """Do not wait for the running turn when a gateway in this process is closed."""
        if self._gateway is not None:
            self._gateway.stopped.force()

    async def ask(self, text: str) -> AsyncIterator[dict[str, Any]]:
        """Everything of the message's turn, until `end` or `refused`.

        A lost connection is made anew for up to 30 s, the message sent again under its id, so that it is not
        run twice. Raises `LinkLost`, and what the start of a gateway raises.
        """
        ident = uuid.uuid4().hex
        line = await self._attach(anew=False)
        while True:
            try:
                async for update in line.ask(ident, text, self._session):
                    if update.get("reason") == "store":  # or it is stopping, and will hang up at once
                        await line.raise_if_lost(_STOP_SHOWS)
                    yield update
            except LineLost:
                line = await self._attach(anew=True)
                yield {"type": "again"}
            else:
                return

    # --- attaching -------------------------------------------------------------------------------

    async def _attach(self, *, anew: bool) -> Line:
        """The live line. `anew`: it was lost in a turn, so whoever answered is waited for."""
        async with self._attaching:
            if self._line is not None and not self._line.lost:
                return self._line
            before = self._line.role if self._line is not None else None
            if self._line is not None:
                await self._line.aclose()
            if self._leaving is not None and self._yielded:  # ours gives way: a daemon starts
                await self._leaving
                self._gateway = self._leaving = None
                before, anew = "daemon", True
            self._line = await self._connected(before, anew=anew)
            return self._line

    async def _connected(self, before: str | None, *, anew: bool) -> Line:
        deadline = asyncio.get_running_loop().time() + RECONNECT_SECONDS
        while True:
            line = await self._dial()
            if line is not None:
                return line
            held: HomeHeld | None = None
            if not (anew and before == "daemon"):
                try:
                    await self._answer_here()
                    continue
                except HomeHeld as error:  # somebody is starting or ending
                    held = error
            if asyncio.get_running_loop().time() >= deadline:
                raise held or LinkLost
            await asyncio.sleep(_LOOK_EVERY)

    async def _dial(self) -> Line | None:
        connected = await connect(self._home)
        if connected is None:
            return None
        reader, writer, answer = connected
        return Line(reader, writer, str(answer.get("role")))

    async def _answer_here(self) -> None:
        from gateway.app import local

        self._gateway = await self._here.enter_async_context(local(self._home))
        self._leaving = asyncio.create_task(self._give_way(self._gateway.yielded), name="give way")

    async def _give_way(self, yielded: asyncio.Event) -> None:
        """When a daemon wants the home: the turn ends, the gateway here closes, and the line with it."""
        await yielded.wait()
        await self._here.aclose()
