"""The gateway: sessions that outlive their connections, and every way in which one can end."""

import asyncio
import json
import secrets
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.peers.discord.world import CONTENT_INTENT, GUILD, World
from tests.peers.journal import Changes

_HELLO, _ACK, _INVALID, _RECONNECT = 10, 11, 9, 7


@dataclass(slots=True)
class _Session:
    id: str
    intents: int
    sequence: int = 0
    backlog: list[dict[str, Any]] = field(default_factory=list)


class Connection:
    """One WebSocket, compressed as it was asked for."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request) -> None:
        self.socket = socket
        self._request = request
        self._deflate = zlib.compressobj() if request.query.get("compress") == "zlib-stream" else None
        self._lock = asyncio.Lock()

    async def send(self, packet: dict[str, Any]) -> None:
        """One packet, if the connection still stands."""
        raw = json.dumps(packet).encode()
        async with self._lock:
            if self.socket.closed:
                return
            with suppress(ConnectionError):  # cut meanwhile
                if self._deflate is None:
                    await self.socket.send_str(raw.decode())
                else:
                    await self.socket.send_bytes(
                        self._deflate.compress(raw) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
                    )

    def cut(self) -> None:
        """Drop it without a word."""
        if self._request.transport is not None:
            self._request.transport.abort()


class Gateway:
    """One bot's gateway. `received` counts opcodes; `identifies` and `resumes` keep what was sent."""

    def __init__(self, token: str, changes: Changes, address: Callable[[], str]) -> None:
        self.token = token
        self.interval = 41_250
        self.acks = True
        self.grants_content = True
        self.refuses_with: list[int] = []
        self.identifies: list[dict[str, Any]] = []
        self.resumes: list[dict[str, Any]] = []
        self.received: Counter[int] = Counter()
        self.opened = 0
        self.close_codes: list[int | None] = []
        self.violations: list[str] = []
        self.world: World
        self._address = address
        self._changes = changes
        self._session: _Session | None = None
        self._connection: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: list[Callable[[], object]] = []

    @property
    def online(self) -> bool:
        """Whether a session is served by a connection now."""
        return self._session is not None and self._connection is not None

    def when_online(self, act: Callable[[], object]) -> None:
        """Do something as soon as the bot has a session."""
        if self._session is not None:
            act()
        else:
            self._held.append(act)

    # -- what a test does --------------------------------------------------------------------------

    def cut(self) -> None:
        """The connection is lost without a word."""
        if self._connection is not None:
            self._connection.cut()

    def ask_to_reconnect(self) -> None:
        """Opcode 7."""
        self._spawn_send({"op": _RECONNECT, "d": None})

    def invalidate(self, *, resumable: bool = False) -> None:
        """Opcode 9."""
        if not resumable:
            self._session = None
        self._spawn_send({"op": _INVALID, "d": resumable})

    def forget(self) -> None:
        """The session is too old to be gone on with."""
        self._session = None

    async def close(self, code: int) -> None:
        """Close with a code."""
        if self._connection is not None:
            await self._connection.socket.close(code=code)

    # -- the wire ----------------------------------------------------------------------------------

    def dispatch(self, name: str, data: Any) -> None:
        """An event for the session, now or when it is gone on with."""
        session = self._session
        if session is not None:
            session.sequence += 1
            shown = _hidden(data, session.intents) if name == "MESSAGE_CREATE" else data
            event = {"op": 0, "s": session.sequence, "t": name, "d": json.loads(json.dumps(shown))}
            session.backlog.append(event)
            self._spawn_send(event)
        self._changes.notify()

    def _spawn_send(self, packet: dict[str, Any]) -> None:
        if self._connection is not None:
            task = asyncio.create_task(self._connection.send(packet))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """One connection's life."""
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            self.violations.append(f"gateway asked with {dict(request.query)}")
        socket = web.WebSocketResponse(max_msg_size=4096)
        await socket.prepare(request)
        connection = Connection(socket, request)
        self.opened += 1
        await connection.send({"op": _HELLO, "d": {"heartbeat_interval": self.interval}})
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await self._hear(connection, json.loads(message.data))
        finally:
            self.close_codes.append(socket.close_code)
            if self._connection is connection:
                self._connection = None
            self._changes.notify()
        return socket

    async def _hear(self, connection: Connection, packet: dict[str, Any]) -> None:
        self.received[packet["op"]] += 1
        match packet["op"]:
            case 1:
                if self.acks:
                    await connection.send({"op": _ACK, "d": None})
            case 2:
                await self._identify(connection, packet["d"])
            case 6:
                await self._resume(connection, packet["d"])
            case other:
                self.violations.append(f"gateway got opcode {other}")
        self._changes.notify()

    async def _identify(self, connection: Connection, asked: dict[str, Any]) -> None:
        self.identifies.append(asked)
        refusal = self.refuses_with.pop(0) if self.refuses_with else None
        if refusal is None and asked["token"] != self.token:
            refusal = 4004
        if refusal is None and asked["intents"] & CONTENT_INTENT and not self.grants_content:
            refusal = 4014
        if refusal is not None:
            await connection.socket.close(code=refusal)
            return
        self._session = _Session(secrets.token_hex(8), asked["intents"])
        self._connection = connection
        self.dispatch(
            "READY",
            {
                "v": 10,
                "user": self.world.bot,
                "guilds": [{"id": GUILD, "unavailable": True}],
                "session_id": self._session.id,
                "resume_gateway_url": self._address(),
                "application": {"id": self.world.bot["id"], "flags": self.world.app_flags},
            },
        )
        held, self._held = self._held, []
        for act in held:
            act()

    async def _resume(self, connection: Connection, asked: dict[str, Any]) -> None:
        self.resumes.append(asked)
        session = self._session
        if session is None or asked["session_id"] != session.id or asked["token"] != self.token:
            await connection.send({"op": _INVALID, "d": False})
            return
        missed = [event for event in session.backlog if event["s"] > asked["seq"]]
        self._connection = connection
        for event in missed:
            await connection.send(event)
        self.dispatch("RESUMED", {})


def _hidden(message: Any, intents: int) -> Any:
    """Without the content intent the text of what is not for the bot is kept back."""
    if not isinstance(message, dict) or intents & CONTENT_INTENT or "guild_id" not in message:
        return message
    if any(m.get("id") == "900" for m in message.get("mentions", ())) or message["author"]["id"] == "900":
        return message
    return {**message, "content": "", "attachments": [], "embeds": []}
