"""The adapter: reads the mailbox, hands mails over."""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

import structlog

from adapters.email.account import Mailbox
from adapters.email.fetching import Fetching
from adapters.email.filing import Filing
from adapters.email.head import Reading, own_addresses
from adapters.email.receiving import Receiving
from adapters.email.render import Envelope, compose, largest_file, render, render_reply
from adapters.email.settings import EmailSettings
from adapters.email.submission import PutOff
from adapters.email.trial import Trial
from hermes.adapter import Adapter, AdapterContext, Capabilities, Intake, Pace, Piece, Receipt
from hermes.config import PlatformSettings, Rate
from hermes.errors import AdapterError, NotTaken, Unauthorized, Unreachable
from hermes.events import Attachment, Event, Target
from hermes.files import StoredFile

__all__ = ["Email", "build"]

_log = structlog.get_logger("adapters.email")
_LONGEST_PAUSE = 60.0
_FIRST_GAP, _LONGEST_GAP = 15.0, 900.0
_KNOWN = 1000
_WAITED_FOR = 6
"""Tries, a quarter of an hour, for which all wait for a recipient who is put off."""
_REFUSALS = 5
_PACE = Pace(bot=Rate(30, 60))
"""No server says its limit; big providers take some hundred mails a day, and stop an account that hurries."""


class Email:
    """One mailbox."""

    def __init__(self, settings: EmailSettings, context: AdapterContext) -> None:
        self._settings = settings
        self._context = context
        self._mailbox = Mailbox(settings, context.network, context.clock)
        self._filing = Filing(settings, self._mailbox, context.instance)
        self._fetching = Fetching(settings, self._mailbox)
        self._put_off: OrderedDict[str, int] = OrderedDict()
        self._waited: OrderedDict[str, int] = OrderedDict()  # tries that one of several recipients has cost
        self._closed = False
        reading = Reading(
            instance=context.instance,
            address=settings.address,
            aliases=own_addresses(settings.address, settings.aliases),
            authserv_id=settings.authserv_id,
            trust_from=settings.trust_from,
            reply_all=settings.reply_all,
            name=settings.name,
        )
        for server in (settings.imap, settings.smtp):
            if server.tls == "none" and server.host not in ("localhost", "127.0.0.1", "::1"):
                _log.warning("email.not_encrypted", instance=context.instance, host=server.host)
        self._trial = Trial(context.files / "reading.json", reading)
        self._receiving = Receiving(settings, reading, self._trial, context.clock)
        wait = settings.poll_every or settings.idle_renew
        pace = Pace() if settings.rate == "off" else _PACE
        self.capabilities = Capabilities(silence=wait * 2 + 180, pace=pace)

    async def run(self, intake: Intake) -> None:
        """Read until cancelled; a lost connection is made anew here. Raises `Unauthorized`."""
        failures = refusals = 0
        was_connected = False
        said: str | None = None
        intake.state("connecting")

        def connected() -> None:
            nonlocal failures, refusals, said, was_connected
            failures, refusals, said, was_connected = 0, 0, None, True
            intake.state("connected")

        while True:
            try:
                await self._read(intake, connected)
            except AdapterError as e:
                failures += 1
                # A login that held until now may be refused by a server that is only out of order.
                refusals += isinstance(e, Unauthorized)
                if isinstance(e, Unauthorized) and not (was_connected and refusals <= _REFUSALS):
                    raise
                pause = min(_LONGEST_PAUSE, 2.0 ** min(failures - 1, 8)) * (0.5 + random.random() / 2)
                if str(e) != said:
                    said = str(e)
                    _log.warning("email.disconnected", instance=self._context.instance, error=said)
                intake.state("connecting", str(e))
                if not isinstance(e, Unreachable):
                    intake.alive()
                await self._context.clock.sleep(pause)

    async def _read(self, intake: Intake, connected: Callable[[], None]) -> None:
        connection = await self._mailbox.imap()
        try:
            await self._receiving.run(connection, intake, connected)
        finally:
            await connection.aclose()

    def fetch(self, event: Event, attachment: Attachment) -> AsyncIterator[bytes]:  # noqa: ARG002  the contract
        """See `FetchingAdapter.fetch`; the mail must still lie in the folder."""
        return self._fetching.fetch(attachment)

    @property
    def largest_file(self) -> int:
        """See `FileAdapter.largest_file`: what fits into one mail."""
        return largest_file(self._largest_mail())

    def _largest_mail(self) -> int:
        return min(self._settings.largest_mail, self._mailbox.most or self._settings.largest_mail)

    def render(self, markdown: str, target: Target) -> Sequence[Piece]:
        """See `Adapter.render`; `Piece.format` holds the headers of the answer and its HTML."""
        return render(markdown, target)

    def render_file(self, file: StoredFile, caption: str, target: Target) -> Sequence[Piece]:
        """See `FileAdapter.render_file`."""
        return self.render_reply("", [(file, caption)], target)

    def render_reply(
        self, markdown: str, files: Sequence[tuple[StoredFile, str]], target: Target
    ) -> Sequence[Piece]:
        """See `BundlingAdapter.render_reply`: one mail, as long as the files fit into it."""
        return render_reply(markdown, files, target, self._largest_mail())

    async def send(self, target: Target, piece: Piece, *, key: str, again: bool = False) -> Receipt:
        """See `Adapter.send`. A repetition is marked, and has the Message-ID of the first."""
        if self._closed:
            raise Unreachable("The mailbox is closed.")
        envelope = await asyncio.to_thread(self._compose, target, piece, key, again=again)
        try:
            note = await self._mailbox.send(envelope, patient=self._waited.get(key, 0) < _WAITED_FOR)
        except NotTaken as e:
            if isinstance(e, PutOff):
                _count(self._waited, key)
            raise NotTaken(str(e), retry_after=self._gap(key)) from e
        for counted in (self._put_off, self._waited):
            counted.pop(key, None)
        self._filing.put(envelope.content)
        return Receipt(envelope.message_id, note)

    def _compose(self, target: Target, piece: Piece, key: str, *, again: bool) -> Envelope:
        own = (self._settings.name, self._settings.address)
        envelope = compose(target, piece, key, own, self._context.clock.time(), again=again)
        content = replace(envelope.content, where=self._context.stored)
        content.check()
        return replace(envelope, content=content)

    def _gap(self, key: str) -> float:
        """Servers that put strangers off (greylisting) want minutes, and growing gaps: RFC 5321, section 4.5.4.1."""
        tries = _count(self._put_off, key)
        return min(_LONGEST_GAP, _FIRST_GAP * 2.0 ** min(tries - 1, 10))

    async def typing(self, target: Target) -> None:
        """See `Adapter.typing`; mail has no such sign."""

    async def aclose(self) -> None:
        """Close what is open. `send` raises `Unreachable` from then on."""
        self._closed = True
        await asyncio.gather(
            self._filing.aclose(), self._fetching.aclose(), asyncio.to_thread(self._trial.forgive)
        )


def build(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """Make the adapter."""
    if not isinstance(settings, EmailSettings):
        raise TypeError(f"email got {type(settings).__name__}")
    return Email(settings, context)


def _count(counts: OrderedDict[str, int], key: str) -> int:
    """One more for the key; how many that makes."""
    counts[key] = number = counts.pop(key, 0) + 1
    if len(counts) > _KNOWN:
        counts.popitem(last=False)
    return number
