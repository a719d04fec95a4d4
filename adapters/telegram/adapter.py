"""The adapter: signs in, polls, sends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from adapters.markdown.live import settled
from adapters.telegram.addressing import Account
from adapters.telegram.buttons import keyboard
from adapters.telegram.client import BotApi
from adapters.telegram.fetching import fetched
from adapters.telegram.outward import Outward
from adapters.telegram.polling import Polling
from adapters.telegram.reading import Reading
from adapters.telegram.registration import Registration
from adapters.telegram.render import answering, render, render_file
from adapters.telegram.settings import TelegramSettings, WebhookMode
from adapters.telegram.signs import Pressed, Seen
from adapters.telegram.taking import Taking
from adapters.telegram.ways import LARGEST, LARGEST_LOCAL
from adapters.troubles import Troubles
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Pace, Piece, Receipt
from hermes.config import PlatformSettings, Rate
from hermes.errors import AdapterError
from hermes.events import Attachment, Event, Target
from hermes.files import StoredFile

if TYPE_CHECKING:
    from aiohttp.web import UrlDispatcher

    from adapters.telegram.requests import Endpoint

__all__ = ["Telegram", "build"]

_log = structlog.get_logger("adapters.telegram")
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_MOST_COMMANDS = 100
_SILENCE = 240.0


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
        self._outward = Outward(self._api, context.stored)
        self.capabilities = Capabilities(
            typing=True,
            edits=True,
            silence=settings.poll_timeout * 2 + 30,
            names=True,
            pace=Pace() if settings.rate == "off" else _PACE,
        )

    async def run(self, intake: Intake) -> None:
        """Listen until cancelled; failures that pass are waited out here. Raises `Unauthorized`."""
        intake.state("connecting")
        troubles = Troubles(self._context.clock, self._context.instance, intake)
        account = await self._sign_in(troubles)
        settings, name = self._settings, self._context.instance
        reading = Reading(name, account, settings.mention, settings.hear_reactions, settings.quote_replies)
        pressed = Pressed(self._api, self._context.clock)
        seen = Seen(self._api, self._context.clock) if settings.reactions == "ack" else None
        beside = [
            asyncio.create_task(self._offer_commands(), name=f"commands {name}"),
            asyncio.create_task(pressed.run(), name=f"pressed {name}"),
        ]
        if seen is not None:
            beside.append(asyncio.create_task(seen.run(), name=f"seen {name}"))
        taking = Taking(reading, pressed, seen)
        try:
            await taking.remember(intake, self._context.clock)
            await self._listen(taking, intake, troubles)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    async def _listen(self, taking: Taking, intake: Intake, troubles: Troubles) -> None:
        """Until cancelled. A webhook that another program has set is removed: it keeps us from polling."""
        while True:
            try:
                await self._api.call("deleteWebhook")
                break
            except AdapterError as e:
                await troubles.met(e)
        troubles.over()
        intake.alive()
        polling = Polling(self._api, taking, self._context.clock, self._settings.poll_timeout)
        await polling.run(intake, troubles)

    async def _sign_in(self, troubles: Troubles) -> Account:
        """Learn who we are."""
        while True:
            try:
                return _account(await self._api.call("getMe"))
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

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:
        """See `Adapter.render`; `Piece.format` holds the message's entities, and what it quotes."""
        return answering(render(markdown), target)

    def render_choices(self, piece: Piece, choices: Sequence[str], target: Target) -> Piece:  # noqa: ARG002  the contract
        """See `ChoosingAdapter.render_choices`."""
        return replace(piece, format={**piece.format, "buttons": keyboard(choices)})

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:  # noqa: ARG002  the contract; Telegram has no key
        """See `Adapter.send`."""
        return await self._outward.send(target, piece, again=again)

    @property
    def largest_file(self) -> int:
        """See `FileAdapter.largest_file`; https://core.telegram.org/bots/api#sending-files ."""
        return LARGEST if self._settings.local_files is None else LARGEST_LOCAL

    def render_file(self, file: StoredFile, caption: str, target: Target) -> Sequence[Piece]:  # noqa: ARG002  the contract
        """See `FileAdapter.render_file`."""
        return render_file(file, caption)

    def fetch(self, event: Event, attachment: Attachment) -> AsyncGenerator[bytes, None]:  # noqa: ARG002  the contract
        """See `FetchingAdapter.fetch`."""
        return fetched(self._api, attachment.ref, self._settings.local_files)

    def render_live(self, markdown: str, target: Target) -> Piece | None:
        """See `EditingAdapter.render_live`: the first piece of what is settled."""
        return next(iter(self.render(settled(markdown), target)), None)

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`."""
        return await self._outward.edit(target, message_id, piece)

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`."""
        await self._outward.typing(target)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._api.aclose()


class TelegramByWebhook(Telegram):
    """One bot; Telegram posts to the shared HTTP server, at `/INSTANCE/updates`."""

    def __init__(self, settings: TelegramSettings, hook: WebhookMode, context: AdapterContext) -> None:
        super().__init__(settings, context)
        self._hook = hook
        self._endpoint: Endpoint | None = None
        self.capabilities = replace(self.capabilities, silence=_SILENCE)

    def mount(self, router: UrlDispatcher, intake: Intake) -> None:
        """Add the address."""
        from adapters.telegram.requests import Endpoint  # noqa: PLC0415  who polls serves no HTTP

        instance = self._context.instance
        self._endpoint = Endpoint(instance, self._hook.secret_token.get_secret_value(), intake)
        router.add_post(f"/{instance}/updates", self._endpoint.handle)

    async def _listen(self, taking: Taking, intake: Intake, troubles: Troubles) -> None:
        if self._endpoint is not None:
            self._endpoint.taking = taking
        await Registration(self._api, self._hook, taking.reading, self._context.clock).run(intake, troubles)


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, TelegramSettings):
        raise TypeError(f"telegram got {type(settings).__name__}")
    if settings.webhook is not None:
        return TelegramByWebhook(settings, settings.webhook, context)
    return Telegram(settings, context)


def _account(me: object) -> Account:
    if isinstance(me, dict) and isinstance(me.get("id"), int):
        return Account(me["id"], str(me.get("username", "")))
    raise AdapterError("Telegram's answer to getMe has no id; check base_url.")
