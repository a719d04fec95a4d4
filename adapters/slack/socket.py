"""Socket Mode: one connection after the other, each until Slack replaces it or it dies.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode . An envelope is acknowledged over the connection
that it came by, once it is stored. Slack says beforehand that it will close a connection (`disconnect`); what was
not acknowledged by then comes again over the next one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import structlog

from adapters.slack.client import WebApi
from adapters.slack.taking import Delivery, Taking
from adapters.troubles import Troubles
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import AdapterError, OutcomeUnknown, Unreachable

__all__ = ["Sockets"]

_log = structlog.get_logger("adapters.slack")
_ENDED = (
    aiohttp.WSMsgType.CLOSE,
    aiohttp.WSMsgType.CLOSING,
    aiohttp.WSMsgType.CLOSED,
    aiohttp.WSMsgType.ERROR,
)
_LAST_WORDS = 2.0  # seconds for what waits, before a connection is given up on Slack's wish
_LONG_AWAY = 60.0
_SHORT_LIFE, _SHORT_LIVES = 5.0, 2


class Sockets:
    """Listens, and connects anew, until cancelled."""

    def __init__(self, api: WebApi, app_token: str, clock: Clock, ping_every: float) -> None:
        self._api = api
        self._app_token = app_token
        self._clock = clock
        self._ping_every = ping_every
        self._short_lives = 0
        self._heard_at: float | None = None
        self._is_open = asyncio.Event()
        self._was_away = asyncio.Event()

    async def listening(self) -> None:
        """Return when a connection is open."""
        await self._is_open.wait()

    async def interrupted(self) -> None:
        """Return when nobody has listened for so long that Slack may have given up repeating."""
        await self._was_away.wait()
        self._was_away.clear()

    async def run(self, taking: Taking, intake: Intake, troubles: Troubles) -> None:
        """Raises `Unauthorized`; other failures are waited out."""
        while True:
            try:
                await self._one_life(taking, intake, troubles)
            except AdapterError as e:
                await troubles.met(e)

    async def _one_life(self, taking: Taking, intake: Intake, troubles: Troubles) -> None:
        opened = await self._api.call("apps.connections.open", token=self._app_token)
        if not isinstance(opened.get("url"), str):
            raise AdapterError("Slack's answer to apps.connections.open has no url; check base_url.")
        intake.alive()
        began = self._clock.monotonic()
        socket = await self._api.connect(opened["url"])
        self._opened()
        try:
            reason = await _Life(socket, taking, intake, troubles, self._ping_every).listen()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await taking.settled()
        finally:
            self._heard_at = self._clock.monotonic()
            self._is_open.clear()
            await socket.close()
        _log.info("slack.connection_replaced", reason=reason)
        is_short = self._clock.monotonic() - began < _SHORT_LIFE
        self._short_lives = self._short_lives + 1 if is_short else 0
        if self._short_lives > _SHORT_LIVES:
            raise AdapterError(f"Slack ends each connection at once ({reason}).")

    def _opened(self) -> None:
        if self._heard_at is not None and self._clock.monotonic() - self._heard_at > _LONG_AWAY:
            self._was_away.set()
        self._is_open.set()


class _Life:
    """One connection."""

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        taking: Taking,
        intake: Intake,
        troubles: Troubles,
        ping_every: float,
    ) -> None:
        self._socket = socket
        self._taking = taking
        self._intake = intake
        self._troubles = troubles
        self._ping_every = ping_every

    async def listen(self) -> str:
        """Listen until Slack wants the connection to be replaced; why. Raises `Unreachable` when it is dead."""
        while True:
            frame = await self._next()
            self._intake.alive()
            match frame.type:
                case aiohttp.WSMsgType.TEXT:
                    if (reason := self._heard(frame.data)) is not None:
                        return reason
                case aiohttp.WSMsgType.PING:
                    await _quietly(self._socket.pong(frame.data))

    async def _next(self) -> aiohttp.WSMessage:
        """The next frame. Silence is broken by a ping; a connection that stays silent is dead."""
        for is_last in (False, True):
            try:
                frame = await self._socket.receive(self._ping_every)
            except TimeoutError:
                if not is_last:
                    await _quietly(self._socket.ping())
                continue
            if frame.type in _ENDED:
                raise Unreachable(f"The connection to Slack was closed ({self._socket.close_code or 'cut'}).")
            return frame
        raise OutcomeUnknown("The connection to Slack is dead: no answer to a ping.")

    def _heard(self, text: str) -> str | None:
        """Take a message; the reason, when the connection is to be replaced."""
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, Mapping):
            _log.warning("slack.unreadable_frame", chars=len(text))
            return None
        match said.get("type"):
            case "hello":
                self._troubles.over()
            case "disconnect":
                return str(said.get("reason", "no reason given"))[:100]
            case kind if isinstance(said.get("envelope_id"), str):
                self._taking.put(Delivery(str(kind), said.get("payload"), self._acknowledging(said)))
        return None

    def _acknowledging(self, envelope: Mapping[str, Any]) -> Any:  # noqa: ANN401  see Delivery.told
        async def told() -> None:
            await _quietly(self._socket.send_str(json.dumps({"envelope_id": envelope["envelope_id"]})))

        return told


async def _quietly(sending: Any) -> None:  # noqa: ANN401  a coroutine of aiohttp
    """A frame that cannot be sent tells nothing new: the connection's end is seen where it is read."""
    try:
        await sending
    except (aiohttp.ClientError, ConnectionError, RuntimeError):
        _log.debug("slack.frame_not_sent")
