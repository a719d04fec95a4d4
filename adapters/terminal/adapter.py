"""Local clients, one on each connection of the control socket: lines in, everything of their turns out.

A client that goes away changes nothing: its turns go on, and a line that it sends again is answered from what
is stored.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
from collections.abc import Sequence

from adapters.terminal.lines import ClientLine, build_event, parse, render
from hermes.adapter import AdapterContext, Capabilities, Intake, Piece, Receipt
from hermes.config import PlatformSettings
from hermes.errors import Rejected, StoreUnavailable
from hermes.events import Sender, Target
from hermes.messages import JSONObject

__all__ = ["TerminalAdapter", "build"]

MAX_FOLLOWED = 64
"""Messages of one connection whose turns are not over; more wait to be read."""

_REFUSED = {
    "too_long": "This message is too long.",
    "backlog": "Too many messages are waiting; try again in a moment.",
    "rate": "Too many messages at once; try again in a moment.",
}


class TerminalAdapter:
    """The terminal as a platform. It is only answered, never written to unasked."""

    capabilities = Capabilities(commands=True)

    def __init__(self, instance: str) -> None:
        self._instance = instance

    async def run(self, intake: Intake) -> None:
        """See `Adapter.run`: there is nothing to connect to."""
        intake.state("connected")
        await asyncio.Event().wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, intake: Intake) -> None:
        """See `StreamAdapter.serve`."""
        sender = await asyncio.to_thread(_owner)
        await _Connection(self._instance, sender, reader, writer, intake).talk()

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:  # noqa: ARG002  the contract
        """See `Adapter.render`; the client draws the Markdown."""
        return [Piece(markdown.strip())] if markdown.strip() else []

    async def send(
        self,
        target: Target,  # noqa: ARG002  the contract
        piece: Piece,  # noqa: ARG002  the contract
        *,
        key: str,  # noqa: ARG002  the contract
        again: bool = False,  # noqa: ARG002  the contract
    ) -> Receipt:
        """See `Adapter.send`."""
        raise Rejected("A terminal can only be answered, nothing can be sent to it.")

    async def typing(self, target: Target) -> None:
        """Nothing: the client shows by itself that it waits."""

    async def aclose(self) -> None:
        """Nothing is open."""


class _Connection:
    def __init__(
        self,
        instance: str,
        sender: Sender,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        intake: Intake,
    ) -> None:
        self._instance = instance
        self._sender = sender
        self._reader = reader
        self._writer = writer
        self._intake = intake
        self._room = asyncio.Semaphore(MAX_FOLLOWED)

    async def talk(self) -> None:
        """Until the client goes; its turns are not followed any longer then."""
        try:
            async with asyncio.TaskGroup() as following:
                await self._read(following)
                _end_group()
        except* (_Gone, ConnectionError):
            pass

    async def _read(self, following: asyncio.TaskGroup) -> None:
        while True:
            await self._room.acquire()
            try:
                line = await self._reader.readline()
            except ValueError:  # longer than the reader's limit
                await self._say({"type": "error", "text": "The line is too long."})
                return
            if not line.endswith(b"\n"):
                return
            message = await self._parsed(line)
            ticket = await self._take(message) if message is not None else None
            if message is None or ticket is None:
                self._room.release()
            else:
                following.create_task(self._follow(message.id, ticket), name=f"terminal {message.id}")

    async def _parsed(self, line: bytes) -> ClientLine | None:
        try:
            return parse(line)
        except ValueError as error:
            await self._say({"type": "error", "text": str(error)})
            return None

    async def _take(self, message: ClientLine) -> str | None:
        """The ticket of the stored message. Messages are taken one by one, so that they keep their order."""
        event = build_event(message, self._instance, self._sender)
        try:
            [verdict] = await self._intake.take([event])
        except StoreUnavailable as error:
            await self._refuse(message.id, "store", str(error))
            return None
        if verdict.ticket is None:
            reason = verdict.reason or verdict.kind
            await self._refuse(message.id, reason, _REFUSED.get(reason, f"Not taken: {reason}."))
            return None
        again = verdict.kind == "duplicate"
        await self._say({"id": message.id, "type": "taken", "ticket": verdict.ticket, "again": again})
        return verdict.ticket

    async def _follow(self, ident: str, ticket: str) -> None:
        try:
            async for update in self._intake.follow(ticket):
                await self._say({"id": ident, **render(update)})
        finally:
            self._room.release()

    async def _refuse(self, ident: str, reason: str, text: str) -> None:
        await self._say({"id": ident, "type": "refused", "reason": reason, "text": text})

    async def _say(self, line: JSONObject) -> None:
        self._writer.write(json.dumps(line, default=str).encode() + b"\n")
        await self._writer.drain()


class _Gone(Exception):
    """The client went away."""


def _end_group() -> None:
    """Cancel what a task group still runs: it has no other way to be ended from inside."""
    raise _Gone


def _owner() -> Sender:
    """The user who owns the home; the socket serves nobody else but root."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # a container may run under an id without a name
        name = str(uid)
    return Sender(str(uid), name, name)


def build(settings: PlatformSettings, context: AdapterContext) -> TerminalAdapter:  # noqa: ARG001  the contract
    """See `hermes.adapter.BuildAdapter`."""
    return TerminalAdapter(context.instance)
