"""The adapter: one bot that listens and sends."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from adapters.discord.answers import Answers
from adapters.discord.bots import BotBook
from adapters.discord.client import Rest
from adapters.discord.commands import menu
from adapters.discord.direct import DirectChannels
from adapters.discord.failures import Refused
from adapters.discord.gap import Gap
from adapters.discord.gateway import Dispatch, Link, Session, intents_for
from adapters.discord.life import Life, together
from adapters.discord.parse import Reading
from adapters.discord.places import Places
from adapters.discord.render import render
from adapters.discord.sending import (
    answers_of,
    channel_of,
    is_bad_reference,
    message_body,
    person_of,
    text_body,
)
from adapters.discord.settings import DiscordSettings
from adapters.discord.slash import Slash
from adapters.discord.taking import Surroundings, Taking, stored_mark
from adapters.discord.threads import Threads
from adapters.markdown.live import settled
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Pace, Piece, Receipt
from hermes.config import PlatformSettings, Rate
from hermes.errors import Gone, OutcomeUnknown
from hermes.events import Target

__all__ = ["Discord", "build"]

_PACE = Pace(bot=Rate(50, 1), chat=Rate(5, 5))
"""https://discord.com/developers/docs/topics/rate-limits#global-rate-limit; the channel's is what is seen there."""
_NONCE_HELD = 120.0
"""Seconds for which Discord knows a nonce; it says "the past few minutes"."""
_TRIED = 1024
_EVENTS = 1000
"""Events that wait for the store. When there are more, reading stops; Discord then sends them again on a resume."""


class Discord:
    """One bot."""

    def __init__(self, settings: DiscordSettings, context: AdapterContext) -> None:
        self._settings = settings
        self._context = context
        self._clock = context.clock
        self._rest = Rest(
            settings.token.get_secret_value(), settings.base_url, context.network, context.clock
        )
        self._slash = Slash(self._rest)
        self._threads = Threads(self._rest)
        self._direct = DirectChannels(self._rest)
        self._tried: OrderedDict[str, float] = OrderedDict()
        self.capabilities = Capabilities(
            deduplicates=True,
            dedupe_window=_NONCE_HELD,
            typing=True,
            edits=True,
            edit_every_group=2.0,
            silence=180.0,
            pace=Pace() if settings.rate == "off" else _PACE,
        )

    async def run(self, intake: Intake) -> None:
        """Listen until cancelled; failures that pass are waited out here. Raises `Unauthorized`."""
        intake.state("connecting")
        life = Life(self._rest, self._clock, self._context.instance, intake)
        account = await life.sign_in()
        name = f"seen:{account}"
        mark = await stored_mark(intake, name, self._clock)
        link = Link(
            self._rest,
            self._settings.token.get_secret_value(),
            self._settings.gateway_url,
            intents_for(message_content=self._settings.message_content),
        )
        link.session = Session(*mark.session) if mark.session else None
        around = Surroundings(
            Places(self._rest, self._clock),
            self._slash,
            Gap(self._rest, self._clock, intake.alive),
            BotBook(self._settings.bot_rate),
            self._clock,
        )
        events: asyncio.Queue[Dispatch] = asyncio.Queue(_EVENTS)
        taking = Taking(self._reading(account), mark, name, around)
        wanted = menu(self._context.commands) if self._settings.slash_commands else None
        await together(
            life.keep_linked(link, events),
            taking.run(events, intake),
            life.offer(wanted),
            name=self._context.instance,
        )

    def _reading(self, account: str) -> Reading:
        s = self._settings
        return Reading(
            instance=self._context.instance,
            account=account,
            mention=s.mention,
            channels=s.channels,
            free_channels=s.free_channels,
            allow_from=s.allow_from,
            allow_bots=s.allow_bots,
            auto_thread=s.auto_thread,
        )

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:
        """See `Adapter.render`; `Piece.text` is Discord's Markdown, `Piece.format` says what it answers."""
        return render(markdown, target)

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        """See `Adapter.send`. A slash command that can be answered no more, a lost thread: a plain message."""
        answers = answers_of(piece)
        if answers.token:
            done = await self._slash.answer(answers, piece.text)
            if done is not None:
                return done
        channel, reference = await self._channel(target, answers), answers.message
        if channel == answers.message:  # the question stands above its thread
            reference = ""
        body = message_body(piece, key, again=again and not self._is_held(key), reference=reference)
        self._try(key)
        try:
            return _receipt(await self._post(channel, body))
        except Refused as e:
            if not reference or not is_bad_reference(e):
                raise
        del body["message_reference"]
        return _receipt(await self._post(channel, body))

    async def _post(self, channel: str, body: dict[str, Any]) -> object:
        path = f"/channels/{channel}/messages"
        return await self._rest.call(
            "POST", path, body, name="POST message", bucket=f"POST message {channel}"
        )

    async def _channel(self, target: Target, answers: Answers) -> str:
        """The channel to send to: of a thread that is to begin, of a person, or the target's own."""
        if answers.parent:
            return answers.message if await self._threads.begun(answers) else answers.parent
        person = person_of(target)
        return channel_of(target) if person is None else await self._direct.of(person)

    def _is_held(self, key: str) -> bool:
        """Whether Discord certainly knows the nonce of an earlier try, if that arrived."""
        return self._clock.monotonic() - self._tried.get(key, float("-inf")) < _NONCE_HELD * 0.8

    def _try(self, key: str) -> None:
        self._tried.setdefault(key, self._clock.monotonic())
        if len(self._tried) > _TRIED:
            self._tried.popitem(last=False)

    def render_live(self, markdown: str, target: Target) -> Piece | None:
        """See `EditingAdapter.render_live`: the first piece of what is settled."""
        return next(iter(render(settled(markdown), target)), None)

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`; https://discord.com/developers/docs/resources/message#edit-message ."""
        answers = answers_of(piece)
        if answers.token and (done := await self._slash.change(answers, message_id, piece.text)) is not None:
            return done
        channel = await self._channel(target, answers)
        path = f"/channels/{channel}/messages/{message_id}"
        try:
            await self._rest.call(
                "PATCH",
                path,
                text_body(piece.text),
                name="PATCH message",
                bucket=f"PATCH message {channel}",
            )
        except Refused as e:
            if e.is_gone:
                raise Gone(str(e)) from e
            raise
        return Receipt(message_id)

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`. A slash command shows it by itself."""
        answers = Answers.from_text(target.answers)
        if answers.token:
            return
        channel = await self._channel(target, answers)
        path = f"/channels/{channel}/typing"
        await self._rest.call("POST", path, name="POST typing", bucket=f"POST typing {channel}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._slash.aclose()
        await self._rest.aclose()


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, DiscordSettings):
        raise TypeError(f"discord got {type(settings).__name__}")
    return Discord(settings, context)


def _receipt(sent: object) -> Receipt:
    if isinstance(sent, dict) and sent.get("id"):
        return Receipt(str(sent["id"]))
    raise OutcomeUnknown("Discord's answer to a message has no id.")
