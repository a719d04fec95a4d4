"""A folder as it is read: how far it was read, what is new in it, and its mails.

Source: https://www.rfc-editor.org/rfc/rfc3501#section-2.3.1.1 . UIDs grow and stay, as long as UIDVALIDITY is the same;
after a rebuild they mean nothing, and mails are told by their age and their own ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from adapters.email.imap import ImapConnection
from adapters.email.sections import Given, given
from hermes.errors import AdapterError

__all__ = ["Folder", "Found", "Position", "is_beginning"]

_BEGINNING = 262_144
"""Bytes of a mail that is too big to be fetched whole: its text comes first, nearly always."""
_MARGIN = 600.0
"""Seconds before the last commit from which on a mail of a rebuilt folder may be new."""
_STATUS = re.compile(rb"\[?(UIDVALIDITY|UIDNEXT) (\d+)")
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")
_UID = re.compile(rb"\bUID (\d+)")
_DATE = re.compile(rb'INTERNALDATE "([^"]+)"')
_ANSWERED = re.compile(rb"FLAGS \([^)]*\\Answered", re.IGNORECASE)
_HEADER = re.compile(rb"BODY\[(\d+)\.MIME\] \{\d+\}$", re.IGNORECASE)
_NO_BODY = re.compile(rb'BODY\[\](?:<0>)? (NIL|"")')


def is_beginning(raw: bytes) -> bool:
    """Whether that may be all that was asked for of a mail that is bigger. Not every server tells sizes exactly."""
    return len(raw) == _BEGINNING


@dataclass(frozen=True, slots=True)
class Position:
    """How far a folder was read: `uid` was the last, at `at` (epoch seconds).

    old, since: in a rebuilt folder, mails up to the UID `old` are new only if the server got them after `since`.
    """

    validity: int
    uid: int
    at: float
    old: int = 0
    since: float = 0.0

    def to_text(self) -> str:
        """As it is stored."""
        return json.dumps({k: v for k, v in asdict(self).items() if v}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> Position | None:
        """The inverse; `None` for anything else."""
        try:
            raw = json.loads(text or "")
            return cls(**{"uid": 0, "at": 0.0, **raw})
        except (ValueError, TypeError):
            return None

    def moved(self, uid: int, at: float) -> Position:
        """Read up to `uid` now."""
        rest = (0, 0.0) if uid >= self.old else (self.old, self.since)
        return replace(self, uid=uid, at=at, old=rest[0], since=rest[1])


@dataclass(frozen=True, slots=True)
class Found:
    """A mail in the folder. size: bytes. at: when the server got it, epoch seconds. answered: somebody has done so."""

    uid: int
    size: int
    at: float | None
    answered: bool = False


class Folder:
    """The selected folder of one connection."""

    def __init__(self, connection: ImapConnection, name: str, max_size: int) -> None:
        self._connection = connection
        self._name = name
        self._max_size = max_size
        self.validity = 0
        self.uid_next = 1

    async def open(self) -> None:
        """Select it. Raises `AdapterError` kinds."""
        known = _numbers(await self._connection.select(self._name))
        if "UIDNEXT" not in known:
            known |= _numbers(await self._connection.status(self._name, "(UIDNEXT UIDVALIDITY)"))
        if "UIDNEXT" not in known or "UIDVALIDITY" not in known:
            raise AdapterError(f"The IMAP server has no lasting numbers for mails in {self._name}.")
        self.validity, self.uid_next = known["UIDVALIDITY"], known["UIDNEXT"]

    def begin(self, stored: Position | None, now: float, *, everything: bool) -> Position:
        """Where to go on from what was stored."""
        if stored is None:
            return Position(self.validity, 0 if everything else self.uid_next - 1, now)
        if stored.validity == self.validity:
            return stored
        return Position(self.validity, 0, stored.at, old=self.uid_next - 1, since=stored.at - _MARGIN)

    async def new(self, position: Position) -> list[int]:
        """The UIDs behind a position, in order. Never asks for all that there is, unless all is new."""
        span = f"UID {position.uid + 1}:*"
        if position.uid >= position.old:
            found = await self._connection.search(span)
        else:
            day = datetime.fromtimestamp(position.since, UTC) - timedelta(days=1)
            aged = await self._connection.search(f"UID {position.uid + 1}:{position.old} SINCE {_day(day)}")
            found = [*aged, *await self._connection.search(f"UID {position.old + 1}:*")]
        # `*` stands for the last mail even where that is not behind the position.
        return sorted({uid for uid in found if uid > position.uid})

    async def describe(self, uids: Sequence[int]) -> list[Found]:
        """Size, age and flags of mails; those that are gone are left out."""
        names = ",".join(map(str, uids))
        lines = await self._connection.fetch(names, "(UID FLAGS RFC822.SIZE INTERNALDATE)")
        found = {f.uid: f for line in lines if (f := _found(bytes(line))) is not None}
        return [found[uid] for uid in uids if uid in found]

    async def search_id(self, message_id: str) -> list[int]:
        """The UIDs of mails with that id (without brackets)."""
        words = f"<{message_id}>".replace("\\", "\\\\").replace('"', '\\"')
        return await self._connection.search(f'HEADER Message-ID "{words}"')

    async def section(self, uid: int, part: str, start: int, length: int) -> Given | None:
        """Bytes of one part of a mail as they were sent, as the server gives them; `None`: it gives nothing."""
        lines = await self._connection.fetch(str(uid), f"(UID BODY.PEEK[{part}]<{start}.{length}>)")
        return given(lines, part)

    async def headers(self, uid: int, most: int) -> dict[int, bytes]:
        """The headers of a mail's first parts, by their number."""
        names = " ".join(f"BODY.PEEK[{number}.MIME]" for number in range(1, most + 1))
        lines = await self._connection.fetch(str(uid), f"(UID {names})")
        found: dict[int, bytes] = {}
        for before, line in pairwise(lines):
            named = _HEADER.search(bytes(before)) if isinstance(line, bytearray) else None
            if named is not None:
                found[int(named[1])] = bytes(line)
        return found

    async def fetch(self, mail: Found, *, whole: bool = True) -> bytes | None:
        """A mail, or the beginning of one that is too big; `None` when the server gives nothing for it."""
        part = "BODY.PEEK[]" if whole and mail.size <= self._max_size else f"BODY.PEEK[]<0.{_BEGINNING}>"
        for _ in range(2):
            lines = await self._connection.fetch(str(mail.uid), f"(UID {part})")
            literals = [bytes(line) for line in lines if isinstance(line, bytearray)]
            if literals:
                return max(literals, key=len)
            if any(_NO_BODY.search(bytes(line)) for line in lines):
                return b""
        return None


def _numbers(lines: Sequence[bytes]) -> dict[str, int]:
    return {name.decode(): int(number) for line in lines for name, number in _STATUS.findall(line)}


def _found(line: bytes) -> Found | None:
    uid, size, date = _UID.search(line), _SIZE.search(line), _DATE.search(line)
    if uid is None:
        return None
    answered = _ANSWERED.search(line) is not None
    return Found(int(uid[1]), int(size[1]) if size else 0, _time(date[1]) if date else None, answered)


def _time(text: bytes) -> float | None:
    try:
        return datetime.strptime(text.decode("ascii").strip(), "%d-%b-%Y %H:%M:%S %z").timestamp()
    except (ValueError, OverflowError):
        return None


_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def _day(day: datetime) -> str:
    return f"{day.day}-{_MONTHS[day.month - 1]}-{day.year}"
