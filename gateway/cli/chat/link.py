"""Staying connected: to the daemon, or to a gateway in this process that gives way to a daemon."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
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
"""So long a daemon that went away in a turn is waited for; then the chat takes its place."""
_LOOK_EVERY = 0.1
_STOP_SHOWS = 1.0

_GONE = f"The daemon has gone. Your message is kept; waiting {RECONNECT_SECONDS:g} s for the daemon to come back ..."
_BACK = "The daemon is back and goes on."
_STILL_GONE = (
    "The daemon did not come back: this chat goes on by itself. `hermes gateway run --daemon` starts one."
)
_HERE = "The daemon has gone: this chat answers by itself from now on."
_TAKEN_OVER = "A daemon has started: it answers from now on."


class LinkLost(HermesError):
    """Nobody answers. Write again to try anew; `hermes status` says more."""


class Link:
    """Whoever answers. An update `again` tells that an answer comes anew, from its start.

    tell: gets a sentence for the user when somebody else answers than before.
    """

    def __init__(self, home: Home, session: str) -> None:
        self._home = home
        self._session = session
        self._line: Line | None = None
        self._here = AsyncExitStack()
        self._gateway: Gateway | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._attaching = asyncio.Lock()
        self.tell: Callable[[str], None] = lambda _: None

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

        A lost connection is made anew, the message sent again under its id, so that it is not run twice.
        Raises `LinkLost`, and what the start of a gateway raises.
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
            waits = anew and before == "daemon"
            if self._leaving is not None and self._yielded:  # ours gives way: a daemon starts
                await self._leaving
                self._gateway = self._leaving = None
                waits = True
            elif waits:
                self.tell(_GONE)
            self._line = await self._connected(waits=waits)
            self._tell_of(before, self._line.role, waited=waits)
            return self._line

    async def _connected(self, *, waits: bool) -> Line:
        now = asyncio.get_running_loop().time
        own_turn = now() + (RECONNECT_SECONDS if waits else 0.0)
        deadline = own_turn + RECONNECT_SECONDS
        while True:
            line = await self._dial()
            if line is not None:
                return line
            held: HomeHeld | None = None
            if now() >= own_turn:
                try:
                    await self._answer_here()
                    continue
                except HomeHeld as error:  # somebody is starting or ending
                    held = error
            if now() >= deadline:
                raise held or LinkLost
            await asyncio.sleep(_LOOK_EVERY)

    def _tell_of(self, before: str | None, after: str, *, waited: bool) -> None:
        """What has changed for the user, if anything."""
        if before == "daemon" and after == "daemon" and waited:
            self.tell(_BACK)
        elif before == "daemon" and after == "chat":
            self.tell(_STILL_GONE if waited else _HERE)
        elif before == "chat" and after == "daemon":
            self.tell(_TAKEN_OVER)

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
