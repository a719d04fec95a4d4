"""Small signs that something was taken, best effort: a reaction to a message, the end of a press."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from adapters.telegram.client import BotApi
from adapters.telegram.failures import Refused
from adapters.telegram.sending import chat_id
from hermes.clock import Clock
from hermes.errors import AdapterError, NotTaken
from hermes.events import Event, Target

__all__ = ["Pressed", "Seen"]

_log = structlog.get_logger("adapters.telegram")
_EYES = [{"type": "emoji", "emoji": "\N{EYES}"}]
_WAITING = 100
_MOST_CHATS = 1000


class Seen:
    """Puts a reaction on what was taken: https://core.telegram.org/bots/api#setmessagereaction."""

    def __init__(self, api: BotApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._waiting: asyncio.Queue[Event] = asyncio.Queue(_WAITING)
        self._without: set[str] = set()

    def offer(self, event: Event) -> None:
        """React soon; never waits. What is too much is left out, and so are chats that allow no such reaction."""
        if event.message_id is not None and event.chat not in self._without and not self._waiting.full():
            self._waiting.put_nowait(event)

    async def run(self) -> None:
        """React to what was offered, until cancelled. Raises nothing."""
        while True:
            event = await self._waiting.get()
            if event.chat in self._without:
                continue
            try:
                await self._react(event)
            except NotTaken as e:
                await self._clock.sleep(e.retry_after or 1.0)
            except Refused as e:
                self._leave_out(event.chat, e)
            except AdapterError as e:
                _log.info("telegram.no_reaction", error=str(e))

    async def _react(self, event: Event) -> None:
        chat = chat_id(Target(event.instance, event.chat))
        params: dict[str, Any] = {
            "chat_id": chat,
            "message_id": int(event.message_id or 0),
            "reaction": _EYES,
        }
        await self._api.call("setMessageReaction", params)

    def _leave_out(self, chat: str, refusal: Refused) -> None:
        if "reaction" in refusal.description.lower() and len(self._without) < _MOST_CHATS:
            self._without.add(chat)
        _log.info("telegram.no_reaction", error=str(refusal))


class Pressed:
    """Ends presses of buttons, which show as being under way until then.

    https://core.telegram.org/bots/api#answercallbackquery
    """

    def __init__(self, api: BotApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._waiting: asyncio.Queue[str] = asyncio.Queue(_WAITING)

    def offer(self, query: str) -> None:
        """Answer the query of this id soon; never waits. What is too much ends by itself, at the presser's."""
        if not self._waiting.full():
            self._waiting.put_nowait(query)

    async def run(self) -> None:
        """Answer what was offered, until cancelled. Raises nothing."""
        while True:
            query = await self._waiting.get()
            try:
                await self._api.call("answerCallbackQuery", {"callback_query_id": query})
            except NotTaken as e:
                await self._clock.sleep(e.retry_after or 1.0)
            except AdapterError as e:  # one that came while we were away is too old
                _log.info("telegram.press_not_ended", error=str(e))
