"""What was written while nobody listened: Slack repeats a delivery for five minutes and no longer, so it is read.

Source: https://docs.slack.dev/reference/methods/users.conversations, /conversations.history, /conversations.replies .
Best effort and bounded: conversations that we are in, and the threads in which we took part last, one page of each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import structlog

from adapters.fields import objects
from adapters.slack.client import WebApi
from adapters.slack.failures import Refused
from hermes.clock import Clock
from hermes.errors import AdapterError
from hermes.messages import JSONObject

__all__ = ["Gap", "as_delivery"]

_log = structlog.get_logger("adapters.slack")
_LONGEST = 86_400.0  # seconds
_CHATS, _THREADS, _MESSAGES = 35, 10, 300  # some fifty calls a minute are allowed
_PAGE = "100"


def as_delivery(chat: str, message: Mapping[str, Any]) -> JSONObject:
    """A message of the history as the event that told of it. Pure.

    The history shows it as it is now: what was edited since counts as its first version.
    """
    event: dict[str, Any] = {key: value for key, value in message.items() if key != "edited"}
    return {"type": "event_callback", "event": {**event, "type": "message", "channel": chat}}


class Gap:
    """Reads the conversations of one app."""

    def __init__(self, api: WebApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock

    async def read(self, since: str, threads: Sequence[str]) -> Sequence[JSONObject]:
        """Deliveries of what was written after the message `since`, in order, and at most for a day. Raises nothing.

        threads: names of threads (`thread_name`), the newest first.
        """
        oldest = f"{max(float(since), self._clock.time() - _LONGEST):.6f}"
        found: dict[tuple[str, str], JSONObject] = {}
        try:
            async for chat, messages in self._pages(oldest, threads):
                for message in messages:
                    if isinstance(ts := message.get("ts"), str) and float(ts) > float(oldest):
                        found[chat, ts] = as_delivery(chat, message)
        except (AdapterError, ValueError) as e:
            _log.warning("slack.gap_not_read", error=str(e))
        newest = sorted(found.items(), key=lambda item: float(item[0][1]))[-_MESSAGES:]
        if newest:
            _log.info("slack.gap_read", messages=len(newest))
        return [delivery for _, delivery in newest]

    async def _pages(
        self, oldest: str, threads: Sequence[str]
    ) -> AsyncIterator[tuple[str, Iterable[Mapping[str, Any]]]]:
        types = "im,mpim,private_channel,public_channel"
        mine = await self._api.call(
            "users.conversations", {"types": types, "exclude_archived": "true", "limit": "200"}
        )
        chats = [chat["id"] for chat in objects(mine, "channels") if isinstance(chat.get("id"), str)]
        for chat in sorted(chats, key=lambda name: not name.startswith("D"))[:_CHATS]:
            params = {"channel": chat, "oldest": oldest, "limit": _PAGE}
            yield chat, await self._messages("conversations.history", params)
        for name in threads[:_THREADS]:
            chat, _, thread = name.partition(":")
            params = {"channel": chat, "ts": thread, "oldest": oldest, "limit": _PAGE}
            yield chat, await self._messages("conversations.replies", params)

    async def _messages(self, method: str, params: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        try:
            return list(objects(await self._api.call(method, params), "messages"))
        except Refused:  # a conversation or a thread that is gone
            return ()
