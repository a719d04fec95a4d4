"""Who is who: several accounts of one person, and the role that the owner gave somebody.

An account is a sender on a platform instance. A person is written down when there is something to say of it: two
accounts were joined, or a role was given. Everybody else is the person of one account, without a row.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self, get_args

from hermes.errors import HermesError
from hermes.events import Role
from hermes.store import Job, Store

__all__ = ["MOST_ACCOUNTS", "Account", "NotJoined", "People", "Person", "Who", "places_seen_from"]

MOST_ACCOUNTS = 16
"""Accounts of one person."""

Who = tuple[str, str]
"""An account: the platform instance and the sender's id there."""


class NotJoined(HermesError):
    """The accounts cannot be joined."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account that is or was joined to others.

    place: its own conversation, as a session key without the agent; `None`: nobody has seen it write yet. parted: how
    often it left a conversation that was kept under its own key. code: the digest of the code it was joined by.
    """

    instance: str
    sender: str
    name: str
    person: str | None
    place: str | None = None
    parted: int = 0
    code: str | None = None
    joined_at: float = 0.0

    @property
    def who(self) -> Who:
        """The account's key."""
        return self.instance, self.sender


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody. role: as the owner said; `None`: by the accounts' rights. place: where a shared conversation is kept."""

    id: str
    role: Role | None = None
    place: str | None = None
    created_at: float = 0.0


