"""Connections of one account: where its servers are, what they are trusted by, how to log in."""

from __future__ import annotations

import asyncio
import ssl

from adapters.email.imap import ImapConnection, open_imap
from adapters.email.render import Envelope
from adapters.email.settings import EmailSettings, Server
from adapters.email.submission import Login, submit
from adapters.email.tls import build_context
from adapters.email.tokens import Tokens
from hermes.clock import Clock
from hermes.config import Network
from hermes.errors import Unauthorized

__all__ = ["Mailbox"]


class Mailbox:
    """Opens connections, each logged in."""

    def __init__(self, settings: EmailSettings, network: Network, clock: Clock) -> None:
        self._settings = settings
        self._network = network
        self.most: int | None = None
        """Bytes of a mail that the SMTP server takes, once it has said so."""
        self._contexts: dict[str, ssl.SSLContext | None] = {}
        self._tokens = (
            Tokens(settings.oauth, network, clock)
            if settings.auth == "xoauth2" and settings.oauth is not None
            else None
        )

    async def imap(self) -> ImapConnection:
        """A connection to read by. Raises `Unauthorized`, `Unreachable`, `AdapterError`."""
        server = self._settings.imap
        context = await self._context("imap", server)
        token = await self._tokens.token() if self._tokens else None
        connection = await open_imap(
            server.host,
            server.port_for("imap"),
            context,
            starttls=server.tls == "starttls",
            patience=server.timeout,
        )
        try:
            if token is not None:
                await connection.xoauth2(self._settings.login(), token)
            else:
                await connection.login(self._settings.login(), self._password())
        except BaseException as e:
            connection.drop()
            if isinstance(e, Unauthorized):
                self._forget()
            raise
        return connection

    async def send(self, envelope: Envelope | None, *, patient: bool = True) -> str | None:
        """Hand a mail over; `None` only logs in. What was left out, for the log. Raises what `Adapter.send` does.

        patient: see `submit`.
        """
        server = self._settings.smtp
        context = await self._context("smtp", server)
        token = await self._tokens.token() if self._tokens else None
        login = Login(self._settings.login(), token or self._password(), is_token=token is not None)
        try:
            return await submit(server, context, login, envelope, self._limited, patient=patient)
        except Unauthorized:
            self._forget()
            raise

    def _limited(self, most: int) -> None:
        self.most = most

    def _forget(self) -> None:
        if self._tokens is not None:
            self._tokens.forget()

    def _password(self) -> str:
        return self._settings.password.get_secret_value() if self._settings.password else ""

    async def _context(self, name: str, server: Server) -> ssl.SSLContext | None:
        if name not in self._contexts:
            self._contexts[name] = await asyncio.to_thread(build_context, server, self._network)
        return self._contexts[name]
