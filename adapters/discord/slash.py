"""Slash commands between "taken" and their answer: Discord wants a word within three seconds.

Source: https://discord.com/developers/docs/interactions/receiving-and-responding . The word is given after the
commit, and what answers the command waits for it: an answer that comes before it would be refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Any

import structlog

from adapters.discord.answers import Answers
from adapters.discord.client import Rest
from adapters.discord.failures import Refused
from adapters.discord.multipart import Upload
from adapters.discord.sending import shown_body, text_body
from hermes.adapter import Piece, Receipt
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown
from hermes.events import Verdict

__all__ = ["Slash"]

_log = structlog.get_logger("adapters.discord")
_MESSAGE, _LATER = 4, 5
_ONLY_FOR_YOU = 1 << 6
_NOT_HERE = "I may not answer you here."
_PATIENCE = 5.0
_ORIGINAL, _CHANGE = "@original", "PATCH interaction"
_LOADING = 1 << 7
"""The flag of a message that still says "is thinking"."""


class Slash:
    """The open slash commands of one bot."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._unsaid: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def expect(self, token: str) -> None:
        """A command is about to be taken; its answer waits for `settle`."""
        self._unsaid.setdefault(token, asyncio.Event())

    def settle(self, interaction: Mapping[str, Any], verdict: Verdict) -> None:
        """The command has its verdict: tell Discord, beside everything else."""
        task = asyncio.create_task(self._tell(interaction, verdict), name="slash command")
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
            return await self.change(answers, _ORIGINAL, piece.text)
        return await self._answer_with(answers, piece, upload, again=again)

    async def change(self, answers: Answers, message: str, text: str) -> Receipt | None:
        """See `answer`; any message of the command's."""
        path, bucket = _path(answers, message), _bucket(answers)
        return await _done(self._rest.call("PATCH", path, text_body(text), name=_CHANGE, bucket=bucket))

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
        if verdict.kind in ("accepted", "duplicate"):
            body: dict[str, Any] = {"type": _LATER}
        else:
            body = {"type": _MESSAGE, "data": {"content": _NOT_HERE, "flags": _ONLY_FOR_YOU}}
        path = f"/interactions/{interaction.get('id')}/{token}/callback"
        try:
            await self._rest.call("POST", path, body, name="POST interaction", answer_within=5.0)
        except AdapterError as e:
            _log.warning("discord.command_unanswered", error=str(e))
        finally:
            self._unsaid.pop(token, asyncio.Event()).set()


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
