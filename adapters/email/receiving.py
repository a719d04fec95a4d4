"""The way in: what is new in the folder, each batch stored before it is marked as read; then wait for more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from adapters.email.folder import Folder, Found, Position, is_beginning
from adapters.email.head import Head, Reading, Seen, brief, read_head
from adapters.email.imap import ImapConnection, Refusal
from adapters.email.loops import LoopGuard
from adapters.email.outline import MOST_PARTS
from adapters.email.parse import parse_mail
from adapters.email.places import MailPlace
from adapters.email.settings import EmailSettings
from adapters.email.trial import Trial
from hermes import failpoint
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import AdapterError, StoreUnavailable
from hermes.events import Event, Ignored, Parsed, Unparsable, Verdict, Watermark

__all__ = ["Receiving"]

_T = TypeVar("_T")
_log = structlog.get_logger("adapters.email")
_BATCH = 20
_BYTES = 8_000_000
"""A batch ends with the mail that makes it bigger: what is held in memory at once stays bounded."""
_POLL = 60.0
_TRIES, _WHOLE_TRIES = 6, 3
"""Connections on which a mail is asked for, and of these on which the whole of it is: a mail that the server cannot
give, or that breaks the connection, must not make us deaf for all others."""


class Receiving:
    """Reads one folder over any number of connections."""

    def __init__(self, settings: EmailSettings, reading: Reading, trial: Trial, clock: Clock) -> None:
        self._settings = settings
        self._reading = reading
        self._trial = trial
        self._clock = clock
        self._guard = LoopGuard(settings.thread_rate, settings.sender_rate, settings.domain_rate)
        self._failed: dict[int, int] = {}
        self._stored: Position | None = None
        self._name = f"position:{reading.address}:{settings.folder}"

    async def run(self, connection: ImapConnection, intake: Intake, connected: Callable[[], None]) -> None:
        """Read and wait until cancelled. Raises `AdapterError` kinds when the connection is of no use any more."""
        folder = Folder(connection, self._settings.folder, self._settings.max_size)
        await folder.open()
        position = await self._begin(folder, intake)
        connected()
        while True:
            connection.news.clear()
            intake.alive()
            new = await folder.new(position)
            for first in range(0, len(new), _BATCH):
                uids = new[first : first + _BATCH]
                position = await self._take(connection, folder, uids, position, intake)
            if position.uid < position.old:  # all of a rebuilt folder that may be new was taken
                position = position.moved(position.old, self._clock.time())
            if position != self._stored:
                await self._commit([], position, intake)
            if not new and not connection.news.is_set():
                await self._wait(connection)

    async def _begin(self, folder: Folder, intake: Intake) -> Position:
        stored = Position.from_text(await self._stubbornly(intake, lambda: intake.read_watermark(self._name)))
        everything = self._settings.first_start == "all"
        self._stored = stored
        position = folder.begin(stored, self._clock.time(), everything=everything)
        if stored is None and not everything:
            await self._commit([], position, intake)
        if position.old:
            _log.warning("email.folder_rebuilt", instance=self._reading.instance, mails=position.old)
        return position

    async def _take(
        self,
        connection: ImapConnection,
        folder: Folder,
        uids: Sequence[int],
        position: Position,
        intake: Intake,
    ) -> Position:
        """Store some mails, however long that takes, and mark those that were taken."""
        found = {f.uid: f for f in await folder.describe(uids)}
        if left_out := [
            uid for uid in uids if uid not in found
        ]:  # removed meanwhile, or forgotten in the answer
            found |= {f.uid: f for f in await folder.describe(left_out)}
        waiting = [found[uid] for uid in uids if uid in found and _is_new(found[uid], position)]
        while waiting:
            mails, waiting = await self._fetched(folder, waiting, intake)
            items = [item for _, item in mails]
            failpoint.reached("intake.parsed")
            position = position.moved(mails[-1][0].uid, self._clock.time())
            verdicts = await self._commit(items, position, intake)
            self._tell(mails, verdicts)
            await self._mark(connection, [m for m, _ in mails], verdicts)
            failpoint.reached("intake.acknowledged")
        last = uids[-1]
        return position if position.uid >= last else position.moved(last, position.at)

    async def _fetched(
        self, folder: Folder, waiting: Sequence[Found], intake: Intake
    ) -> tuple[list[tuple[Found, Parsed]], list[Found]]:
        """The next mails, parsed, and those that are still to come."""
        mails: list[tuple[Found, Parsed]] = []
        size = 0
        for number, mail in enumerate(waiting):
            if size >= _BYTES:
                return mails, list(waiting[number:])
            if mail.answered:
                mails.append((mail, Ignored("answered already")))
                continue
            item, read = await self._read(folder, mail, intake)
            size += read
            mails.append((mail, item))
        return mails, []

    async def _read(self, folder: Folder, mail: Found, intake: Intake) -> tuple[Parsed, int]:
        """A mail, and how many bytes of it were fetched. Whole is only read what somebody says who is let in."""
        seen = await self._raw(folder, mail)
        if seen is None:
            return Unparsable("", f"the server does not give mail {mail.uid}"), 0
        place = MailPlace(folder.validity, mail.uid, mail.size)
        head = await asyncio.to_thread(read_head, seen, mail.at, self._reading, place)
        if not isinstance(head, Head):
            return self._done(mail, head), len(seen.raw)
        role = intake.role(head.event)
        # What gathered while we were away came one by one: only a loop is too many in an hour.
        at = self._clock.time() if mail.at is None else mail.at
        # To a stranger a code goes out where people are paired, and else nothing.
        unknown = role == "guest" or (role is None and self._settings.allow_from is None)
        stopped = self._guard.judge(head.event, at, guest=unknown)
        if stopped is not None:
            return self._done(mail, stopped), len(seen.raw)
        if role is None:  # all that he may say is a code
            seen = brief(seen)
        return self._done(mail, await self._parsed(mail, seen, place)), len(seen.raw)

    def _done(self, mail: Found, item: Parsed) -> Parsed:
        self._failed.pop(mail.uid, None)
        return item

    async def _raw(self, folder: Folder, mail: Found) -> Seen | None:
        """A mail. One that cannot be had is asked for on some connections, then for its beginning, then no more: `None`."""
        tries = self._failed.get(mail.uid, 0)
        if tries >= _TRIES:
            return None
        try:
            raw = await folder.fetch(mail, whole=tries < _WHOLE_TRIES)
            headers = await _headers(folder, mail.uid) if raw is not None and is_beginning(raw) else {}
        except AdapterError:
            self._failed[mail.uid] = tries + 1
            raise
        if raw is None:
            self._failed[mail.uid] = tries + 1
            raise AdapterError(f"The IMAP server gives nothing for mail {mail.uid}.")
        return Seen(raw, mail.size if is_beginning(raw) else len(raw), headers)

    async def _parsed(self, mail: Found, seen: Seen, place: MailPlace) -> Parsed:
        def parse(reading: Reading) -> Parsed:
            return parse_mail(seen, mail.at, reading, place)

        return await asyncio.to_thread(self._trial.read, f"{place.validity}:{mail.uid}", seen.raw, parse)

    async def _commit(self, items: Sequence[Parsed], position: Position, intake: Intake) -> Sequence[Verdict]:
        watermark = Watermark(self._reading.instance, self._name, position.to_text())
        verdicts = await self._stubbornly(intake, lambda: intake.take(items, watermark))
        self._stored = position
        return verdicts

    def _tell(self, mails: Sequence[tuple[Found, Parsed]], verdicts: Sequence[Verdict]) -> None:
        """Say of each mail that gets no answer why."""
        for (mail, item), verdict in zip(mails, verdicts, strict=True):
            if verdict.kind not in ("accepted", "duplicate"):
                genuine = (
                    None if not isinstance(item, Event) else not item.sender.id.startswith("unverified:")
                )
                _log.info(
                    "email.left_alone",
                    instance=self._reading.instance,
                    uid=mail.uid,
                    reason=verdict.reason or verdict.kind,
                    genuine=genuine,
                )

    async def _mark(
        self, connection: ImapConnection, mails: Sequence[Found], verdicts: Sequence[Verdict]
    ) -> None:
        """What was left alone stays as it is, so that people find it.

        The mark "answered" stays with the mail when our own memory of it is lost: nobody is answered twice after the home came
        back from a backup, or where a person was faster.
        """
        taken = [m.uid for m, v in zip(mails, verdicts, strict=True) if v.kind in ("accepted", "duplicate")]
        if not taken:
            return
        flags = "\\Seen \\Answered" if self._settings.mark_seen else "\\Answered"
        try:
            await connection.mark(",".join(map(str, taken)), flags)
        except Refusal as e:
            _log.info("email.not_marked", instance=self._reading.instance, error=str(e))

    async def _wait(self, connection: ImapConnection) -> None:
        """Until there is news, or it is time to look whether the connection still lives."""
        every = self._settings.poll_every
        if every is None and connection.idles:
            await connection.idle(self._clock.sleep(self._settings.idle_renew))
            return
        await self._clock.sleep(every or _POLL)
        await connection.noop()

    async def _stubbornly(self, intake: Intake, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Ask the store until it answers; meanwhile nothing is read and nothing is marked."""
        pause = 1.0
        while True:
            try:
                return await ask()
            except StoreUnavailable:
                intake.alive()
                await self._clock.sleep(pause)
                pause = min(5.0, pause * 1.5)


def _is_new(mail: Found, position: Position) -> bool:
    return mail.uid > position.old or mail.at is None or mail.at > position.since


async def _headers(folder: Folder, uid: int) -> dict[int, bytes]:
    """What a mail's parts are, where only its beginning is fetched."""
    try:
        return await folder.headers(uid, MOST_PARTS)
    except Refusal:
        return {}
