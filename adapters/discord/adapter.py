"""The adapter: one bot that listens and sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from adapters.discord.bots import BotBook
from adapters.discord.buttons import with_buttons
from adapters.discord.client import Rest
from adapters.discord.commands import menu
from adapters.discord.fetching import Files
from adapters.discord.gap import Gap
from adapters.discord.gateway import Dispatch, Link, Session, intents_for
from adapters.discord.life import Life, together
from adapters.discord.outward import NONCE_HELD, Outward
from adapters.discord.parse import Reading
from adapters.discord.places import Places
from adapters.discord.reactions import Reactions
from adapters.discord.render import render, render_file
from adapters.discord.settings import DiscordSettings
from adapters.discord.slash import Slash
from adapters.discord.taking import Surroundings, Taking, stored_mark
from adapters.markdown.live import settled
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Pace, Piece, Receipt
from hermes.config import PlatformSettings, Rate
from hermes.events import Attachment, Event, Target
from hermes.files import StoredFile

__all__ = ["Discord", "build"]

_PACE = Pace(bot=Rate(50, 1), chat=Rate(5, 5))
"""https://discord.com/developers/docs/topics/rate-limits#global-rate-limit; the channel's is what is seen there."""
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
        self._reactions = Reactions(self._rest) if settings.reactions == "ack" else None
        self._outward = Outward(self._rest, self._slash, context.clock, context.stored)
        self._files = Files(self._rest, settings.cdn_url, context.clock)
        self.capabilities = Capabilities(
            deduplicates=True,
            dedupe_window=NONCE_HELD,
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
            self._reactions,
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

    def render_file(self, file: StoredFile, caption: str, target: Target) -> Sequence[Piece]:
        """See `FileAdapter.render_file`."""
        return render_file(file, caption, target)

    @property
    def largest_file(self) -> int:
        """See `FileAdapter.largest_file`; what a server allows depends on its boosts, so a setting says it."""
        return self._settings.largest_file

    def fetch(self, event: Event, attachment: Attachment) -> AsyncIterator[bytes]:  # noqa: ARG002  the contract's form
        """See `FetchingAdapter.fetch`."""
        return self._files.read(attachment.ref)

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        """See `Adapter.send`. A slash command that can be answered no more, a lost thread: a plain message."""
        return await self._outward.send(target, piece, key=key, again=again)

    def render_live(self, markdown: str, target: Target) -> Piece | None:
        """See `EditingAdapter.render_live`: the first piece of what is settled."""
        return next(iter(render(settled(markdown), target)), None)

    def render_choices(self, piece: Piece, choices: Sequence[str], target: Target) -> Piece:  # noqa: ARG002  the contract's form
        """See `ChoosingAdapter.render_choices`."""
        return with_buttons(piece, choices)

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`."""
        return await self._outward.edit(target, message_id, piece)

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`. A slash command shows it by itself."""
        await self._outward.typing(target)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._slash.aclose()
        if self._reactions is not None:
            await self._reactions.aclose()
        await self._rest.aclose()


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, DiscordSettings):
        raise TypeError(f"discord got {type(settings).__name__}")
    return Discord(settings, context)
