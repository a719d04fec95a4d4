"""Threads in which an answer begins: made when there is something to put into them.

Source: https://discord.com/developers/docs/resources/channel#start-thread-from-message . A thread has the id of the
message that it begins at, so making it twice makes one.
"""

from __future__ import annotations

from collections import OrderedDict

import structlog

from adapters.discord.answers import Answers
from adapters.discord.client import Rest
from adapters.discord.failures import Refused
from adapters.discord.sending import thread_body
from hermes.errors import NotTaken, OutcomeUnknown

__all__ = ["Threads"]

_log = structlog.get_logger("adapters.discord")
_IS_THERE = 160004
_KEPT = 1024


class Threads:
    """The threads that one bot has begun; which ones is only remembered to save calls."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._there: OrderedDict[str, bool] = OrderedDict()

    async def begun(self, answers: Answers) -> bool:
        """Whether the thread at that message is there, after trying to make it. Raises `AdapterError`."""
        known = self._there.get(answers.message)
        if known is None:
            known = self._there[answers.message] = await self._begin(answers)
            if len(self._there) > _KEPT:
                self._there.popitem(last=False)
        return known

    async def _begin(self, answers: Answers) -> bool:
        path = f"/channels/{answers.parent}/messages/{answers.message}/threads"
        bucket = f"POST thread {answers.parent}"
        try:
            await self._rest.call("POST", path, thread_body(answers.name), name="POST thread", bucket=bucket)
        except OutcomeUnknown as e:
            raise NotTaken(str(e)) from e  # nothing was said yet, and a second try finds the thread there
        except Refused as e:
            if e.code == _IS_THERE:
                return True
            _log.warning("discord.no_thread", error=str(e))
            return False
        return True
