"""The adapter: signs in, listens (or is called), sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from adapters.fields import mapping, text
from adapters.markdown.live import settled
from adapters.slack.client import WebApi
from adapters.slack.fetching import fetch
from adapters.slack.gap import Gap
from adapters.slack.gestures import Gestures
from adapters.slack.notes import Notes
from adapters.slack.outward import WINDOW, Outward
from adapters.slack.parse import Account, Reading
from adapters.slack.people import People
from adapters.slack.render import render, render_choices, render_file
from adapters.slack.requests import Endpoint
from adapters.slack.roots import first_message
from adapters.slack.settings import SlackSettings
from adapters.slack.socket import Sockets
from adapters.slack.taking import Delivery, Taking
from adapters.slack.uploads import LARGEST, Uploads
from adapters.troubles import Troubles
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Pace, Piece, Receipt
from hermes.config import PlatformSettings, Rate
from hermes.errors import AdapterError
from hermes.events import Attachment, Event, Target
from hermes.files import StoredFile

if TYPE_CHECKING:
    from aiohttp.web import UrlDispatcher

__all__ = ["Slack", "SlackByHttp", "account_of", "build"]

_log = structlog.get_logger("adapters.slack")

_PACE = Pace(bot=Rate(240, 60), chat=Rate(1, 1))
"""One message a second in a channel, "several hundred" a minute in a workspace:
https://docs.slack.dev/apis/web-api/rate-limits"""

_EDIT_EVERY = 3.0
"""`chat.update` may be called some fifty times a minute in the whole workspace (tier 3)."""

_PULSE = 30.0


