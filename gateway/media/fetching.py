"""The files of a message come into the home when its turn begins.

Each is noted in its message's row as soon as it lies there, so that it is fetched once, whatever is killed when. What
cannot be had is a note in the message; nothing here fails or holds up a turn for longer than its bounds.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

import structlog

from gateway.ledger import InboxRow
from gateway.media.folder import NotKept
from gateway.media.keeping import Keeping
from gateway.media.names import clean_name, shown_name
from gateway.media.rules import MediaRules, Room
from gateway.media.telling import Telling
from hermes.adapter import Adapter, FetchingAdapter
from hermes.agent import GivenFile, SessionSpec
from hermes.errors import AdapterError, Gone, NotTaken, StoreError, Unreachable
from hermes.events import Attachment, Event
from hermes.failpoint import reached
from hermes.files import StoredFile, in_words
from hermes.store import Job, Store

__all__ = ["Fetching", "note_file", "note_starts"]

log = structlog.get_logger("gateway.media")

_AT_ONCE = 3
"""Files of one message."""
_AT_ONCE_OF_ALL = 12
_TRIES = 3
_LONGEST_WAIT = 15.0
_LONGEST = 120.0
"""Seconds for one file, all tries together."""
_MOST_KNOWN = 1000


class _NotHad(Exception):
    """Why a file is not there: a key of the table of sentences, with its fields."""

    def __init__(self, key: str, **fields: object) -> None:
        super().__init__(key)
        self.key = key
        self.fields = fields


class Fetching:
    """Fetches what came with messages."""

    def __init__(
        self,
        store: Store,
        adapters: Mapping[str, Adapter],
        room: Room,
        keeping: Keeping,
        telling: Telling,
        fit: Callable[[SessionSpec, Sequence[str]], Sequence[str]],
    ) -> None:
        """fit: see `AgentHost.fitted`."""
        self._fit = fit
        self._store = store
        self._fetchers = {n: a for n, a in adapters.items() if isinstance(a, FetchingAdapter)}
        self._folder = room.folder
        self._clock = room.clock
        self._rules = room.rules
        self._say = room.say
        self._keeping = keeping
        self._telling = telling
        self._room = asyncio.Semaphore(_AT_ONCE_OF_ALL)
        self._known: dict[tuple[int, str], StoredFile] = {}
        self._alone = asyncio.Lock()

    async def given(self, row: InboxRow, stop: asyncio.Event | None = None) -> tuple[GivenFile, ...]:
        """The files of a message for its turn, in order. Never raises but `CancelledError`; `stop` ends it at once."""
        attachments = row.event.attachments
        if not attachments:
            return ()
        rules = self._rules()
        taken = attachments[: rules.files]
        found = [self._note(_NotHad("file_stopped"), a) for a in taken]
        await _unless(stop, self._all(row, taken, rules, found))
        left = len(attachments) - len(taken)
        more = (GivenFile(note=self._say("file_too_many", count=left, limit=rules.files)),) if left else ()
        return (*found, *more)

    def bounded(
        self, session: SessionSpec, given: Sequence[Sequence[GivenFile]]
    ) -> list[tuple[GivenFile, ...]]:
        """The files of messages that are answered together, with no more text than there is room for."""
        texts = _first([file.text for files in given for file in files], self._rules().characters)
        kept = iter(self._fit(session, texts))
        return [tuple(self._cut(file, next(kept)) for file in files) for files in given]

    def _cut(self, given: GivenFile, text: str) -> GivenFile:
        if given.file is None or len(text) == len(given.text):
            return given
        key = "file_cut" if text else "file_no_room_left"
        return replace(given, text=text, note=self._say(key, name=shown_name(given.file.name), place=""))

    async def _all(
        self, row: InboxRow, taken: Sequence[Attachment], rules: MediaRules, found: list[GivenFile]
    ) -> None:
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(place: int, attachment: Attachment) -> None:
            async with room, self._room:
                found[place] = await self._one(row, place, attachment, rules)

        async with asyncio.TaskGroup() as group:
            for place, attachment in enumerate(taken):
                group.create_task(one(place, attachment), name=f"file {row.id}.{place}")

    async def _one(self, row: InboxRow, place: int, attachment: Attachment, rules: MediaRules) -> GivenFile:
        try:
            async with self._counted(row, place, attachment, rules):
                file = await self._had(row, attachment) or await self._fetched(row, place, attachment, rules)
                return self._measured(await self._telling.tell(file), attachment)
        except _NotHad as reason:
            log.info("media.not_had", instance=row.event.instance, reason=reason.key)
            return self._note(reason, attachment)
        except Exception:  # an adapter's fault must not lose the message
            log.exception("media.fetch_failed", instance=row.event.instance)
            return self._note(_NotHad("file_failed"), attachment)

    @asynccontextmanager
    async def _counted(
        self, row: InboxRow, place: int, attachment: Attachment, rules: MediaRules
    ) -> AsyncIterator[None]:
        """The block is known to have begun until it ends, so that a file which ends the process is given up in the end.

        Those on their last start go one at a time: then it is known which one it was.
        """
        starts = attachment.starts
        if starts >= rules.starts:
            raise _NotHad("file_kills", starts=starts)
        async with self._alone if 0 < starts == rules.starts - 1 else nullcontext():
            await self._note_starts(row, place, attachment, starts + 1)
            try:
                yield
            finally:
                await self._note_starts(row, place, attachment, 0)

    async def _note_starts(self, row: InboxRow, place: int, attachment: Attachment, starts: int) -> None:
        with suppress(StoreError):  # a store that is away must not cost a message its files
            await self._store.write(note_starts(row.id, place, attachment.ref, starts))

    def _measured(self, given: GivenFile, attachment: Attachment) -> GivenFile:
        """What is shorter than the platform told may lack its end, and then whoever reads it has to know that."""
        file, told = given.file, attachment.size
        if file is None or told is None or file.size >= told:
            return given
        note = self._say("file_shorter", name=shown_name(file.name))
        return replace(given, note=f"{given.note} {note}".lstrip())

    def _note(self, reason: _NotHad, attachment: Attachment) -> GivenFile:
        name = shown_name(clean_name(attachment.name, attachment.mime))
        return GivenFile(note=self._say(reason.key, name=name, **reason.fields))

    async def _had(self, row: InboxRow, attachment: Attachment) -> StoredFile | None:
        """What was fetched before, if it is still there."""
        file = attachment.file or self._known.get((row.id, attachment.ref))
        if file is None or not await asyncio.to_thread(self._folder.path(file).exists):
            return None
        return file

    async def _fetched(
        self, row: InboxRow, place: int, attachment: Attachment, rules: MediaRules
    ) -> StoredFile:
        fetcher = self._fetchers.get(row.event.instance)
        if fetcher is None:
            raise _NotHad("file_unfetchable")
        if attachment.size is not None and attachment.size > rules.largest:
            raise _too_large(rules)
        if not await self._keeping.has_room():
            log.warning("media.over_quota")
            raise _NotHad("file_quota")
        try:
            async with asyncio.timeout(_LONGEST):
                file = await self._tried(fetcher, row.event, attachment, rules)
        except TimeoutError:
            raise _NotHad("file_unreachable") from None
        self._known[row.id, attachment.ref] = file
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        with suppress(StoreError):  # then it is fetched again after a kill
            await self._store.write(note_file(row.id, place, attachment.ref, file))
        reached("media.noted")
        return file

    async def _tried(
        self, fetcher: FetchingAdapter, event: Event, attachment: Attachment, rules: MediaRules
    ) -> StoredFile:
        tries, before = 0, -1
        while True:
            tries += 1
            try:
                file = await self._read(fetcher, event, attachment, rules)
                # Shorter than told: it broke off. Twice at one place it would a third time: that much is kept.
                if attachment.size is None or file.size >= attachment.size or file.size == before:
                    return file
                if tries >= _TRIES:
                    raise _NotHad("file_unreachable")
                before, wait = file.size, 2.0 ** (tries - 1)
            except NotKept as error:
                broke_off = error.reason == "empty" and bool(attachment.size)
                if not broke_off or tries >= _TRIES:
                    raise _not_kept(error, rules, broke_off=broke_off) from error
                wait = 2.0 ** (tries - 1)
            except Gone as error:
                raise _NotHad("file_gone", why=" ".join(str(error).split())[:200].rstrip(".")) from error
            except (NotTaken, Unreachable) as error:
                if tries >= _TRIES:
                    raise _NotHad("file_unreachable") from error
                asked = error.retry_after if isinstance(error, NotTaken) else None
                wait = min(asked or 2.0 ** (tries - 1), _LONGEST_WAIT)
            except AdapterError as error:
                raise _NotHad("file_unreachable") from error
            await self._clock.sleep(wait)

    async def _read(
        self, fetcher: FetchingAdapter, event: Event, attachment: Attachment, rules: MediaRules
    ) -> StoredFile:
        async with _closing(fetcher.fetch(event, attachment)) as chunks:
            return await self._folder.keep(
                chunks, attachment.name, limit=rules.largest, spoken=attachment.kind == "voice"
            )


def note_file(row_id: int, place: int, ref: str, file: StoredFile) -> Job:
    """A job that notes in an open message what one of its attachments became, unless the message was changed meanwhile."""
    return _note(row_id, place, ref, "file", file.to_json())


def note_starts(row_id: int, place: int, ref: str, starts: int) -> Job:
    """A job that notes, as `note_file` does, how often one of its attachments was begun and did not come to its end."""
    return _note(row_id, place, ref, "starts", starts)


def _note(row_id: int, place: int, ref: str, name: str, value: object) -> Job:
    where = f"$.attachments[{place}]"

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE inbox SET event = json_set(event, ?, json(?))"
            " WHERE id = ? AND closed_at IS NULL AND json_extract(event, ?) = ?",
            (f"{where}.{name}", json.dumps(value), row_id, f"{where}.ref", ref),
        )

    return job


def _first(texts: Sequence[str], left: int) -> list[str]:
    """The texts with at most so many characters together."""
    kept: list[str] = []
    for text in texts:
        kept.append(text[:left])
        left -= len(kept[-1])
    return kept


def _not_kept(error: NotKept, rules: MediaRules, *, broke_off: bool) -> _NotHad:
    if broke_off:
        return _NotHad("file_unreachable")
    return _too_large(rules) if error.reason == "large" else _NotHad(f"file_{error.reason}")


def _too_large(rules: MediaRules) -> _NotHad:
    return _NotHad("file_large", limit=in_words(rules.largest))


@asynccontextmanager
async def _closing(chunks: AsyncIterator[bytes]) -> AsyncIterator[AsyncIterator[bytes]]:
    """What was promised as an iterator may hold a connection, which is let go at once."""
    try:
        yield chunks
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def _unless(stop: asyncio.Event | None, work: Coroutine[Any, Any, None]) -> None:
    """Do the work to its end, or until `stop` is set; either way nothing is left running."""
    if stop is None:
        await work
        return
    task = asyncio.create_task(work, name="files")
    waiter = asyncio.create_task(stop.wait(), name="files-stop")
    try:
        await asyncio.wait((task, waiter), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        task.cancel()
        waiter.cancel()
        await asyncio.gather(task, waiter, return_exceptions=True)
