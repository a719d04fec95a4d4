"""Slash commands between "taken" and their answer: Discord wants a word within three seconds.

Source: https://discord.com/developers/docs/interactions/receiving-and-responding . The word is given after the
commit, and what answers the command waits for it: an answer that comes before it would be refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import structlog

from adapters.discord.answers import Answers
from adapters.discord.client import Rest
from adapters.discord.failures import Refused
from adapters.discord.sending import text_body
from hermes.adapter import Receipt
from hermes.errors import AdapterError, OutcomeUnknown
from hermes.events import Verdict

__all__ = ["Slash"]

_log = structlog.get_logger("adapters.discord")
_MESSAGE, _LATER = 4, 5
_ONLY_FOR_YOU = 1 << 6
_NOT_HERE = "I may not answer you here."
_PATIENCE = 5.0


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

    async def answer(self, answers: Answers, text: str) -> Receipt | None:
        """Put the answer in the place of "is thinking"; `None` when the command cannot be answered any more.

        Done twice it shows once. Raises what `Rest.call` raises, but for refusals.
        """
        unsaid = self._unsaid.get(answers.token)
        if unsaid is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(unsaid.wait(), _PATIENCE)
        return await self.change(answers, "@original", text)

    async def change(self, answers: Answers, message: str, text: str) -> Receipt | None:
        """See `answer`; any message of the command's."""
        path = f"/webhooks/{answers.application}/{answers.token}/messages/{message}"
        try:
            told = await self._rest.call(
                "PATCH", path, text_body(text), name="PATCH interaction", bucket=f"PATCH {answers.token[:40]}"
            )
        except Refused as e:
            _log.info("discord.command_expired", error=str(e))
            return None
        if not isinstance(told, dict) or not told.get("id"):
            raise OutcomeUnknown("Discord's answer to a command's answer has no id.")
        return Receipt(str(told["id"]))

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
