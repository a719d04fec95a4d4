"""What comes in, by polls or by requests, on its way to the intake."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from adapters.telegram.albums import Albums
from adapters.telegram.client import BotApi
from adapters.telegram.failures import Refused
from adapters.telegram.parse import Reading, parse_update
from adapters.telegram.sending import chat_id
from hermes.clock import Clock
from hermes.errors import AdapterError, NotTaken
from hermes.events import Event, Parsed, Target, Verdict

__all__ = ["Seen", "Taking"]

_log = structlog.get_logger("adapters.telegram")
_EYES = [{"type": "emoji", "emoji": "\N{EYES}"}]
_WAITING = 100
_MOST_CHATS = 1000


class Seen:
    """Puts a reaction on what was taken, best effort: https://core.telegram.org/bots/api#setmessagereaction."""

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


class Taking:
    """One account's. seen: `None` where nothing is shown of what was taken."""

    def __init__(self, reading: Reading, seen: Seen | None) -> None:
        self.reading = reading
        self._seen = seen
        self._albums = Albums()

    def read(self, updates: Sequence[Any]) -> list[Parsed]:
        """One item for each update."""
        return self._albums.addressed([parse_update(update, self.reading) for update in updates])

    def taken(self, items: Sequence[Parsed], verdicts: Sequence[Verdict]) -> None:
        """The items were judged and stored."""
        for item, verdict in zip(items, verdicts, strict=True):
            if (
                self._seen is not None
                and isinstance(item, Event)
                and verdict.kind == "accepted"
                and not item.edited
            ):
                self._seen.offer(item)
