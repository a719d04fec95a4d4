"""Pairing: a stranger in a private chat gets a code once, and the owner admits him by it (`hermes pairing approve CODE`).

Codes have 8 characters and live for an hour; a sender has one pending at a time and is locked out after three
in a day; when too many
are pending on one instance the oldest yields.
"""

from __future__ import annotations

import hmac
import secrets
import sqlite3
from dataclasses import dataclass, replace
from typing import Literal

from hermes.store import Job, Store

__all__ = ["CODE_LENGTH", "CODE_LIFE", "MAX_PENDING", "Pairing", "Pairings"]

CODE_LENGTH = 8
CODE_LIFE = 3600.0
MAX_PENDING = 50
_MAX_CODES = 3
_LOCK_OUT = 86_400.0
_ALL = (
    "SELECT instance, sender, name, state, code, codes_given, asked_at, expires_at, approved_at FROM pairings"
)
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@dataclass(frozen=True, slots=True)
class Pairing:
    """One sender's standing on one instance. Times in epoch seconds."""

    instance: str
    sender: str
    name: str
    state: Literal["pending", "approved"]
    code: str | None
    codes_given: int
    asked_at: float
    expires_at: float | None = None
    approved_at: float | None = None


def _store(pairing: Pairing) -> Job:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO pairings (instance, sender, name, state, code, codes_given,"
            " asked_at, expires_at, approved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                pairing.instance,
                pairing.sender,
                pairing.name,
                pairing.state,
                pairing.code,
                pairing.codes_given,
                pairing.asked_at,
                pairing.expires_at,
                pairing.approved_at,
            ),
        )

    return job


def _delete(instance: str, sender: str) -> Job:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM pairings WHERE instance = ? AND sender = ?", (instance, sender))

    return job


class Pairings:
    """All pairings, in memory and in the store.

    Changes are jobs: the caller commits them with what belongs to them.
    """

    def __init__(self) -> None:
        self._all: dict[tuple[str, str], Pairing] = {}

    @classmethod
    async def load(cls, store: Store) -> Pairings:
        """Read them from the store."""
        self = cls()
        for r in await store.read(_ALL):
            p = Pairing(*tuple(r))
            self._all[p.instance, p.sender] = p
        return self

    async def reload(self, store: Store, instance: str, sender: str) -> None:
        """Go back to what is in the store of one sender."""
        rows = await store.read(f"{_ALL} WHERE instance = ? AND sender = ?", (instance, sender))
        self._all.pop((instance, sender), None)
        for r in rows:
            self._all[instance, sender] = Pairing(*tuple(r))

    def listed(self) -> list[Pairing]:
        """Every pairing, oldest first."""
        return sorted(self._all.values(), key=lambda p: p.asked_at)

    def approved(self, instance: str, sender: str) -> bool:
        """Whether the sender was admitted."""
        p = self._all.get((instance, sender))
        return p is not None and p.state == "approved"

    def ask(self, instance: str, sender: str, name: str, now: float) -> tuple[str | None, list[Job]]:
        """The code to tell a stranger, or `None` for silence (he has one, or asked too often).

        And the jobs that remember it.
        """
        known = self._all.get((instance, sender))
        if known is not None and not self._may_ask_again(known, now):
            return None, []
        recent = known is not None and known.asked_at > now - _LOCK_OUT
        given = (known.codes_given if known is not None and recent else 0) + 1
        code = "".join(secrets.choice(_ALPHABET) for _ in range(CODE_LENGTH))
        fresh = Pairing(instance, sender, name[:80], "pending", code, given, now, now + CODE_LIFE)
        jobs = self._make_room(instance, now)
        self._all[instance, sender] = fresh
        return code, [*jobs, _store(fresh)]

    def take_back(self, instance: str, sender: str) -> None:
        """The code that `ask` gave could not be stored, and so was not told: the sender may ask again."""
        self._all.pop((instance, sender), None)

    @staticmethod
    def _may_ask_again(known: Pairing, now: float) -> bool:
        if known.state == "approved" or (known.expires_at or 0.0) > now:
            return False
        return known.codes_given < _MAX_CODES or known.asked_at <= now - _LOCK_OUT

    def _make_room(self, instance: str, now: float) -> list[Job]:
        pending = [p for p in self.listed() if p.instance == instance and p.state == "pending"]
        yielding = pending[: max(0, len(pending) - MAX_PENDING + 1)]
        stale = [p for p in pending if p.asked_at <= now - _LOCK_OUT]
        gone = {(p.instance, p.sender) for p in (*yielding, *stale)}
        for who in gone:
            del self._all[who]
        return [_delete(*who) for who in gone]

    def approve(self, code: str, now: float) -> tuple[Pairing, Job]:
        """Admit the sender who was given `code`. Raises `LookupError` when no such code is pending."""
        wanted = code.strip().upper().encode()
        for p in self.listed():
            live = p.state == "pending" and p.code is not None and (p.expires_at or 0.0) > now
            if live and hmac.compare_digest(str(p.code).encode(), wanted):
                admitted = replace(p, state="approved", code=None, expires_at=None, approved_at=now)
                self._all[p.instance, p.sender] = admitted
                return admitted, _store(admitted)
        raise LookupError("No pairing code like that is pending; codes are valid for one hour.")

    def revoke(self, instance: str, sender: str) -> Job:
        """Forget a sender. Raises `LookupError` for one that is not there."""
        if self._all.pop((instance, sender), None) is None:
            raise LookupError(f"{sender} is not paired on {instance}.")
        return _delete(instance, sender)
