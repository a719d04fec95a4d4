"""E-mail in the form of `streets`: a mailbox at a real Dovecot, and an SMTP server. Each person keeps to one thread."""

import asyncio
import random
import smtplib
import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tests.peers.faults import Fault
from tests.peers.mail import Dovecot, SmtpPeer
from tests.peers.town.streets import FAULTS, Again, Trouble

_AUTHORITY = "mx.test.local"
_PAUSE = 0.05
_LATER = Fault("status", 451, "4.3.0 try again later")


class MailStreet:
    """While the mailbox's server is away, the mail servers of those who write keep what they have, and try again."""

    name = "email"
    deduplicates = False
    troubles: Sequence[Trouble] = ("cut", "lost", "error")

    def __init__(self, dovecot: Dovecot, smtp: SmtpPeer) -> None:
        self.dovecot = dovecot
        self.smtp = smtp
        self.address = f"bot{uuid.uuid4().hex[:12]}@test.local"
        self._mails: Counter[int] = Counter()
        self._kept: list[bytes] | None = None
        self._indexed = 0
        self._texts: defaultdict[str, list[str]] = defaultdict(list)

    def settings(self) -> dict[str, Any]:
        server = {"host": "localhost", "ca_file": str(self.dovecot.cert)}
        return {
            "address": self.address,
            "password": "pw",
            "imap": {**server, "port": self.dovecot.imaps, "tls": "implicit"},
            "smtp": {**server, "port": self.smtp.port, "tls": "starttls"},
            "authserv_id": _AUTHORITY,
            "first_start": "all",
            "sent_folder": "off",
            "thread_rate": "off",
            "sender_rate": "off",
            "domain_rate": "off",
            "rate": "off",
        }

    def target(self, chat: int) -> str:
        return f"p{chat}@far.test"

    async def say(self, chat: int, text: str) -> Again:
        content = self._written(chat, text)
        if self._kept is None:
            await self._deliver(content)
        else:
            self._kept.append(content)
        return partial(self._deliver, content)

    def _written(self, chat: int, text: str) -> bytes:
        """The mail, found genuine by the mailbox's own server."""
        number = self._mails[chat]
        self._mails[chat] += 1
        names = [f"<{n}.{chat}.{self.address.partition('@')[0]}@far.test>" for n in (0, number)]
        above = f"In-Reply-To: {names[0]}\r\nReferences: {names[0]}\r\n" if number else ""
        return (
            f"Authentication-Results: {_AUTHORITY}; dmarc=pass header.from=far.test\r\n"
            f"From: Person {chat} <{self.target(chat)}>\r\nTo: {self.address}\r\nSubject: A talk\r\n"
            f"Message-ID: {names[1]}\r\n{above}Date: Mon, 30 Nov 2026 10:00:00 +0000\r\n"
            f"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
        ).encode()

    async def _deliver(self, content: bytes) -> None:
        while True:
            try:
                await asyncio.to_thread(self.dovecot.deliver, self.address, content)
            except (OSError, smtplib.SMTPException):
                await asyncio.sleep(_PAUSE)
            else:
                return

    def shown(self, chat: int) -> list[str]:
        for mail in self.smtp.sent[self._indexed :]:
            self._indexed += 1
            for address in mail.recipients:
                self._texts[address].append(mail.text)
        return self._texts[self.target(chat)]

    def plan(self, trouble: Trouble, chat: int) -> None:
        fault = _LATER if trouble == "error" else FAULTS[trouble]
        self.smtp.faults.add("DATA", replace(fault, match={"to": self.target(chat)}))

    def unheard(self) -> list[str]:
        return [mail.text for mail in self.smtp.unanswered]

    async def shake(self, dice: random.Random) -> None:
        await asyncio.to_thread(self._restart)

    def _restart(self) -> None:
        self.dovecot.stop()
        self.dovecot.start()

    async def go_away(self) -> None:
        self._kept = []
        await self.smtp.stop()
        await asyncio.to_thread(self.dovecot.stop)

    async def come_back(self) -> None:
        await asyncio.to_thread(self.dovecot.start)
        await self.smtp.start()
        kept, self._kept = self._kept or [], None
        for content in kept:
            await self._deliver(content)

    async def wait_shown(self, chat: int, part: str, timeout: float = 20.0) -> str:
        def found() -> str | None:
            return next((text for text in self.shown(chat) if part in text), None)

        await self.smtp.wait_for(lambda: found() is not None, timeout)
        return found() or ""