class People:
    """All of them, in memory and in the store.

    A change holds at once, and the caller commits the job with what belongs to it. A job writes what is true when it
    runs, so that jobs may be committed in any order.
    """

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}
        self._accounts: dict[Who, Account] = {}
        self._members: dict[str, dict[Who, None]] = {}

    @classmethod
    async def load(cls, store: Store) -> Self:
        """Those in the store."""
        self = cls()
        await self.reload(store)
        return self

    async def reload(self, store: Store) -> None:
        """Go back to what is in the store."""
        people = await store.read("SELECT id, role, place, created_at FROM people")
        accounts = await store.read(
            "SELECT instance, sender, name, person, place, parted, code, joined_at FROM accounts"
        )
        known = get_args(Role)
        self._people = {
            r["id"]: Person(r["id"], r["role"] if r["role"] in known else None, r["place"], r["created_at"])
            for r in people
        }
        self._accounts, self._members = {}, {}
        for row in accounts:
            self._put(Account(*tuple(row)))

    def account(self, who: Who) -> Account | None:
        """What is noted of an account."""
        return self._accounts.get(who)

    def of(self, who: Who) -> Person | None:
        """The person whose account it is; `None`: nothing is noted of it."""
        account = self._accounts.get(who)
        return None if account is None or account.person is None else self._people[account.person]

    def get(self, person_id: str) -> Person | None:
        """A person by its id."""
        return self._people.get(person_id)

    def accounts(self, person: Person) -> list[Account]:
        """A person's accounts, the first that was joined first."""
        members = (self._accounts[who] for who in self._members.get(person.id, ()))
        return sorted(members, key=lambda a: (a.joined_at, a.who))

    def listed(self) -> list[Person]:
        """Everybody, the oldest first."""
        return sorted(self._people.values(), key=lambda p: (p.created_at, p.id))

    def join(self, first: Account, other: Account, now: float) -> Job:
        """Make `other` an account of the person whose account `first` is. Raises `NotJoined`.

        Their conversation is that of `first`, where it has one, else that of `other`.
        """
        person = self.of(first.who) or Person(f"p-{secrets.token_hex(4)}", created_at=now)
        leaving = self._may_leave(other, person)
        if len(self.accounts(person)) >= MOST_ACCOUNTS:
            raise NotJoined(f"A person has at most {MOST_ACCOUNTS} accounts.")
        if leaving is not None:
            self._drop_person(leaving.id)
        self._people[person.id] = replace(person, place=person.place or first.place or other.place)
        for account in (first, other):
            known = self._accounts.get(account.who)
            if known is not None and known.person == person.id:
                continue
            self._put(replace(account, person=person.id, parted=known.parted if known else 0, joined_at=now))
        return self._saved([person.id, *([leaving.id] if leaving else [])], [first.who, other.who])

    def _may_leave(self, account: Account, person: Person) -> Person | None:
        """The person that the account is alone in, and may leave for `person`."""
        current = self.of(account.who)
        if current is None:
            return None
        if current.id == person.id:
            raise NotJoined("They are the same person already.")
        if current.role is not None or len(self.accounts(current)) > 1:
            raise NotJoined("That account belongs to another person; take it out there first.")
        return current

    def leave(self, who: Who, *, shared: bool) -> Job:
        """Take an account out of its person. Raises `LookupError` for one that is in none.

        shared: the person's accounts share their conversation. It stays with the others, also where it is kept under
        this account's key: the account then begins anew under another one.
        """
        account, person = self._accounts.get(who), self.of(who)
        if account is None or person is None:
            raise LookupError(f"{who[0]}:{who[1]} is joined to no other account.")
        others = [a for a in self.accounts(person) if a.who != who]
        is_kept_here = shared and bool(others) and account.place is not None and account.place == person.place
        changed = [who]
        self._alone(replace(account, parted=account.parted + is_kept_here))
        if not others:
            self._drop_person(person.id)
        elif len(others) == 1 and person.role is None and person.place in (None, others[0].place):
            changed.append(others[0].who)
            self._alone(others[0])
            self._drop_person(person.id)
        return self._saved([person.id], changed)

    def give_role(self, who: Who, name: str, role: Role | None, now: float) -> Job:
        """Say what somebody is to the owner; `None`: what the rights of the accounts say."""
        person = self.of(who)
        if person is None:
            person = Person(f"p-{secrets.token_hex(4)}", created_at=now)
            known = self._accounts.get(who) or Account(*who, name, None)
            self._put(replace(known, person=person.id, joined_at=now))
        self._people[person.id] = replace(person, role=role)
        if role is None and len(self.accounts(person)) == 1:
            self._alone(self.accounts(person)[0])
            self._drop_person(person.id)
        return self._saved([person.id], [who])

    def settle(self, who: Who, place: str) -> Job | None:
        """An account was seen to write at `place`: note it where that is not known. `None`: there is nothing to note."""
        account, person = self._accounts.get(who), self.of(who)
        if account is None or person is None or account.place is not None:
            return None
        self._put(replace(account, place=place))
        if person.place is None:
            self._people[person.id] = replace(person, place=place)
        return self._saved([person.id], [who])

    def unsettle(self, who: Who) -> None:
        """What `settle` noted could not be stored: the place of an account is not known yet."""
        account, person = self._accounts.get(who), self.of(who)
        if account is None or person is None:
            return
        self._put(replace(account, place=None))
        if person.place == account.place:
            self._people[person.id] = replace(person, place=None)

    def _put(self, account: Account) -> None:
        before = self._accounts.get(account.who)
        if before is not None and before.person not in (None, account.person):
            self._members.get(str(before.person), {}).pop(account.who, None)
        self._accounts[account.who] = account
        if account.person is not None:
            self._members.setdefault(account.person, {})[account.who] = None

    def _alone(self, account: Account) -> None:
        """The account is in no person; nothing stays of it but that it may not have its old key again."""
        self._put(replace(account, person=None, place=None, code=None))
        if not account.parted:
            del self._accounts[account.who]

    def _drop_person(self, person_id: str) -> None:
        self._people.pop(person_id, None)
        for who in self._members.pop(person_id, {}):
            self._alone(self._accounts[who])

    def _saved(self, people: Iterable[str], accounts: Iterable[Who]) -> Job:
        ids, keys = list(people), list(accounts)

        def job(connection: sqlite3.Connection) -> None:
            gone = [i for i in ids if i not in self._people]
            connection.executemany("UPDATE accounts SET person = NULL WHERE person = ?", [(i,) for i in gone])
            connection.executemany("DELETE FROM people WHERE id = ?", [(i,) for i in gone])
            for person in [p for i in ids if (p := self._people.get(i)) is not None]:
                connection.execute(
                    "INSERT INTO people (id, role, place, created_at) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (id) DO UPDATE SET role = excluded.role, place = excluded.place",
                    (person.id, person.role, person.place, person.created_at),
                )
            for who in keys:
                _save_account(connection, who, self._accounts.get(who))

        return job


def _save_account(connection: sqlite3.Connection, who: Who, a: Account | None) -> None:
    if a is None:
        connection.execute("DELETE FROM accounts WHERE instance = ? AND sender = ?", who)
        return
    connection.execute(
        "INSERT OR REPLACE INTO accounts (instance, sender, name, person, place, parted, code, joined_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (a.instance, a.sender, a.name, a.person, a.place, a.parted, a.code, a.joined_at),
    )


async def places_seen_from(store: Store, place: str) -> list[str]:
    """The places of conversations that are the same person's as the shared one at `place`, this one first."""
    rows = await store.read(
        "SELECT a.place FROM people p JOIN accounts a ON a.person = p.id"
        " WHERE p.place = ? AND a.place IS NOT NULL AND a.place <> p.place",
        (place,),
    )
    return [place, *(r["place"] for r in rows)]
