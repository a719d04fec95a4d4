"""A reaction that says "seen" to a message that was taken, best effort.

Source: https://discord.com/developers/docs/resources/message#create-reaction . Reactions of others are not listened to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import quote

import structlog

from adapters.discord.answers import Answers
from adapters.discord.client import Rest
from hermes.errors import AdapterError
from hermes.events import Event, Parsed, Verdict

__all__ = ["Reactions"]

_log = structlog.get_logger("adapters.discord")
_EYES = quote("\U0001f440")
_MOST = 32
"""Reactions on their way; when there are more, the next ones are left out."""


class Reactions:
    """The reactions of one bot."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._tasks: set[asyncio.Task[None]] = set()

    def acknowledge(self, items: Sequence[Parsed], verdicts: Sequence[Verdict]) -> None:
        """React to the messages that were taken, beside everything else."""
        for item, verdict in zip(items, verdicts, strict=True):
            if not isinstance(item, Event) or verdict.kind != "accepted" or item.edited:
                continue
            answers = Answers.from_text(item.reply_to[0].answers)
            if item.message_id is None or answers.token or len(self._tasks) >= _MOST:  # no message
                continue
            channel = answers.parent or item.chat
            task = asyncio.create_task(self._react(channel, str(item.message_id)), name="reaction")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Wait briefly for what is under way."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)

    async def _react(self, channel: str, message: str) -> None:
        path = f"/channels/{channel}/messages/{message}/reactions/{_EYES}/@me"
        try:
            await self._rest.call("PUT", path, name="PUT reaction", bucket=f"PUT reaction {channel}")
        except AdapterError as e:
            _log.info("discord.no_reaction", error=str(e))
