"""The gateway connection over discord.py's `DiscordWebSocket`. Only this file knows the SDK.

The SDK speaks the protocol (hello, heartbeats, compression, identify, resume); its caches and models are not used, so
that nothing is kept of a server's members and messages. Its place is taken by `_Seat`, which holds what the socket
asks of a client. Source: https://discord.com/developers/docs/events/gateway .
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import aiohttp
from discord import Client, ConnectionClosed, Intents
from discord.gateway import DiscordWebSocket, ReconnectWebSocket

from adapters.discord.client import Rest
from adapters.discord.closing import judge_close
from hermes.errors import AdapterError, Unreachable

__all__ = ["Dispatch", "Dropped", "Link", "Session", "intents_for"]

logging.getLogger("discord.gateway").setLevel(logging.WARNING)  # at debug it writes down every event

_Address = type(DiscordWebSocket.DEFAULT_GATEWAY)  # the SDK wants its own kind
_HELLO = 20.0
"""Seconds in which a connection must be there and have said hello."""
_GOODBYE = 3.0
_HEARD = (
    "READY",
    "RESUMED",
    "MESSAGE_CREATE",
    "MESSAGE_UPDATE",
    "MESSAGE_DELETE",
    "MESSAGE_DELETE_BULK",
    "INTERACTION_CREATE",
    "CHANNEL_UPDATE",
    "CHANNEL_DELETE",
    "THREAD_CREATE",
    "THREAD_UPDATE",
    "THREAD_DELETE",
    "THREAD_MEMBER_UPDATE",
    "THREAD_MEMBERS_UPDATE",
)
_GARBLED = (KeyError, TypeError, ValueError, AttributeError, zlib.error)


@dataclass(frozen=True, slots=True)
class Session:
    """What a connection can be taken up with again: its id, the last event's number, and where to."""

    id: str
    sequence: int
    url: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One event. session: with which it can be gone on after this event; `None` before READY."""

    name: str
    data: Any
    session: Session | None


class Dropped(AdapterError):
    """The gateway ended the connection; it can be made anew at once."""


def intents_for(*, message_content: bool) -> int:
    """The events that we ask for: servers, messages in them and direct, and their text."""
    return Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=message_content).value


class _Socket(DiscordWebSocket):
    heard: Callable[[], None]

    async def received_message(self, msg: str | bytes, /) -> None:
        """A packet: proof that the connection lives, whatever it holds."""
        self.heard()
        await super().received_message(msg)
        beat = self._keep_alive
        if beat is not None and beat.interval is not None:
            # A heartbeat that is not answered until after the next one means a dead connection.
            self._max_heartbeat_timeout = beat.heartbeat_timeout = min(60.0, 1.5 * beat.interval + 1.0)


def _socket_with(alive: Callable[[], None]) -> type[_Socket]:
    """The SDK gives a socket its callbacks only after hello, so this one has it from its class."""

    class Heard(_Socket):
        heard = staticmethod(alive)

    return Heard


@dataclass(frozen=True, slots=True)
class _Intents:
    value: int


class _State:
    """What the socket asks of the SDK's `ConnectionState`."""

    shard_count = None
    heartbeat_timeout = 60.0
    _activity = None
    _status = None

    def __init__(self, intents: int) -> None:
        self.parsers: Mapping[str, Callable[[Any], None]] = {}
        self._intents = _Intents(intents)
        self.socket: _Socket | None = None

    async def call_hooks(self, *_: object, **__: object) -> None:
        """Nobody hooks in."""

    def _update_references(self, socket: _Socket) -> None:
        self.socket = socket