class Slack:
    """One app in one workspace, by Socket Mode."""

    def __init__(self, settings: SlackSettings, context: AdapterContext) -> None:
        self._settings = settings
        self._context = context
        self._api = WebApi(settings.bot_token.get_secret_value(), settings.base_url, context.network)
        uploads = Uploads(self._api, context.clock, Notes(context.files / "uploads"), context.stored)
        self._outward = Outward(self._api, context.clock, uploads)
        self._people = People(self._api, context.clock)
        self._gap = Gap(self._api, context.clock)
        self._gestures = Gestures(self._api, context.clock, settings)
        is_free = settings.rate == "off"
        self.capabilities = Capabilities(
            deduplicates=True,
            dedupe_window=WINDOW,
            typing=True,
            edits=True,
            edit_every=1.0 if is_free else _EDIT_EVERY,
            edit_every_group=1.0 if is_free else _EDIT_EVERY,
            silence=settings.ping_every * 3 + 60,
            pace=Pace() if is_free else _PACE,
        )

    async def run(self, intake: Intake) -> None:
        """Listen until cancelled; failures that pass are waited out here. Raises `Unauthorized`."""
        intake.state("connecting")
        troubles = Troubles(self._context.clock, self._context.instance, intake)
        account = await self._sign_in(troubles)
        intake.alive()
        await self._serve(self._taking(account), intake, troubles)

    async def _serve(self, taking: Taking, intake: Intake, troubles: Troubles) -> None:
        token = self._settings.app_token
        sockets = Sockets(
            self._api,
            token.get_secret_value() if token else "",
            self._context.clock,
            self._settings.ping_every,
        )
        await _first_of(
            take=taking.run(intake),
            listen=sockets.run(taking, intake, troubles),
            catch_up=self._catch_up(taking, intake, sockets),
            gesture=self._gestures.run(),
        )

    async def _catch_up(self, taking: Taking, intake: Intake, sockets: Sockets) -> None:
        """Read what came while nobody listened: before this start, and in every longer interruption."""
        while True:
            since, threads = await taking.position(intake)
            await sockets.listening()
            if since is not None:
                for delivery in await self._gap.read(since, threads):
                    taking.put(Delivery("events_api", delivery, _nobody_waits))
            await sockets.interrupted()

    async def _sign_in(self, troubles: Troubles) -> Account:
        """Learn who we are."""
        while True:
            try:
                return account_of(await self._api.call("auth.test"))
            except AdapterError as e:
                await troubles.met(e)

    def _taking(self, account: Account) -> Taking:
        settings = self._settings
        reading = Reading(
            self._context.instance,
            account,
            settings.mention,
            settings.thread_mention,
            settings.reply_in,
            frozenset(command.name for command in self._context.commands),
        )
        first = partial(first_message, self._api)
        return Taking(reading, self._people, self._gestures, self._context.clock, first)

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:
        """See `Adapter.render`; `Piece.format` holds the message's mrkdwn."""
        return render(markdown, target.answers, self._settings.pings)

    @property
    def largest_file(self) -> int:
        """See `FileAdapter.largest_file`."""
        return LARGEST

    def render_file(self, file: StoredFile, caption: str, target: Target) -> Sequence[Piece]:
        """See `FileAdapter.render_file`."""
        return render_file(file, caption, target.answers, self._settings.pings)

    def render_choices(self, piece: Piece, choices: Sequence[str], target: Target) -> Piece:  # noqa: ARG002  see its promise
        """See `ChoosingAdapter.render_choices`."""
        return render_choices(piece, choices)

    def fetch(self, event: Event, attachment: Attachment) -> AsyncIterator[bytes]:  # noqa: ARG002  see its promise
        """See `FetchingAdapter.fetch`; an attachment's `ref` is the file's id."""
        return fetch(self._api, attachment.ref)

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        """See `Adapter.send`. A repeat is looked for first, by what the earlier message is known by."""
        return await self._outward.send(target, piece, key, again=again)

    def render_live(self, markdown: str, target: Target) -> Piece | None:
        """See `EditingAdapter.render_live`. A command's answer does not grow: it may have to be sent otherwise."""
        if target.answers is not None:
            return None
        pieces = self.render(settled(markdown), target)
        return pieces[0] if pieces else None

    async def edit(self, target: Target, message_id: str, piece: Piece) -> Receipt:
        """See `EditingAdapter.edit`."""
        return await self._outward.edit(target, message_id, piece)

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`. Slack shows it in threads alone."""
        await self._outward.typing(target)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._api.aclose()


class SlackByHttp(Slack):
    """One app in one workspace; Slack posts to the shared HTTP server, at `/INSTANCE/events`."""

    _endpoint: Endpoint | None = None

    def mount(self, router: UrlDispatcher, intake: Intake) -> None:
        """Add the request URL, one for events and commands."""
        secret = self._settings.signing_secret
        endpoint = Endpoint(
            self._context.instance, secret.get_secret_value() if secret else "", self._context.clock, intake
        )
        router.add_post(f"/{self._context.instance}/events", endpoint.handle)
        self._endpoint = endpoint

    async def _sign_in(self, troubles: Troubles) -> Account:
        account = await super()._sign_in(troubles)
        if self._endpoint is not None and account.bot:
            self._endpoint.app = await self._app(account.bot)
        return account

    async def _app(self, bot: str) -> str:
        """The id of our app; "" where Slack does not tell it: then the signature alone counts."""
        try:
            return text(mapping(await self._api.call("bots.info", {"bot": bot}), "bot"), "app_id")
        except (AdapterError, ValueError) as e:
            _log.warning("slack.app_unknown", instance=self._context.instance, reason=str(e))
            return ""

    async def _serve(self, taking: Taking, intake: Intake, troubles: Troubles) -> None:
        since, threads = await taking.position(intake)
        if self._endpoint is not None:
            self._endpoint.taking = taking
        troubles.over()
        beat = self._beat(taking, intake, since, threads)
        await _first_of(take=taking.run(intake), beat=beat, gesture=self._gestures.run())

    async def _beat(self, taking: Taking, intake: Intake, since: str | None, threads: Sequence[str]) -> None:
        for delivery in await self._gap.read(since, threads) if since is not None else ():
            taking.put(Delivery("events_api", delivery, _nobody_waits))
        while True:
            intake.alive()
            await self._context.clock.sleep(_PULSE)


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, SlackSettings):
        raise TypeError(f"slack got {type(settings).__name__}")
    return SlackByHttp(settings, context) if settings.mode == "http" else Slack(settings, context)


def account_of(me: Mapping[str, Any]) -> Account:
    """Who we are. Raises `AdapterError` when the answer does not say it."""
    team, user, bot = me.get("team_id"), me.get("user_id"), me.get("bot_id")
    if isinstance(team, str) and isinstance(user, str):
        return Account(team, user, bot if isinstance(bot, str) else "")
    raise AdapterError("Slack's answer to auth.test has no team_id and user_id; check base_url.")


async def _nobody_waits() -> None:
    """What was read needs no acknowledgement."""


async def _first_of(**works: Coroutine[Any, Any, None]) -> None:
    """Do them beside each other until one ends; the others end with it, and its error is raised."""
    tasks = [asyncio.create_task(work, name=f"slack {name}") for name, work in works.items()]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=3.0)
    for task in done:
        task.result()
