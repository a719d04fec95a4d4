"""E-mail behind its adapter, as a contract test sees it: a mailbox at a real Dovecot, and an SMTP server."""

import asyncio
from base64 import encodebytes
from pathlib import Path

from adapters.email.render import AGAIN, LIMIT
from hermes.adapter import Adapter
from hermes.clock import Clock, SystemClock
from hermes.events import Target
from tests.contract.platforms import Depot, Got
from tests.integration.mail_desk import Post, mail
from tests.peers.chaos import ChaosProxy, Weather
from tests.peers.faults import Fault, refusal
from tests.peers.mail import Dovecot, SmtpPeer

WHO = "ana@far.test"


class Email:
    """One mailbox, reached through a proxy; `aclose` ends what is beside it."""

    target = Target("email", WHO)
    limit = LIMIT + len(AGAIN)

    def __init__(self, dovecot: Dovecot, depot: Depot) -> None:
        self.depot = depot
        self.smtp = SmtpPeer(dovecot.cert, dovecot.key)
        self.post = Post.open(dovecot, self.smtp)
        self.road = ChaosProxy(dovecot.imaps)

    @classmethod
    async def open(cls, dovecot: Dovecot, depot: Depot | None = None) -> "Email":
        """A mailbox that nobody has used."""
        made = cls(dovecot, depot or Depot(Path("/nonexistent")))
        await made.smtp.start()
        await made.road.__aenter__()
        made.adapter = made.build(SystemClock())
        return made

    adapter: Adapter

    async def aclose(self) -> None:
        """End the SMTP server."""
        await self.road.__aexit__()
        await self.smtp.stop()
        assert self.smtp.violations == []

    def build(self, clock: Clock) -> Adapter:
        road = {**self.post.settings()["imap"], "port": self.road.port}
        folder = self.depot.folder if self.depot.folder.exists() else None
        return self.post.adapter(clock, folder=folder, first_start="all", sent_folder="off", imap=road)

    def size(self, text: str) -> int:
        return len(text)

    def shown(self) -> list[str]:
        return [m.text for m in self.smtp.to(WHO) if not m.files]

    def got(self) -> list[Got]:
        return [Got(name, data, m.text.strip()) for m in self.smtp.to(WHO) for name, _, data in m.files]

    async def lose(self) -> None:
        self.smtp.faults.add("DATA", Fault("lost"))

    async def refuse(self) -> None:
        self.smtp.faults.add("RCPT", refusal(550, "5.1.1 no such user"))

    async def go_away(self) -> None:
        await self.smtp.stop()
        self.road.turn(Weather(refuse=True))

    async def write(self, text: str) -> None:
        await self.post.deliver(mail(text, Subject=""))

    async def write_file(self, text: str, name: str, data: bytes) -> None:
        coded = encodebytes(data).decode().replace("\n", "\r\n")
        body = (
            f"--b\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--b\r\nContent-Type: text/plain; name={name}\r\n"
            f"Content-Transfer-Encoding: base64\r\n\r\n{coded}--b--"
        )
        kind = "multipart/mixed; boundary=b"
        await self.post.deliver(mail(body.replace("\r\n", "\n"), Subject="", Content_Type=kind))

    async def take_away(self) -> None:
        box = await asyncio.to_thread(self.post.dovecot.inbox, self.post.address)
        await asyncio.to_thread(box.empty)
        await asyncio.to_thread(box.close)

    async def write_nonsense(self) -> None:
        await asyncio.to_thread(self.post.dovecot.deliver, self.post.address, b"\xff\xfe: ?\r\n\r\n\0")
