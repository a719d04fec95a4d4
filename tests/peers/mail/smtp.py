"""A submission server: aiosmtpd with STARTTLS and AUTH, in the test's own loop, with faults and a memory.

Faults by the word of the command that they answer: "MAIL", "RCPT", "DATA"; `status` refuses with `status` and
`description`, `lost` takes the mail and drops the connection instead of answering, `cut` drops it before the mail is
read in, `hang` never answers, `refuse` is for `go_away`. `cut_within` drops a connection after so many bytes, once.
What no correct client sends lands in `violations`.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from tests.peers.faults import Fault, FaultPlan
from tests.peers.journal import Changes

logging.getLogger("mail.log").setLevel(logging.ERROR)  # aiosmtpd warns of a field that only itself uses

PASSWORD = "pw"
TOKEN = "a-token"
_NEEDED = ("From", "To", "Date", "Message-ID", "Auto-Submitted", "MIME-Version")


@dataclass(frozen=True, slots=True)
class SentMail:
    """A mail that was taken."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes
    mail: EmailMessage

    @property
    def text(self) -> str:
        """Its plain text."""
        part = self.mail.get_body(("plain",))
        return _lines(part).removesuffix("\n") if part is not None else ""

    @property
    def html(self) -> str:
        """Its HTML."""
        part = self.mail.get_body(("html",))
        return _lines(part) if part is not None else ""

    @property
    def files(self) -> list[tuple[str, str, bytes]]:
        """Name, type and content of its files, in order."""
        return [
            (str(p.get_filename()), p.get_content_type(), bytes(p.get_payload(decode=True)))
            for p in self.mail.iter_attachments()
        ]


def _lines(part: Any) -> str:
    return str(part.get_content()).replace("\r\n", "\n")


class _Server(SMTP):  # type: ignore[misc]  # without types
    """With XOAUTH2, which aiosmtpd does not know."""

    async def auth_XOAUTH2(self, _: Any, words: list[str]) -> Any:
        import base64

        asked = base64.b64decode(words[1]) if len(words) > 1 else b""
        is_right = f"auth=Bearer {TOKEN}\1".encode() in asked
        return AuthResult(success=is_right, handled=False)

    def data_received(self, data: bytes) -> None:
        peer: SmtpPeer = self.event_handler
        if peer.cut_within is not None and self.envelope is not None and self.envelope.rcpt_tos:
            peer.cut_within -= len(data)
            if peer.cut_within < 0:
                peer.cut_within = None
                self.transport.abort()
                return
        super().data_received(data)


class SmtpPeer:
    """One server. `relay` gets every mail that was taken (to, content), for a mailbox to put it in.

    unanswered: those of `sent` of which the client was not told that they were taken.
    """

    def __init__(self, cert: Path, key: Path) -> None:
        self.faults = FaultPlan()
        self.sent: list[SentMail] = []
        self.unanswered: list[SentMail] = []
        self.logins: list[str] = []
        self.refused: list[str] = []
        self.violations: list[str] = []
        self.connections = 0
        self.port = 0
        self.relay: Callable[[str, bytes], None] | None = None
        self.xoauth2 = False
        self.largest = 33_554_432
        self.cut_within: int | None = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(cert, key)
        self._changes = Changes()
        self._server: asyncio.Server | None = None
        self._live: set[Any] = set()

    async def start(self) -> None:
        """Listen; the port stays the same."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._build, "127.0.0.1", self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Cut everything and refuse connections."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for server in self._live:
            if server.transport is not None:
                server.transport.abort()
            if (task := getattr(server, "_handler_coroutine", None)) is not None:
                task.cancel()
                await asyncio.wait((task,))
        self._live.clear()

    def _build(self) -> Any:
        self.connections += 1
        exclude = [] if self.xoauth2 else ["XOAUTH2"]
        server = _Server(
            self,
            hostname="peer.test",
            tls_context=self._context,
            require_starttls=True,
            authenticator=self._authenticate,
            auth_required=True,
            auth_exclude_mechanism=exclude,
            data_size_limit=self.largest,
            loop=asyncio.get_running_loop(),
        )
        self._live.add(server)
        return server

    def _authenticate(
        self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any
    ) -> AuthResult:
        is_right = isinstance(data, LoginPassword) and data.password == PASSWORD.encode()
        if is_right:
            self.logins.append(data.login.decode())
        return AuthResult(success=is_right, handled=False)

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 15.0) -> None:
        """Return once `condition` holds. Raises `TimeoutError`."""
        await self._changes.wait_for(condition, timeout)

    async def wait_mail(self, part: str, timeout: float = 15.0) -> SentMail:
        """The first mail whose text holds `part`."""
        await self.wait_for(lambda: any(part in m.text for m in self.sent), timeout)
        return next(m for m in self.sent if part in m.text)

    def to(self, address: str) -> list[SentMail]:
        """Mails that somebody got."""
        return [m for m in self.sent if address in m.recipients]

    # -- aiosmtpd's hooks ----------------------------------------------------------------------------

    async def handle_MAIL(self, server: Any, _session: Any, envelope: Any, address: str, options: Any) -> str:
        if (told := await self._misbehave("MAIL", server, address)) is not None:
            return told
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server: Any, _session: Any, envelope: Any, address: str, options: Any) -> str:
        if (told := await self._misbehave("RCPT", server, address)) is not None:
            return told
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:
        fault = self.faults.take("DATA", {"to": envelope.rcpt_tos[0]})
        if fault is not None and fault.kind in ("status", "cut"):
            return await self._answer(fault, server)
        content = bytes(envelope.content)
        mail = message_from_bytes(content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self._check(content, mail)
        if f"SIZE={len(content)}" not in envelope.mail_options:
            self.violations.append(f"{envelope.mail_options} announced, and {len(content)} bytes came")
        self.sent.append(SentMail(envelope.mail_from, tuple(envelope.rcpt_tos), content, mail))
        if fault is not None:
            self.unanswered.append(self.sent[-1])
        if self.relay is not None:
            for to in envelope.rcpt_tos:
                await asyncio.to_thread(self.relay, to, content)
        self._changes.notify()
        return "250 2.0.0 taken" if fault is None else await self._answer(fault, server)

    async def _misbehave(self, command: str, server: Any, address: str) -> str | None:
        fault = self.faults.take(command, {"to": address})
        if fault is None:
            return None
        self.refused.append(address)
        self._changes.notify()
        return await self._answer(fault, server)

    @staticmethod
    async def _answer(fault: Fault, server: Any) -> str:
        if fault.kind == "status":
            return f"{fault.status} {fault.description}"
        if fault.kind == "hang":
            await asyncio.Event().wait()
        server.transport.abort()
        return "421 gone"

    def _check(self, content: bytes, mail: EmailMessage) -> None:
        """RFC 5322 and 5321: what every mail has, and how long a line may be."""
        missing = [name for name in _NEEDED if len(mail.get_all(name) or []) != 1]
        if missing:
            self.violations.append(f"not exactly one {missing}")
        if not content.isascii() or b"\0" in content or re.search(rb"\r(?!\n)|(?<!\r)\n", content):
            self.violations.append("bytes that a mail may not hold")
        if max(map(len, content.split(b"\r\n"))) > 998:
            self.violations.append("a line over 998 bytes")
        if mail.defects:
            self.violations.append(f"defects: {mail.defects}")
