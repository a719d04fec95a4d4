"""The files of mails, read from the mailbox piece by piece when somebody asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from adapters.email.account import Mailbox
from adapters.email.body import mail_text
from adapters.email.folder import Folder
from adapters.email.imap import ImapConnection, Refusal
from adapters.email.places import FilePlace, MailPlace
from adapters.email.sections import Assembly, Given
from adapters.email.settings import EmailSettings
from adapters.email.tnef import read_tnef
from adapters.email.transfer import decoder, uu_blocks
from hermes.errors import AdapterError, Gone, NotTaken, Unauthorized, Unreachable
from hermes.events import Attachment

__all__ = ["Fetching"]

_PIECE = 524_287
"""Bytes asked for at once: what is held in memory of a part, however big it is. A prime number: then two pieces that
follow each other differ also where the lines of a file are all alike.
"""
_AT_ONCE = 2
"""Connections; providers count them, and one waits for new mail already."""
_KEPT = 10.0
"""Seconds for which a connection waits for the next file: those of a mail are asked for one after the other."""


class Fetching:
    """Fetches over connections of its own, so that nothing waits for a file."""

    def __init__(self, settings: EmailSettings, mailbox: Mailbox) -> None:
        self._settings = settings
        self._mailbox = mailbox
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._kept: list[ImapConnection] = []
        self._over = False
        self._leaving: asyncio.TimerHandle | None = None
        self._ends: set[asyncio.Task[None]] = set()

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """See `FetchingAdapter.fetch`."""
        place = FilePlace.from_text(attachment.ref)
        if place is None:
            raise Gone("Where this file lies is not known.")
        async with self._slots:
            try:
                async with self._connected() as folder:
                    async for piece in self._pieces(folder, place):
                        yield piece
            except Refusal as e:
                raise NotTaken(str(e)) from e
            except (Gone, NotTaken, Unreachable, Unauthorized):
                raise
            except AdapterError as e:  # settings that do not fit: certificates, a token's command
                raise Unreachable(str(e)) from e

    async def aclose(self) -> None:
        """Close what is kept; nothing is kept from then on."""
        self._over = True
        if self._leaving is not None:
            self._leaving.cancel()
        self._leave()
        await asyncio.gather(*self._ends, return_exceptions=True)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Folder]:
        """The folder over a connection that was kept, or a new one, which is kept when all went well."""
        connection, folder = await self._opened()
        async with AsyncExitStack() as undo:
            undo.push_async_callback(connection.aclose)
            yield folder
            if not self._over:
                undo.pop_all()
                self._keep(connection)

    def _keep(self, connection: ImapConnection) -> None:
        self._kept.append(connection)
        if self._leaving is not None:
            self._leaving.cancel()
        self._leaving = asyncio.get_running_loop().call_later(_KEPT, self._leave)

    async def _opened(self) -> tuple[ImapConnection, Folder]:
        while self._kept:
            connection = self._kept.pop()
            with suppress(AdapterError):  # it went away meanwhile
                return connection, await self._folder(connection)
        connection = await self._mailbox.imap()
        return connection, await self._folder(connection)

    async def _folder(self, connection: ImapConnection) -> Folder:
        """The folder, opened; where that fails the connection is closed."""
        folder = Folder(connection, self._settings.folder, self._settings.max_size)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(connection.aclose)
            await folder.open()
            undo.pop_all()
        return folder

    def _leave(self) -> None:
        for connection in self._kept:
            task = asyncio.create_task(connection.aclose(), name="imap goodbye")
            self._ends.add(task)
            task.add_done_callback(self._ends.discard)
        self._kept.clear()

    async def _pieces(self, folder: Folder, place: FilePlace) -> AsyncIterator[bytes]:
        uid, first = await self._find(folder, place)
        parts = _decoded(folder, uid, place, first)
        if not place.inner:
            async for piece in parts:
                yield piece
            return
        parcel = bytearray()
        async for piece in parts:
            parcel += piece
            if len(parcel) > self._settings.max_size:
                raise Gone("It lies in a part of the mail that is too big to be unpacked.")
        yield await asyncio.to_thread(_unpacked, bytes(parcel), place.inner)

    async def _find(self, folder: Folder, place: FilePlace) -> tuple[int, Given]:
        """The mail's UID now, and the first piece of the part."""
        mail = place.mail
        if mail.uid and mail.validity == folder.validity:
            first = await folder.section(mail.uid, place.part, 0, _PIECE)
            if first is not None:
                return mail.uid, first
        uid = await _known_again(folder, mail)
        first = await folder.section(uid, place.part, 0, _PIECE) if uid else None
        if first is None or uid is None:
            raise Gone(f"The mail is no longer in {self._settings.folder}.")
        return uid, first


async def _known_again(folder: Folder, mail: MailPlace) -> int | None:
    """The mail in a folder whose numbers have changed, or into which it was put anew: by its id, and its size."""
    if not mail.message_id:
        return None
    uids = await folder.search_id(mail.message_id)
    found = await folder.describe(uids) if uids else []
    same = [f.uid for f in found if f.size == mail.size]
    return next(iter(same), None) or (found[0].uid if len(found) == 1 else None)


async def _decoded(folder: Folder, uid: int, place: FilePlace, first: Given) -> AsyncIterator[bytes]:
    reader, part = decoder(place.coding), Assembly(_PIECE)
    answer: Given | None = first
    while True:
        piece = part.add(answer)
        yield await asyncio.to_thread(reader.feed, piece)
        if part.over:
            break
        answer = await _following(folder, uid, place.part, part)
    yield reader.finish()


async def _following(folder: Folder, uid: int, number: str, part: Assembly) -> Given | None:
    """The next piece. Servers may refuse to give what lies behind a part's end."""
    try:
        return await folder.section(uid, number, part.at, _PIECE)
    except Refusal:
        if not part.may_end:
            raise
        return None


def _unpacked(parcel: bytes, inner: str) -> bytes:
    """One of the files in a part that holds several."""
    kind, _, number = inner.partition(":")
    if kind == "mail":
        return mail_text(parcel).encode("utf-8", "replace")
    wanted = int(number) if number.isdecimal() else -1
    if kind == "uu":
        contents = [block.content() for block in uu_blocks(parcel)]
    else:
        packed = read_tnef(parcel)
        contents = [file.content for file in packed.files] if packed is not None else []
    if not 0 <= wanted < len(contents):
        raise Gone("It is not in that part of the mail.")
    return contents[wanted]
