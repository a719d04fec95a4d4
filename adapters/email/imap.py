"""The IMAP client: aioimaplib, guarded. Only this file knows it; errors that leave it are ours, without the password.

What is guarded: aioimaplib does not notice that a connection is gone, waits for ever when IDLE is refused with BYE,
raises in the transport's callbacks on what it does not expect, and drops untagged news that come with another answer.
So each wait here ends when the connection does, and news are noted where lines arrive.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

from aioimaplib import aioimaplib
from aioimaplib.aioimaplib import Command, IMAP4ClientProtocol, Response

from adapters.email.content import Content
from hermes.errors import AdapterError, Unauthorized, Unreachable

__all__ = ["ImapConnection", "Refusal", "open_imap"]

_T = TypeVar("_T")
logging.getLogger("aioimaplib").setLevel(logging.WARNING)  # below that it logs mails
_CONNECT = 20.0
_PIECE = 8192
_LONG = 4.0
"""Times the usual wait: for what takes a server longer."""
_COUNT = re.compile(rb"\* (\d+) (EXISTS|EXPUNGE)$")
_PASSING = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]", "[CONTACTADMIN]", "TOO MANY", "TRY AGAIN")
"""Response codes (RFC 5530) and words of a refusal that is not about the password."""


class Refusal(AdapterError):
    """The server refused a command; `text`: its own words."""

    def __init__(self, command: str, text: str) -> None:
        super().__init__(f"The IMAP server refused {command}: {text[:300]}")
        self.text = text


class _Protocol(IMAP4ClientProtocol):  # type: ignore[misc]  # the library has no types
    """Notes news, and turns what the library would raise into the connection's end."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(loop)
        self.news = asyncio.Event()
        self.lost: asyncio.Future[str] = loop.create_future()
        self.farewell = ""
        self.exists = 0
        self.invited = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.fail(str(exc) if exc else self.farewell or "the server closed the connection")

    def fail(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)
        if self.transport is not None:
            self.transport.abort()

    async def welcome(self, command: bytes) -> None:
        try:
            await super().welcome(command)
        except Exception as e:  # noqa: BLE001  it runs in a task that nobody looks at
            self.fail(f"unusable greeting: {e}"[:300])

    def data_received(self, d: bytes) -> None:
        try:
            for start in range(0, len(d), _PIECE):  # the library takes one call deeper for each line
                super().data_received(d[start : start + _PIECE])
        except Exception as e:  # noqa: BLE001  raised in a callback it would leave all waiters hanging
            self.fail(f"unreadable answer: {type(e).__name__}")

    def _untagged_response(self, line: bytes) -> Any:  # noqa: ANN401  the library's
        if found := _COUNT.match(line):
            self._counted(int(found[1]), found[2])
        if line.startswith(b"* BYE"):
            self.farewell = line[6:].decode("utf-8", "replace")
        return super()._untagged_response(line)

    def _counted(self, number: int, word: bytes) -> None:
        """Some servers repeat the number of mails with every answer: only a change of it is news."""
        if word == b"EXPUNGE":
            self.exists -= 1
        elif number != self.exists:
            self.exists = number
            self.news.set()

    def _continuation(self, line: bytes) -> None:
        if self.pending_sync_command is not None and self.pending_sync_command.name == "APPEND":
            self.invited.set()
            return
        if self.pending_sync_command is not None and self.pending_sync_command.name == "AUTHENTICATE":
            # A refused token is explained first; an empty line then brings the refusal (RFC 7628, section 3.2.3).
            self.transport.write(b"\r\n")
            return
        super()._continuation(line)


