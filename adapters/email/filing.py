"""Copies of what was sent, for the account's Sent folder. They come after the mail was taken and never fail it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import structlog

from adapters.email.account import Mailbox
from adapters.email.content import Content
from adapters.email.settings import EmailSettings
from hermes.errors import AdapterError, Rejected

__all__ = ["Filing", "sent_folder"]

_log = structlog.get_logger("adapters.email")
_WAITING = 100
_PATIENCE = 5.0  # seconds at the end for what is under way
_LISTED = re.compile(rb'^\(([^)]*)\) (?:"(?:[^"\\]|\\.)*"|NIL) (?:"((?:[^"\\]|\\.)*)"|(\S+))$')
_SELF_FILING = (".gmail.com", ".googlemail.com", ".office365.com", ".outlook.com")
"""Servers that put what they send into Sent by themselves."""


def sent_folder(listed: Sequence[bytes]) -> str | None:
    """The folder for what was sent, in what LIST shows: https://www.rfc-editor.org/rfc/rfc6154 , or by its name."""
    found: dict[str, str] = {}
    for line in listed:
        match = _LISTED.match(line)
        if match is None:
            continue
        name = re.sub(rb"\\(.)", rb"\1", match[2] if match[2] is not None else match[3]).decode(
            "ascii", "ignore"
        )
        if b"\\sent" in match[1].lower().split():
            return name
        found[name.lower()] = name
    return next((found[n] for n in ("sent", "inbox.sent", "sent items", "sent messages") if n in found), None)


class Filing:
    """Files one copy after the other over connections of its own."""

    def __init__(self, settings: EmailSettings, mailbox: Mailbox, instance: str) -> None:
        self._wish = settings.sent_folder
        if self._wish == "auto" and f".{settings.smtp.host.lower()}".endswith(_SELF_FILING):
            self._wish = "off"
        self._mailbox = mailbox
        self._instance = instance
        self._copies: asyncio.Queue[Content] = asyncio.Queue(_WAITING)
        self._task: asyncio.Task[None] | None = None

    def put(self, content: Content) -> None:
        """File a copy, soon; never waits. What is too much is left out."""
        if self._wish == "off" or self._copies.full():
            return
        self._copies.put_nowait(content)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._file(), name=f"sent folder {self._instance}")

    async def aclose(self) -> None:
        """Wait briefly for what is under way."""
        if self._task is not None and not self._task.done():
            _, late = await asyncio.wait((self._task,), timeout=_PATIENCE)
            for task in late:
                task.cancel()
                await asyncio.wait((task,))

    async def _file(self) -> None:
        while not self._copies.empty():  # also what came while the last connection said goodbye
            await self._file_over_one()

    async def _file_over_one(self) -> None:
        try:
            connection = await self._mailbox.imap()
        except AdapterError as e:
            self._gave_up(e)
            return
        try:
            name = self._wish if self._wish != "auto" else sent_folder(await connection.folders())
            while not self._copies.empty():
                content = self._copies.get_nowait()
                if name is not None and await self._is_whole(content):
                    await connection.append(content, name)
        except AdapterError as e:
            self._gave_up(e)
        finally:
            await connection.aclose()

    async def _is_whole(self, content: Content) -> bool:
        """Whether its files are still there; a mail that was sent is no reason to keep them."""
        try:
            await asyncio.to_thread(content.check)
        except Rejected as e:
            _log.info("email.no_copy_in_sent", instance=self._instance, error=str(e))
            return False
        return True

    def _gave_up(self, error: AdapterError) -> None:
        _log.info("email.no_copy_in_sent", instance=self._instance, error=str(error))
        while not self._copies.empty():
            self._copies.get_nowait()
