"""All platforms at once, for tests and benches of the whole: `Town`."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tests.peers.discord import DiscordPeer
from tests.peers.mail import Dovecot, SmtpPeer
from tests.peers.slack import SlackPeer
from tests.peers.telegram import TelegramPeer
from tests.peers.town.post import MailStreet
from tests.peers.town.streets import Again, DiscordStreet, SlackStreet, Street, TelegramStreet, Trouble

__all__ = [
    "Again", "DiscordStreet", "MailStreet", "SlackStreet", "Street", "TelegramStreet", "Town", "Trouble", "opened",
]  # fmt: skip


class Town:
    """The four platforms on which people are; webhook and API are our own server, and need none beside it."""

    def __init__(
        self, telegram: TelegramPeer, discord: DiscordPeer, slack: SlackPeer, dovecot: Dovecot, smtp: SmtpPeer
    ) -> None:
        self.telegram = TelegramStreet(telegram)
        self.discord = DiscordStreet(discord)
        self.slack = SlackStreet(slack)
        self.email = MailStreet(dovecot, smtp)

    def __iter__(self) -> Iterator[Street]:
        yield from (self.telegram, self.discord, self.slack, self.email)

    def platforms(self, **more: Any) -> dict[str, dict[str, Any]]:
        """What stands under `platforms` for these four; `more` in each."""
        return {street.name: {**street.settings(), **more} for street in self}

    def violations(self) -> list[str]:
        """What no correct client does."""
        discord = self.discord.peer
        return [
            *self.telegram.peer.violations,
            *discord.violations,
            *discord.gateway.violations,
            *self.slack.peer.violations,
            *self.email.smtp.violations,
        ]


@asynccontextmanager
async def opened() -> AsyncIterator[Town]:
    """A town with peers of its own in this loop. Dovecot must be installed."""
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramPeer())
        discord = await stack.enter_async_context(DiscordPeer())
        slack = await stack.enter_async_context(SlackPeer())
        dovecot = Dovecot()
        stack.callback(dovecot.aclose)
        dovecot.start()
        smtp = SmtpPeer(dovecot.cert, dovecot.key)
        await smtp.start()
        stack.push_async_callback(smtp.stop)
        yield Town(telegram, discord, slack, dovecot, smtp)
