"""Logging in to both servers before the settings are used. Nothing is read and nothing is sent."""

from __future__ import annotations

import re

from adapters.email.account import Mailbox
from adapters.email.settings import EmailSettings
from hermes.adapter import Account
from hermes.clock import SystemClock
from hermes.config import Network, PlatformSettings

__all__ = ["check"]

_MAILS = re.compile(rb"MESSAGES (\d+)")


async def check(settings: PlatformSettings, network: Network) -> Account:
    """The mailbox that the settings open.

    Raises `Unauthorized`, `Unreachable`, `AdapterError` for a folder that is not there.
    """
    if not isinstance(settings, EmailSettings):
        raise TypeError("these are no settings of e-mail")
    mailbox = Mailbox(settings, network, SystemClock())
    connection = await mailbox.imap()
    try:
        lines = await connection.status(settings.folder, "(MESSAGES)")
        idles = connection.idles
    finally:
        await connection.aclose()
    await mailbox.send(None)
    return Account(settings.address, _notes(settings, lines, idles=idles))


def _notes(settings: EmailSettings, lines: list[bytes], *, idles: bool) -> tuple[str, ...]:
    found = next((int(m[1]) for line in lines if (m := _MAILS.search(line))), 0)
    notes: list[str] = []
    if found and settings.first_start == "new":
        notes.append(
            f"{found} mails lie in {settings.folder} already; only what comes from now on is answered."
        )
    if not idles:
        notes.append("The server cannot tell of new mail by itself; Hermes looks every minute (poll_every).")
    if settings.authserv_id is None:
        notes.append("Without authserv_id nobody checks whether a mail is from whom it says.")
    return tuple(notes)
