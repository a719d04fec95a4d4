"""The adapter: signs in, polls, sends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import structlog

from adapters.markdown.live import settled
from adapters.telegram.addressing import Account
from adapters.telegram.client import BotApi
from adapters.telegram.failures import Refused
from adapters.telegram.parse import Reading
from adapters.telegram.polling import Polling
from adapters.telegram.render import render
from adapters.telegram.sending import chat_id, is_gone, is_unchanged, remedy, send_call, thread_id
from adapters.telegram.settings import TelegramSettings
from adapters.troubles import Troubles
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Pace, Piece, Receipt
from hermes.config import PlatformSettings, Rate
from hermes.errors import AdapterError, Gone, OutcomeUnknown
from hermes.events import Target

__all__ = ["Telegram", "build"]

_log = structlog.get_logger("adapters.telegram")
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_MOST_COMMANDS = 100


def _is_group(chat: str) -> bool:
    return chat.startswith("-")


_PACE = Pace(bot=Rate(30, 1), chat=Rate(1, 1), group=Rate(20, 60), is_group=_is_group)
"""https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this"""


class Telegram:
    """One bot."""

    def __init__(self, settings: TelegramSettings, context: AdapterContext) -> None:
        self._settings = settings
        self._context = context
        self._api = BotApi(
            settings.token.get_secret_value(), settings.base_url, settings.file_url(), context.network
        )
        self.capabilities = Capabilities(
            typing=True,
            edits=True,
            silence=settings.poll_timeout * 2 + 30,
            pace=Pace() if settings.rate == "off" else _PACE,
        )

    async def run(self, intake: Intake) -> None:
        """Poll until cancelled; failures that pass are waited out here. Raises `Unauthorized`."""
        intake.state("connecting")
        troubles = Troubles(self._context.clock, self._context.instance, intake)
        account = await self._sign_in(troubles)
        troubles.over()
        intake.alive()
        menu = asyncio.create_task(self._offer_commands(), name=f"commands {self._context.instance}")
        try:
            reading = Reading(self._context.instance, account, self._settings.mention)
            polling = Polling(self._api, reading, self._context.clock, self._settings.poll_timeout)
            await polling.run(intake, troubles)
        finally:
            menu.cancel()
            await asyncio.wait((menu,))

    async def _sign_in(self, troubles: Troubles) -> Account:
        """Learn who we are. A webhook that another program has set is removed: it keeps us from polling."""
        while True:
            try:
                me = await self._api.call("getMe")
                await self._api.call("deleteWebhook")
                return _account(me)
            except AdapterError as e:
                await troubles.met(e)

    async def _offer_commands(self) -> None:
        """Fill the platform's menu, best effort."""
        listed = [
            {"command": c.name, "description": c.description[:256]}
            for c in self._context.commands
            if _COMMAND.fullmatch(c.name) and c.description
        ]
        if not listed:
            return
        try:
            await self._api.call("setMyCommands", {"commands": listed[:_MOST_COMMANDS]})
        except AdapterError as e:
            _log.info("telegram.no_command_menu", instance=self._context.instance, error=str(e))

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:  # noqa: ARG002  the contract
        """See `Adapter.render`; `Piece.format` holds the message's entities."""
        return render(markdown)

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:  # noqa: ARG002  the contract; Telegram has no key
        """See `Adapter.send`. Refused formatting, a lost topic, a moved chat: one more try without each."""
        call = send_call(target, piece, again=again)
        notes: list[str] = []
        while True:
            try:
                sent = await self._api.call("sendMessage", call.params())
            except Refused as e:
                found = remedy(call, e)
                if found is None:
                    raise
                call, note = found
                notes.append(note)
            else:
                return Receipt(_message_id(sent), "; ".join(notes) or None)

    def render_live(self, markdown: str, target: Target) -> Piece | None:  # noqa: ARG002  the contract
        """See `EditingAdapter.render_live`: the first piece of what is settled."""
        pieces = render(settled(markdown))
        return pieces[0] if pieces else None

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`; https://core.telegram.org/bots/api#editmessagetext ."""
        call = replace(send_call(target, piece, again=False), thread=None)
        notes: list[str] = []
        while True:
            try:
                await self._api.call("editMessageText", {**call.params(), "message_id": int(message_id)})
            except Refused as e:
                if is_unchanged(e):
                    break
                found = remedy(call, e)
                if is_gone(e) or (found is not None and found[0].moved):
                    raise Gone(str(e)) from e
                if found is None:
                    raise
                call, note = found
                notes.append(note)
            else:
                break
        return Receipt(message_id, "; ".join(notes) or None)

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`."""
        params: dict[str, Any] = {"chat_id": chat_id(target), "action": "typing"}
        if (thread := thread_id(target)) is not None:
            params["message_thread_id"] = thread
        await self._api.call("sendChatAction", params)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._api.aclose()


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, TelegramSettings):
        raise TypeError(f"telegram got {type(settings).__name__}")
    return Telegram(settings, context)


def _account(me: object) -> Account:
    if isinstance(me, dict) and isinstance(me.get("id"), int):
        return Account(me["id"], str(me.get("username", "")))
    raise AdapterError("Telegram's answer to getMe has no id; check base_url.")


def _message_id(sent: object) -> str:
    if isinstance(sent, dict) and isinstance(sent.get("message_id"), int):
        return str(sent["message_id"])
    raise OutcomeUnknown("Telegram's answer to sendMessage has no message id.")
