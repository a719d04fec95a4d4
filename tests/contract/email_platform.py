"""E-mail behind its adapter, as a contract test sees it: a mailbox at a real Dovecot, and an SMTP server."""

import asyncio

from adapters.email.render import AGAIN, LIMIT
from hermes.adapter import Adapter
from hermes.clock import Clock, SystemClock
from hermes.events import Target
from tests.integration.mail_desk import Post, mail
from tests.peers.faults import Fault, refusal
from tests.peers.mail import Dovecot, SmtpPeer

WHO = "ana@far.test"


class Email:
    """One mailbox; `aclose` ends what is beside it."""

    target = Target("email", WHO)
    limit = LIMIT + len(AGAIN)

    def __init__(self, dovecot: Dovecot) -> None:
        self.smtp = SmtpPeer(dovecot.cert, dovecot.key)
        self.post = Post.open(dovecot, self.smtp)

    @classmethod
    async def open(cls, dovecot: Dovecot) -> "Email":
        """A mailbox that nobody has used."""
        made = cls(dovecot)
        await made.smtp.start()
        made.adapter = made.build(SystemClock())
        return made

    adapter: Adapter

    async def aclose(self) -> None:
        """End the SMTP server."""
        await self.smtp.stop()
        assert self.smtp.violations == []

    def build(self, clock: Clock) -> Adapter:
        return self.post.adapter(clock, first_start="all", sent_folder="off")

    def size(self, text: str) -> int:
        return len(text)

    def shown(self) -> list[str]:
        return [m.text for m in self.smtp.to(WHO)]

    async def lose(self) -> None:
        self.smtp.faults.add("DATA", Fault("lost"))

    async def refuse(self) -> None:
        self.smtp.faults.add("RCPT", refusal(550, "5.1.1 no such user"))

    async def go_away(self) -> None:
        await self.smtp.stop()

    async def write(self, text: str) -> None:
        await self.post.deliver(mail(text, Subject=""))

    async def write_nonsense(self) -> None:
        await asyncio.to_thread(self.post.dovecot.deliver, self.post.address, b"\xff\xfe: ?\r\n\r\n\0")
