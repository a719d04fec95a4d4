"""Copies in the Sent folder of a real server."""

import asyncio

from adapters.email.account import Mailbox
from adapters.email.content import Content
from adapters.email.filing import Filing
from adapters.email.imap import ImapConnection
from adapters.email.settings import EmailSettings
from hermes.clock import SystemClock
from hermes.config import Network
from tests.integration.mail_desk import Post, mail
from tests.peers.mail import Dovecot, SmtpPeer


class Farewells(Mailbox):
    """Does something while each of the first connections says goodbye."""

    def begin(self, *deeds: Content, filing: Filing) -> None:
        self.filing, self.deeds = filing, list(deeds)

    async def imap(self) -> ImapConnection:
        connection = await super().imap()
        goodbye = connection.aclose

        async def slowly() -> None:
            if self.deeds:
                self.filing.put(self.deeds.pop())
            await goodbye()

        connection.aclose = slowly  # type: ignore[method-assign]
        return connection


async def test_a_copy_that_comes_while_the_connection_says_goodbye_is_filed(
    dovecot: Dovecot, smtp_peer: SmtpPeer
) -> None:
    post = Post.open(dovecot, smtp_peer)
    settings = EmailSettings.model_validate(post.settings())
    mailbox = Farewells(settings, Network(), SystemClock())
    filing = Filing(settings, mailbox, "email")
    mailbox.begin(Content((mail("the second"),)), filing=filing)
    filing.put(Content((mail("the first"),)))
    await filing.aclose()
    box = await asyncio.to_thread(dovecot.inbox, post.address)
    copies = await asyncio.to_thread(box.mails, "Sent")
    await asyncio.to_thread(box.close)
    assert [copy.get_content().strip() for copy in copies] == ["the first", "the second"]