class _Client(aioimaplib.IMAP4):  # type: ignore[misc]  # the same
    """With our protocol, and a connection whose failure is raised where it is waited for."""

    protocol: _Protocol

    def create_client(
        self,
        host: str,
        port: int,
        loop: Any,  # noqa: ANN401, ARG002  the library's signature
        conn_lost_cb: Any = None,  # noqa: ANN401, ARG002
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.protocol = _Protocol()
        connecting = asyncio.get_running_loop().create_connection(
            lambda: self.protocol, host, port, ssl=ssl_context
        )
        self._client_task = asyncio.get_running_loop().create_task(connecting, name="imap connect")


class ImapConnection:
    """One connection. After any error but a `Refusal` it is of no use any more."""

    def __init__(self, client: _Client, timeout: float) -> None:
        self._client = client
        self._timeout = timeout

    @property
    def news(self) -> asyncio.Event:
        """Set when the server says that the folder has grown."""
        return self._client.protocol.news

    @property
    def lost(self) -> asyncio.Future[str]:
        """Done with a reason when the connection is gone."""
        return self._client.protocol.lost

    @property
    def idles(self) -> bool:
        """Whether the server can tell of new mail by itself."""
        return bool(self._client.has_capability("IDLE"))

    async def call(self, name: str, work: Awaitable[Response], times: float = 1.0) -> list[Any]:
        """The lines of a command's answer. Raises `Refusal`, `Unreachable` when none came."""
        response = await self._guarded(name, work, self._timeout * times)
        if response.result != "OK":
            raise Refusal(name, _words(response.lines))
        return list(response.lines)

    async def _guarded(self, name: str, work: Awaitable[_T], seconds: float) -> _T:
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task, self.lost), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if self.lost.done():
                raise Unreachable(f"The IMAP connection was lost: {self.lost.result()[:200]}")
            raise Unreachable(f"The IMAP server did not answer {name} within {seconds:g} s.")
        except (aioimaplib.AioImapException, OSError, TimeoutError, ValueError, AttributeError) as e:
            raise Unreachable(f"The IMAP connection broke at {name}: {type(e).__name__} {e}"[:300]) from e
        finally:
            if not task.done():
                task.cancel()
            await asyncio.wait((task,))
            if not task.cancelled():
                task.exception()  # looked at

    async def greeting(self) -> None:
        """Wait for the server's greeting and what it can do."""
        client = self._client
        await self._guarded("connect", client._client_task, _CONNECT)  # noqa: SLF001  it has no other door
        with suppress(OSError, AttributeError):
            sock = client.protocol.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        await self._guarded("greeting", client.protocol.wait("AUTH|NONAUTH"), _CONNECT)

    async def starttls(self, context: ssl.SSLContext, host: str) -> None:
        """Encrypt the connection: RFC 3501, section 6.2.1. What came before that is forgotten."""
        protocol = self._client.protocol
        command = Command("STARTTLS", protocol.new_tag(), loop=protocol.loop)
        await self.call("STARTTLS", protocol.execute(command))
        if protocol.incomplete_line:
            raise Unreachable("The IMAP server said something between STARTTLS and the encryption.")
        loop = asyncio.get_running_loop()
        upgrade = loop.start_tls(protocol.transport, protocol, context, server_hostname=host)
        protocol.transport = await self._guarded("STARTTLS", upgrade, _CONNECT)
        await self._guarded("CAPABILITY", protocol.capability(), self._timeout)

    async def login(self, user: str, password: str) -> None:
        """Raises `Unauthorized`, `Unreachable` where the refusal is not about the password."""
        if self._client.has_capability("LOGINDISABLED"):
            raise Unauthorized(
                "The IMAP server takes no password without encryption; set `tls: implicit` or `starttls`."
            )
        quoted = aioimaplib.quoted(user)
        await self._authenticated(self._client.protocol.login(quoted, password), user)

    async def xoauth2(self, user: str, token: str) -> None:
        """Log in with an access token. Raises as `login`."""
        await self._authenticated(self._client.protocol.xoauth2(user, token), user)

    async def _authenticated(self, work: Awaitable[Response], user: str) -> None:
        try:
            await self.call("the login", work)
        except Refusal as e:
            if any(code in e.text.upper() for code in _PASSING):
                raise Unreachable(f"The IMAP server takes no login now: {e.text[:200]}") from e
            raise Unauthorized(
                f"The IMAP server refused the login of {user} ({e.text[:200]}). Check the address and the password: "
                "many providers want an app password, and IMAP switched on in their settings."
            ) from e
        protocol = self._client.protocol
        await self._guarded("CAPABILITY", protocol.capability(), self._timeout)
        if self._client.has_capability("ID"):
            with suppress(Refusal):  # some providers (163.com) show no folder to who does not say what it is
                await self.call("ID", protocol.id(name="Hermes"))

    async def select(self, folder: str) -> list[bytes]:
        """Open a folder; what is said of it."""
        return [
            bytes(line) for line in await self.call("SELECT", self._client.select(aioimaplib.quoted(folder)))
        ]

    async def status(self, folder: str, names: str) -> list[bytes]:
        """Ask about a folder without opening it."""
        lines = await self.call("STATUS", self._client.status(aioimaplib.quoted(folder), names))
        return [bytes(line) for line in lines]

    async def folders(self) -> list[bytes]:
        """All folders with their flags, as LIST shows them."""
        return [bytes(line) for line in await self.call("LIST", self._client.list('""', '"*"'))]

    async def search(self, criteria: str) -> list[int]:
        """The UIDs that a search finds, in order."""
        lines = await self.call("UID SEARCH", self._client.uid_search(criteria, charset=None), _LONG)
        found = {int(word) for line in lines[:-1] for word in bytes(line).split() if word.isdigit()}
        return sorted(found)

    async def fetch(self, uids: str, items: str) -> list[Any]:
        """What FETCH answers: lines as `bytes`, literals as `bytearray`."""
        return (await self.call("UID FETCH", self._client.uid("fetch", uids, items), _LONG))[:-1]

    async def mark(self, uids: str, flags: str) -> None:
        """Give flags to mails."""
        await self.call("UID STORE", self._client.uid("store", uids, f"+FLAGS.SILENT ({flags})"))

    async def append(self, content: Content, folder: str) -> None:
        """Put a mail into a folder, as read, piece by piece. Raises also what `Content.pieces` raises."""
        protocol = self._client.protocol
        words = (aioimaplib.quoted(folder), "(\\Seen)", f"{{{content.size}}}")
        protocol.invited.clear()
        command = Command("APPEND", protocol.new_tag(), *words, loop=protocol.loop)
        running = asyncio.ensure_future(protocol.execute(command))
        try:
            await self._guarded("APPEND", _first(running, protocol.invited.wait()), self._timeout)
            if not running.done():
                async for piece in content.pieces():
                    protocol.transport.write(piece)
                    await self._guarded("APPEND", protocol.writable.wait(), self._timeout * _LONG)
                protocol.transport.write(b"\r\n")
            await self.call("APPEND", asyncio.shield(running), _LONG)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def noop(self) -> None:
        """Ask for a sign of life; news come with it."""
        await self.call("NOOP", self._client.noop())

    async def idle(self, wait: Awaitable[None]) -> None:
        """Have the server tell of news until there are some, `wait` is over, or the connection is lost."""
        protocol = self._client.protocol
        idling = asyncio.ensure_future(protocol.idle())
        waits = [asyncio.ensure_future(wait), asyncio.ensure_future(self.news.wait())]
        try:
            await self._guarded("IDLE", _first(idling, protocol.wait_for_idle_response()), self._timeout)
            if not idling.done():
                await asyncio.wait((*waits, idling, self.lost), return_when=asyncio.FIRST_COMPLETED)
            if not idling.done() and not self.lost.done():
                protocol.idle_done()
            await self.call("IDLE", asyncio.shield(idling))
        finally:
            for task in (*waits, idling):
                task.cancel()
            await asyncio.gather(*waits, idling, return_exceptions=True)
            while not protocol.idle_queue.empty():
                protocol.idle_queue.get_nowait()

    async def aclose(self) -> None:
        """Say goodbye, briefly, and close."""
        protocol = self._client.protocol
        if not self.lost.done() and protocol.pending_sync_command is None:
            with suppress(AdapterError):
                await self._guarded("LOGOUT", protocol.logout(), 2.0)
        self.drop()

    def drop(self) -> None:
        """Close at once."""
        task = self._client._client_task  # noqa: SLF001  it has no other door
        if not task.done():
            task.cancel()
        elif not task.cancelled():
            task.exception()
        self._client.protocol.fail("closed")


async def _first(*works: Awaitable[Any]) -> None:
    """Return when the first is done; the others are left as they are, if they are tasks."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks[1:]:
            task.cancel()
        await asyncio.gather(*tasks[1:], return_exceptions=True)


def _words(lines: list[Any]) -> str:
    found = b" ".join(bytes(line) for line in lines if isinstance(line, bytes | bytearray))
    return " ".join(found.decode("utf-8", "replace").split())


async def open_imap(
    host: str, port: int, context: ssl.SSLContext | None, *, starttls: bool, patience: float
) -> ImapConnection:
    """A connection that was greeted and is encrypted as asked. patience: seconds for an answer. Raises `Unreachable`."""
    client = _Client(host, port, timeout=patience * _LONG, ssl_context=None if starttls else context)
    connection = ImapConnection(client, patience)
    try:
        await connection.greeting()
        if starttls and context is not None:
            await connection.starttls(context, host)
    except BaseException:
        connection.drop()
        raise
    return connection
