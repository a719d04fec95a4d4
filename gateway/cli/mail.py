"""What `hermes gateway add email` asks: an address, a password, and servers, which are guessed from the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hermes.errors import ConfigError

__all__ = ["MailWish", "mail_values"]

_IMPLICIT = (993, 465)
_PLAIN_START = (143, 587, 25)
_KNOWN: Mapping[str, tuple[str, str]] = {
    "gmail.com": ("imap.gmail.com", "smtp.gmail.com:465"),
    "googlemail.com": ("imap.gmail.com", "smtp.gmail.com:465"),
    "outlook.com": ("outlook.office365.com", "smtp-mail.outlook.com:587"),
    "hotmail.com": ("outlook.office365.com", "smtp-mail.outlook.com:587"),
    "live.com": ("outlook.office365.com", "smtp-mail.outlook.com:587"),
    "fastmail.com": ("imap.fastmail.com", "smtp.fastmail.com:465"),
    "icloud.com": ("imap.mail.me.com", "smtp.mail.me.com:587"),
    "me.com": ("imap.mail.me.com", "smtp.mail.me.com:587"),
    "gmx.net": ("imap.gmx.net", "mail.gmx.net:587"),
    "gmx.de": ("imap.gmx.net", "mail.gmx.net:587"),
    "gmx.com": ("imap.gmx.com", "mail.gmx.com:587"),
    "web.de": ("imap.web.de", "smtp.web.de:587"),
    "yahoo.com": ("imap.mail.yahoo.com", "smtp.mail.yahoo.com:465"),
}
_RESULTS = {"gmail.com": "mx.google.com", "googlemail.com": "mx.google.com"}
"""What a provider's Authentication-Results begin with, where that is always the same."""


@dataclass(frozen=True, slots=True)
class MailWish:
    """The command's options for e-mail as they were given."""

    address: str | None = None
    imap: str | None = None
    smtp: str | None = None
    ca_file: str | None = None
    authserv_id: str | None = None
    trust_from: bool = False


def mail_values(wish: MailWish, ask: Callable[[str, str], str]) -> dict[tuple[str | int, ...], Any]:
    """The settings. ask: a question and its default to an answer. Raises `ConfigError`."""
    address = (wish.address or ask("The mailbox's address", "")).strip()
    domain = address.rpartition("@")[2].lower()
    if not domain or "@" not in address:
        raise ConfigError("Give the mailbox's address, for example with --address bot@example.org")
    imap, smtp = _KNOWN.get(domain, (f"imap.{domain}", f"smtp.{domain}:587"))
    values: dict[tuple[str | int, ...], Any] = {("address",): address}
    values |= _server("imap", wish.imap or ask("The IMAP server", imap), wish.ca_file)
    values |= _server("smtp", wish.smtp or ask("The SMTP server", smtp), wish.ca_file)
    if authserv_id := wish.authserv_id or _RESULTS.get(domain):
        values["authserv_id",] = authserv_id
    if wish.trust_from:
        values["trust_from",] = True
    return values


def _server(kind: str, text: str, ca_file: str | None) -> dict[tuple[str | int, ...], Any]:
    """`HOST` or `HOST:PORT`; the port says how the encryption begins, or else what is usual for the protocol."""
    host, colon, number = text.strip().rpartition(":")
    if not colon:
        host, number = number, ""
    if number and not number.isdecimal():
        raise ConfigError(
            f"{text!r} is no server; write for example imap.example.org or smtp.example.org:587"
        )
    port = int(number) if number else 0
    starts = port in _PLAIN_START or (kind == "smtp" and port not in _IMPLICIT)
    found: dict[tuple[str | int, ...], Any] = {(kind, "host"): host}
    if port:
        found[kind, "port"] = port
    found[kind, "tls"] = "starttls" if starts else "implicit"
    if ca_file:
        found[kind, "ca_file"] = ca_file
    return found
