"""Settings of the e-mail adapter; no library of mail is imported here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from adapters.email.addresses import canonical
from hermes.config import ByteSize, Duration, PlatformSettings, RateLimit, Section, parse_rate

__all__ = ["EmailSettings", "OAuth", "Server"]

_HOST = re.compile(r"[A-Za-z0-9_.:-]{1,253}")
_PORTS = {
    ("imap", "implicit"): 993,
    ("imap", "starttls"): 143,
    ("imap", "none"): 143,
    ("smtp", "implicit"): 465,
    ("smtp", "starttls"): 587,
    ("smtp", "none"): 25,
}


class Server(Section):
    """A mail server."""

    host: str = Field(description="Its name.", examples=["imap.example.org"])
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="Absent: 993 or 143 for IMAP, 465 or 587 for SMTP, as `tls` says.",
    )
    tls: Literal["implicit", "starttls", "none"] = Field(
        default="implicit",
        description="implicit: encrypted from the first byte; starttls: after a plain greeting; "
        "none: the password is readable on the way.",
    )
    timeout: Duration = Field(
        default=30.0, ge=1, le=600, description="Seconds to wait for its answer to a command."
    )
    ca_file: Path | None = Field(
        default=None, description="Certificates (PEM) to trust for it besides the well-known ones."
    )

    @field_validator("host")
    @classmethod
    def _is_a_host(cls, value: str) -> str:
        if not _HOST.fullmatch(value.strip()):
            raise ValueError('write its name alone, for example "imap.example.org"')
        return value.strip()

    def port_for(self, protocol: Literal["imap", "smtp"]) -> int:
        """The port to connect to."""
        return self.port or _PORTS[protocol, self.tls]


class OAuth(Section):
    """Where access tokens come from, for `auth: xoauth2`: a command, or a refresh token."""

    command: str | None = Field(
        default=None, description="Prints an access token; run without a shell.", examples=["mutt_oauth2 bot"]
    )
    token_url: str | None = Field(
        default=None,
        description="Where a refresh token is exchanged for an access token.",
        examples=["https://oauth2.googleapis.com/token"],
    )
    client_id: str | None = Field(default=None, description="The application's id there.")
    client_secret: SecretStr | None = Field(default=None, description="Its secret, where it has one.")
    refresh_token: SecretStr | None = Field(default=None, description="The account's refresh token.")
    scope: str | None = Field(default=None, description="The scope to ask for, where the server wants one.")

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if self.command is None and not (self.token_url and self.client_id and self.refresh_token):
            raise ValueError("set `command`, or `token_url` with `client_id` and `refresh_token`")
        return self


class EmailSettings(PlatformSettings):
    """`platforms.email`."""

    address: str = Field(description="The mailbox's address.", examples=["bot@example.org"])
    password: SecretStr | None = Field(
        default=None, description="Its password; with Gmail, iCloud and Fastmail an app password."
    )
    username: str | None = Field(default=None, description="What to log in with; absent: the address.")
    name: str = Field(default="", description="The name that stands before the address in From.")
    aliases: tuple[str, ...] = Field(
        default=(), description="Other addresses of the mailbox: never answered."
    )
    auth: Literal["password", "xoauth2"] = Field(default="password", description="How to log in.")
    oauth: OAuth | None = Field(default=None, description="Where tokens come from, for `auth: xoauth2`.")
    imap: Server = Field(description="Where mail is read.")
    smtp: Server = Field(description="Where mail is handed over.")
    folder: str = Field(default="INBOX", description="The folder that is read.")
    first_start: Literal["new", "all"] = Field(
        default="new", description="At the first start: only what comes from then on, or all in the folder."
    )
    authserv_id: str | None = Field(
        default=None,
        description="Your mail server's name at the beginning of its Authentication-Results: then a mail counts as "
        "its sender's only when that says so.",
        examples=["mx.example.org"],
    )
    trust_from: bool = Field(
        default=False, description="Believe the From of a mail, which anybody can forge, as it is."
    )
    reply_all: bool = Field(
        default=False, description="Answer everybody in To and Cc, where the sender is known to be genuine."
    )
    mark_seen: bool = Field(default=True, description="Mark mails that were taken as read.")
    sent_folder: str = Field(
        default="auto",
        description="Where copies of answers go: a folder, off, or auto: the account's, "
        "unless the server files them itself.",
    )
    max_size: ByteSize = Field(
        default=25_000_000,
        ge=65_536,
        description="Of a bigger mail only the beginning is read.",
        examples=["25MB"],
    )
    largest_mail: ByteSize = Field(
        default=25_000_000,
        ge=200_000,
        description="Of what is sent: files that make a mail bigger go in the next one. Less where the server says so.",
        examples=["25MB"],
    )
    idle_renew: Duration = Field(
        default=300.0,
        ge=10,
        le=1680,
        description="Seconds after which waiting for mail (IDLE) is renewed; a dead connection shows then at the latest.",
    )
    poll_every: Duration | None = Field(
        default=None,
        ge=5,
        description="Seconds between two looks, in place of IDLE; absent: 60 where the server has no IDLE.",
    )
    thread_rate: RateLimit = Field(
        default=parse_rate("20/h"),
        description="Mails of one sender in one conversation; more are not answered (two machines that answer each other).",
        examples=["20/h"],
    )
    sender_rate: RateLimit = Field(
        default=parse_rate("60/h"), description="The same over all conversations.", examples=["60/h"]
    )
    domain_rate: RateLimit = Field(
        default=parse_rate("200/h"),
        description="The same of all guests and strangers of one domain.",
        examples=["200/h"],
    )

    @field_validator("address")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        return _address(value)

    @field_validator("aliases")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_address, value))

    @field_validator("allow_from")
    @classmethod
    def _are_senders(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if value is None else tuple(v if v == "*" else _address(v) for v in value)

    @field_validator("username", "name", "folder", "sent_folder")
    @classmethod
    def _is_one_line(cls, value: str | None) -> str | None:
        if value is not None and re.search(r"[\x00-\x1f\x7f]", value):
            raise ValueError("it must be one line without control characters")
        return value

    @field_validator("folder", "sent_folder")
    @classmethod
    def _is_a_folder(cls, value: str) -> str:
        if not value or not value.isascii():
            raise ValueError("write the folder's name in ASCII, as IMAP shows it (modified UTF-7)")
        return value

    @field_validator("password")
    @classmethod
    def _is_a_password(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and re.search(r"[\x00\r\n]", value.get_secret_value()):
            raise ValueError(
                "the password must be one line; many providers want an app password, which the account's security page makes"
            )
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.auth == "password" and self.password is None:
            raise ValueError("a password is missing; or set `auth: xoauth2` with `oauth`")
        if self.auth == "xoauth2" and self.oauth is None:
            raise ValueError("`auth: xoauth2` needs `oauth`, which says where tokens come from")
        if self.authserv_id is None and not self.trust_from and self.allow_from != ("*",):
            raise ValueError(
                "anybody can write a From, so who may write cannot be checked: set `authserv_id` to your mail "
                "server's name in its Authentication-Results, or `trust_from: true` if you trust every From, or "
                'let anybody in with `allow_from: ["*"]`'
            )
        return self

    def login(self) -> str:
        """What to log in with."""
        return self.username or self.address

    def exclusive(self) -> Mapping[str, tuple[str, ...]]:
        """See `PlatformSettings.exclusive`: a folder of a mailbox."""
        folder = "INBOX" if self.folder.upper() == "INBOX" else self.folder
        server = (self.imap.host.lower(), str(self.imap.port_for("imap")))
        return {"address": (*server, self.login().lower(), folder)}


def _address(text: str) -> str:
    found = canonical(text)
    if found is None:
        raise ValueError(f'{text!r} is no mail address; write for example "bot@example.org"')
    return found