class _Seat:
    """What the socket asks of the SDK's `Client` and its HTTP client."""

    _enable_debug_events = False

    def __init__(self, rest: Rest, token: str, intents: int) -> None:
        self._rest = rest
        self.state = self._connection = _State(intents)
        self.token = token
        self.http = self
        self.loop = asyncio.get_running_loop()
        self.raw: aiohttp.ClientWebSocketResponse | None = None

    def dispatch(self, *_: object) -> None:
        """The SDK's own events are not listened to."""

    async def ws_connect(self, url: str) -> aiohttp.ClientWebSocketResponse:
        """The WebSocket, over the connections of the REST client."""
        session = await self._rest.session()
        self.raw = await session.ws_connect(
            url,
            timeout=aiohttp.ClientWSTimeout(ws_close=_GOODBYE),
            autoclose=False,
            max_msg_size=0,
            proxy=self._rest.proxy(url.replace("ws", "http", 1)),
        )
        return self.raw

    async def aclose(self) -> None:
        """End the connection so that its session can be gone on with: any code but 1000 and 1001."""
        socket = self.state.socket
        if socket is not None:
            await socket.close(4000)
        elif self.raw is not None:
            await self.raw.close(code=4000)


class Link:
    """Connections of one bot, one after the other. `session` is gone on with as long as the gateway takes it."""

    def __init__(self, rest: Rest, token: str, url: str, intents: int) -> None:
        self._rest = rest
        self._token = token
        self._url = url
        self._intents = intents
        self._failed = 0
        self.session: Session | None = None

    async def run(self, put: Callable[[Dispatch], Awaitable[None]], alive: Callable[[], None]) -> None:
        """Connect, go on with the session if there is one, and hand on every event, until the connection ends.

        Raises `Dropped`, `Unreachable`, `Unauthorized`, or an `AdapterError` that says what the gateway holds against us.
        """
        seat = _Seat(self._rest, self._token, self._intents)
        waiting: list[tuple[str, Any]] = []
        seat.state.parsers = {name: partial(_note, waiting, name) for name in _HEARD}
        try:
            await self._talk(seat, waiting, put, alive)
        except ReconnectWebSocket as e:
            if not e.resume:
                self.session = None
            raise Dropped("The gateway asked for a new connection.") from e
        except ConnectionClosed as e:
            self.session = None
            raise judge_close(e.code) from e
        except (aiohttp.ClientError, TimeoutError, OSError) as e:
            raise self._unreached(e) from e
        except _GARBLED as e:
            self.session = None
            raise AdapterError(f"The gateway said something that makes no sense ({type(e).__name__}).") from e
        finally:
            await _closed(seat)

    async def _talk(
        self,
        seat: _Seat,
        waiting: list[tuple[str, Any]],
        put: Callable[[Dispatch], Awaitable[None]],
        alive: Callable[[], None],
    ) -> None:
        async with asyncio.timeout(_HELLO):
            socket = await self._open(seat, alive)
        while True:
            await socket.poll_event()
            if socket.session_id is not None and socket.sequence is not None:
                self.session = Session(socket.session_id, socket.sequence, str(socket.gateway))
            for name, data in waiting:
                if name in ("READY", "RESUMED"):
                    self._failed = 0
                await put(Dispatch(name, data, self.session))
            waiting.clear()

    async def _open(self, seat: _Seat, alive: Callable[[], None]) -> _Socket:
        session = self.session
        return await _socket_with(alive).from_client(
            cast("Client", seat),
            gateway=_Address(self._url if session is None else session.url),
            session=session.id if session else None,
            sequence=session.sequence if session else None,
            resume=session is not None,
        )

    def _unreached(self, cause: BaseException) -> AdapterError:
        """A session whose own server cannot be reached again and again is given up."""
        self._failed += 1
        if self._failed >= 3:
            self.session = None
        return Unreachable(f"The gateway could not be reached ({type(cause).__name__}).")


def _note(waiting: list[tuple[str, Any]], name: str, data: object) -> None:
    waiting.append((name, data))


async def _closed(seat: _Seat) -> None:
    try:
        await seat.aclose()
    except (aiohttp.ClientError, OSError, RuntimeError):  # what is broken need not be closed
        return
