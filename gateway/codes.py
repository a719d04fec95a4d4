"""One-time codes that join two accounts: ten characters, ten minutes, used once. Only their digests are kept.

Who asks for too many, or tries too many that are wrong, has to wait; that is remembered in memory alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
from dataclasses import asdict, dataclass
from typing import Self

from gateway.door import RateBook
from gateway.people import Who
from hermes.config import Rate
from hermes.events import Target
from hermes.store import Job, Store

__all__ = ["CODE_LENGTH", "CODE_LIFE", "MOST_CODES", "Code", "Codes", "digested", "is_digest_of"]

CODE_LENGTH = 10
CODE_LIFE = 600.0
MOST_CODES = 50
"""Codes that are valid at once; the oldest yields."""
_GIVEN = Rate(5, 3600.0)
_TRIED = Rate(5, 3600.0)
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@dataclass(frozen=True, slots=True)
class Code:
    """A code that was given. place: its giver's conversation. target: where the giver is told that it was used."""

    instance: str
    sender: str
    name: str
    place: str | None
    target: Target | None
    digest: str
    expires_at: float

    @property
    def who(self) -> Who:
        """The account that it was given to."""
        return self.instance, self.sender


def digested(text: str, salt: str) -> str:
    """The digest of a code, however it was typed."""
    plain = "".join(text.split()).replace("-", "").upper()
    return f"{salt}${hashlib.sha256(f'{salt}${plain}'.encode('utf-8', 'replace')).hexdigest()}"


def is_digest_of(digest: str, text: str) -> bool:
    """Whether `digest` is the code's."""
    return hmac.compare_digest(digest, digested(text, digest.partition("$")[0]))


class Codes:
    """The codes that are valid, in memory and in the store; changes are jobs. Times are epoch seconds, ticks monotonic."""

    def __init__(self) -> None:
        self._codes: dict[Who, Code] = {}
        self._given = RateBook()
        self._tried = RateBook()

    @classmethod
    async def load(cls, store: Store) -> Self:
        """Those in the store."""
        self = cls()
        sql = "SELECT instance, sender, name, place, target, digest, expires_at FROM link_codes ORDER BY expires_at"
        for row in await store.read(sql):
            target = Target(**json.loads(row["target"])) if row["target"] else None
            instance, sender, name, place, _, digest, expires_at = tuple(row)
            self._codes[instance, sender] = Code(instance, sender, name, place, target, digest, expires_at)
        return self

    def give(
        self, who: Who, name: str, place: str | None, target: Target | None, now: float, tick: float
    ) -> tuple[str, Job] | None:
        """A new code in place of an older one; `None`: too many were asked for."""
        if self._given.slot(who, _GIVEN, tick)[0] > tick:
            return None
        self._given.book(who, tick)
        text = "".join(secrets.choice(_ALPHABET) for _ in range(CODE_LENGTH))
        code = Code(*who, name[:80], place, target, digested(text, secrets.token_hex(8)), now + CODE_LIFE)
        self._codes.pop(who, None)
        gone = [c.who for c in self._codes.values() if c.expires_at <= now]
        gone += [w for w in self._codes if w not in gone][
            : max(0, len(self._codes) - len(gone) - MOST_CODES + 1)
        ]
        for old in gone:
            del self._codes[old]
        self._codes[who] = code
        half = CODE_LENGTH // 2
        return f"{text[:half]}-{text[half:]}", self._saved([*gone, who])

    def find(self, text: str, now: float) -> Code | None:
        """The valid code that was typed. All of them are looked at, so that the time tells nothing."""
        found = None
        for code in self._codes.values():
            if is_digest_of(code.digest, text) and code.expires_at > now:
                found = code
        return found

    def spend(self, code: Code) -> Job:
        """The code is used up."""
        self._codes.pop(code.who, None)
        return self._saved([code.who])

    def put_back(self, code: Code) -> None:
        """It could not be stored that the code is used up: it is valid still, unless its giver has another."""
        self._codes.setdefault(code.who, code)

    def take_back(self, who: Who) -> Job:
        """An account's code is not valid any longer."""
        self._codes.pop(who, None)
        return self._saved([who])

    def may_try(self, who: Who, tick: float) -> bool:
        """Whether an account has tried few enough wrong ones."""
        return self._tried.slot(who, _TRIED, tick)[0] <= tick

    def tried(self, who: Who, tick: float) -> None:
        """An account typed a wrong one."""
        self._tried.book(who, tick)

    def _saved(self, changed: list[Who]) -> Job:
        def job(connection: sqlite3.Connection) -> None:
            for who in changed:
                connection.execute("DELETE FROM link_codes WHERE instance = ? AND sender = ?", who)
                if (c := self._codes.get(who)) is not None:
                    target = None if c.target is None else json.dumps(asdict(c.target))
                    connection.execute(
                        "INSERT INTO link_codes (instance, sender, name, place, target, digest, expires_at)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?)",
                        (*who, c.name, c.place, target, c.digest, c.expires_at),
                    )

        return job
