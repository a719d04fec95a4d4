"""Slash commands and presses of buttons once they are taken: Discord wants a word within three seconds.

Source: https://discord.com/developers/docs/interactions/receiving-and-responding . The word is given after the
commit, and what answers a command waits for it: an answer that comes before it would be refused. Without a word Discord tells
who pressed that it failed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Any

import structlog

from adapters.discord.answers import Answers
from adapters.discord.client import Rest
from adapters.discord.failures import Refused
from adapters.discord.interactions import UNKNOWN_BUTTON, is_press
from adapters.discord.multipart import Upload
from adapters.discord.sending import changed_body, shown_body
from hermes.adapter import Piece, Receipt
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown
from hermes.events import Verdict

__all__ = ["Slash"]

_log = structlog.get_logger("adapters.discord")
_MESSAGE, _LATER, _NOTED = 4, 5, 6
_ONLY_FOR_YOU = 1 << 6
_NOT_HERE = "I may not answer you here."
_PASSED_OVER = (UNKNOWN_BUTTON, "backlog")
"""Reasons for which a press is not taken and nothing is said: it is another program's, or the door says it."""
_PATIENCE = 5.0
_TOLD = 1024
_ORIGINAL, _CHANGE = "@original", "PATCH interaction"
_LOADING = 1 << 7
"""The flag of a message that still says "is thinking"."""


class Slash:
    """The open slash commands and the presses of one bot."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._unsaid: dict[str, asyncio.Event] = {}
        self._told: OrderedDict[str, None] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def expect(self, interaction: Mapping[str, Any]) -> None:
        """It is about to be taken; what answers a command waits for `settle`."""
        if str(interaction.get("id")) not in self._told:
            self._unsaid.setdefault(str(interaction.get("token")), asyncio.Event())

    def settle(self, interaction: Mapping[str, Any], verdict: Verdict) -> None:
        """It has its verdict: tell Discord, once, beside everything else."""
        number = str(interaction.get("id"))
        if number in self._told:
            return
        self._told[number] = None
        if len(self._told) > _TOLD:
            self._told.popitem(last=False)
        task = asyncio.create_task(self._tell(interaction, verdict), name="interaction")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Wait briefly for what is being told."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=3.0)

    async def answer(
        self, answers: Answers, piece: Piece, upload: Upload | None, *, again: bool
    ) -> Receipt | None:
        """Put the answer in the place of "is thinking"; `None` when it must be a message of its own.

        That is so when the command cannot be answered any more, and for a file when it has been answered: it would take
        the answer's place. Done twice it shows once. Raises what `Rest.call` raises, but for refusals.
        """
        unsaid = self._unsaid.get(answers.token)
        if unsaid is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(unsaid.wait(), _PATIENCE)
        if upload is None:
            return await self.change(answers, _ORIGINAL, piece)
        return await self._answer_with(answers, piece, upload, again=again)

    async def change(self, answers: Answers, message: str, piece: Piece) -> Receipt | None:
        """See `answer`; any message of the command's."""
        path, bucket = _path(answers, message), _bucket(answers)
        return await _done(self._rest.call("PATCH", path, changed_body(piece), name=_CHANGE, bucket=bucket))

    async def _answer_with(
        self, answers: Answers, piece: Piece, upload: Upload, *, again: bool
    ) -> Receipt | None:
        """The file in the place of "is thinking", as long as nothing else stands there."""
        try:
            shown = await self._rest.call("GET", _path(answers, _ORIGINAL), name="GET interaction")
        except Refused:
            return None
        except OutcomeUnknown as e:
            raise NotTaken(str(e)) from e
        if not isinstance(shown, dict):
            return None
        if again and _holds(shown, upload):
            return Receipt(str(shown.get("id")))
        flags = shown.get("flags")
        if not (isinstance(flags, int) and flags & _LOADING):
            return None
        path, bucket, body = _path(answers, _ORIGINAL), _bucket(answers), shown_body(piece)
        return await _done(self._rest.upload("PATCH", path, body, upload, name=_CHANGE, bucket=bucket))

    async def _tell(self, interaction: Mapping[str, Any], verdict: Verdict) -> None:
        token = str(interaction.get("token"))
        path = f"/interactions/{interaction.get('id')}/{token}/callback"
        body = _first_word(interaction, verdict)
        try:
            await self._rest.call("POST", path, body, name="POST interaction", answer_within=5.0)
        except AdapterError as e:
            event = "discord.press_unacknowledged" if is_press(interaction) else "discord.command_unanswered"
            _log.warning(event, error=str(e))
        finally:
            self._unsaid.pop(token, asyncio.Event()).set()


def _first_word(interaction: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Nothing shows of a press that was taken; what is refused is told to nobody but its sender."""
    if verdict.kind in ("accepted", "duplicate"):
        return {"type": _NOTED if is_press(interaction) else _LATER}
    if is_press(interaction) and verdict.reason in _PASSED_OVER:
        return {"type": _NOTED}
    return {"type": _MESSAGE, "data": {"content": _NOT_HERE, "flags": _ONLY_FOR_YOU}}


def _path(answers: Answers, message: str) -> str:
    return f"/webhooks/{answers.application}/{answers.token}/messages/{message}"


def _bucket(answers: Answers) -> str:
    return f"PATCH {answers.token[:40]}"


async def _done(call: Awaitable[Any]) -> Receipt | None:
    """What became of a change; `None`: it was refused."""
    try:
        told = await call
    except Refused as e:
        _log.info("discord.command_expired", error=str(e))
        return None
    if not isinstance(told, dict) or not told.get("id"):
        raise OutcomeUnknown("Discord's answer to a command's answer has no id.")
    return Receipt(str(told["id"]))


def _holds(shown: Mapping[str, Any], upload: Upload) -> bool:
    """Whether a message has the file already; its name there may be another than ours."""
    files = shown.get("attachments")
    return isinstance(files, list) and any(
        isinstance(f, dict) and f.get("size") == upload.file.size for f in files
    )
