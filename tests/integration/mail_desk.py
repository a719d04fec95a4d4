"""The e-mail adapter between real mail servers and an intake in memory that keeps the contract."""

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from adapters.email.adapter import Email, build
from adapters.email.settings import EmailSettings
from hermes.adapter import AdapterContext, AdapterState, HttpLimits, Intake
from hermes.clock import Clock, SystemClock
from hermes.config import Network
from hermes.errors import ConfigError
from hermes.events import Attachment, Event, Target
from hermes.files import StoredFile
from tests.integration.telegram_desk import Desk
from tests.peers.mail import Dovecot, ScriptedImap, SmtpPeer


def mail(text: str = "hello", **headers: str) -> bytes:
    """A mail as a person's program writes it; `headers` with `_` for `-`, an empty one is left out."""
    fields = {
        "From": "Ana <ana@far.test>",
        "To": "bot@test.local",
        "Subject": "a question",
        "Message-ID": f"<{uuid.uuid4().hex}@far.test>",
        "Date": "Mon, 30 Nov 2026 10:00:00 +0000",
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return head.encode() + b"\r\n" + text.replace("\n", "\r\n").encode() + b"\r\n"


class Watcher(Desk):
    """A desk on which one can wait for a state."""

    async def until_state(self, state: AdapterState) -> None:
        await self.until(lambda: bool(self.states) and self.states[-1][0] == state)

    def state(self, state: AdapterState, reason: str | None = None) -> None:
        super().state(state, reason)
        self._note = asyncio.create_task(self._tell())


@dataclass
class Post:
    """A mailbox at a Dovecot, and the submission server beside it."""

    dovecot: Dovecot
    smtp: SmtpPeer
    address: str
    sender: Email = field(init=False)

    @classmethod
    def open(cls, dovecot: Dovecot, smtp: SmtpPeer) -> "Post":
        """A mailbox that nobody has used."""
        return cls(dovecot, smtp, f"bot{uuid.uuid4().hex[:12]}@test.local")

    async def deliver(self, content: bytes) -> None:
        """A mail comes in."""
        await asyncio.to_thread(self.dovecot.deliver, self.address, content)

    def settings(self, **keys: Any) -> dict[str, Any]:
        """As in config.yaml."""
        server = {"host": "localhost", "ca_file": str(self.dovecot.cert)}
        return {
            "type": "email",
            "address": self.address,
            "password": "pw",
            "imap": {**server, "port": self.dovecot.imaps, "tls": "implicit"},
            "smtp": {**server, "port": self.smtp.port, "tls": "starttls"},
            "allow_from": ["*"],
            **keys,
        }

    def adapter(self, clock: Clock | None = None, *, folder: Path | None = None, **keys: Any) -> Email:
        """An adapter as a new process would make it. folder: where its own files lie, and those that it sends."""
        return make_adapter(self.settings(**keys), clock, folder)


def scripted_settings(server: ScriptedImap, **keys: Any) -> dict[str, Any]:
    """Settings for a mailbox at a scripted server, without anything to send by."""
    plain = {"host": "127.0.0.1", "tls": "none"}
    return {
        "type": "email",
        "address": "bot@test.local",
        "password": "pw",
        "imap": {**plain, "port": server.port},
        "smtp": {**plain, "port": 9},
        "allow_from": ["*"],
        **keys,
    }


def keep(folder: Path, name: str, content: bytes, mime: str = "application/octet-stream") -> StoredFile:
    """A file as the home keeps it, in a folder of the test."""
    digest = sha256(content).hexdigest()
    (folder / digest).write_bytes(content)
    return StoredFile(digest, "document", mime, name, len(content))


async def fetched(adapter: Email, event: Event, attachment: Attachment) -> bytes:
    """All of a file that came with a mail."""
    return b"".join([piece async for piece in adapter.fetch(event, attachment)])


_NOWHERE = tempfile.TemporaryDirectory(prefix="mailbox.")


def make_adapter(settings: dict[str, Any], clock: Clock | None = None, folder: Path | None = None) -> Email:
    """Build one. folder: its own, in which the files that it sends lie too; else an empty one that all share."""

    def targets(text: str) -> Target:
        raise ConfigError(text)

    own = folder or Path(_NOWHERE.name)
    context = AdapterContext(
        "email",
        clock or SystemClock(),
        Network(),
        HttpLimits(),
        own,
        (),
        targets,
        stored=lambda file: own / file.digest,
    )
    adapter = build(EmailSettings.model_validate(settings), context)
    assert isinstance(adapter, Email)
    return adapter


@asynccontextmanager
async def running(adapter: Email, desk: Intake) -> AsyncIterator[asyncio.Task[None]]:
    """The adapter at work."""
    task = asyncio.create_task(adapter.run(desk), name="run email")
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await adapter.aclose()
