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

__all__ = ["MOST_ACCOUNTS", "Account", "NotJoined", "People", "Person", "Who", "places_seen_from", "written"]

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
    often it left a conversation that was kept under its own key. code: the digest of the code it was joined by; giver:
    the account that gave it.
    """

    instance: str
    sender: str
    name: str
    person: str | None
    place: str | None = None
    parted: int = 0
    code: str | None = None
    giver: Who | None = None
    joined_at: float = 0.0

    @property
    def who(self) -> Who:
        """The account's key."""
        return self.instance, self.sender


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody. role: as the owner said; `None`: by the accounts' rights. place: where a shared conversation is kept.

    given_to: the account that the owner named when he gave the role.
    """

    id: str
    role: Role | None = None
    place: str | None = None
    given_to: Who | None = None
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
        people = await store.read("SELECT id, role, place, given_to, created_at FROM people")
        accounts = await store.read(
            "SELECT instance, sender, name, person, place, parted, code, giver, joined_at FROM accounts"
        )
        known = get_args(Role)
        self._people = {
            r["id"]: Person(
                r["id"],
                r["role"] if r["role"] in known else None,
                r["place"],
                _read(r["given_to"]),
                r["created_at"],
            )
            for r in people
        }
        self._accounts, self._members = {}, {}
        for row in accounts:
            account = Account(*tuple(row))
            self._put(replace(account, giver=_read(row["giver"])))

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
                if known.place is None:  # he has not written since; his code says where he does
                    self._put(replace(known, place=account.place))
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

    def let_in_by(self, who: Who) -> list[Account]:
        """The accounts that were joined by codes of an account, by codes of those, and so on."""
        person = self.of(who)
        joined = self.accounts(person) if person is not None else []
        found: dict[Who, Account] = {}
        while more := {a.who: a for a in joined if a.giver in (who, *found) and a.who not in (who, *found)}:
            found |= more
        return list(found.values())

    def leave(self, who: Who, *, shared: bool) -> Job:
        """Take an account out of its person. Raises `LookupError` for one that is joined to no other.

        What was let in by its codes falls with it; where no other account is left it stays who it is. A role that was
        given to it goes along, and a guest stays one on both sides.

        shared: the person's accounts share their conversation. It stays with the others that have a part in it, also where
        it is kept under this account's key: the account then begins anew under another one.
        """
        account, person = self._accounts.get(who), self.of(who)
        joined = self.accounts(person) if person is not None else []
        if account is None or person is None or (len(joined) < 2 and person.place in (None, account.place)):
            raise LookupError(f"{written(who)} is joined to no other account.")
        fallen = self.let_in_by(who)
        changed = [i for each in fallen for i in self._part(each, shared=shared)]
        if not fallen or len(self._members.get(person.id, ())) > 1:
            changed += self._part(account, shared=shared)
        return self._saved(changed, [a.who for a in joined])

    def _part(self, account: Account, *, shared: bool) -> list[str]:
        """One account leaves; the persons that changed."""
        person = self._people[str(account.person)]
        others = [a for a in self.accounts(person) if a.who != account.who]
        if not others:
            self._people[person.id] = replace(person, place=account.place)
            self._simplify(person.id)
            return [person.id]
        is_own = account.place is not None and account.place == person.place
        is_kept = shared and is_own and any(a.place is not None for a in others)
        is_given = person.given_to == account.who
        gone = replace(
            account, person=None, place=None, code=None, giver=None, parted=account.parted + is_kept
        )
        changed = [person.id]
        if person.role is not None and (is_given or person.role == "guest"):
            own = Person(
                f"p-{secrets.token_hex(4)}", person.role, given_to=account.who, created_at=person.created_at
            )
            self._people[own.id] = own
            self._put(replace(gone, person=own.id))
            changed.append(own.id)
        else:
            self._alone(gone)
        if is_given and person.role != "guest":
            person = replace(person, role=None, given_to=None)
        if is_own and not is_kept:
            person = replace(person, place=next((a.place for a in others if a.place is not None), None))
        self._people[person.id] = person
        self._simplify(person.id)
        return changed

    def _simplify(self, person_id: str) -> None:
        """A person of one account, of whom nothing is to be said, is not written down."""
        person = self._people[person_id]
        joined = self.accounts(person)
        if len(joined) == 1 and person.role is None and person.place in (None, joined[0].place):
            self._drop_person(person_id)

    def give_role(self, who: Who, name: str, role: Role | None, now: float) -> Job:
        """Say what somebody is to the owner; `None`: what the rights of the accounts say."""
        person = self.of(who)
        if person is None:
            person = Person(f"p-{secrets.token_hex(4)}", created_at=now)
            known = self._accounts.get(who) or Account(*who, name, None)
            self._put(replace(known, person=person.id, joined_at=now))
        self._people[person.id] = replace(person, role=role, given_to=None if role is None else who)
        self._simplify(person.id)
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
        self._put(replace(account, person=None, place=None, code=None, giver=None))
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
                    "INSERT INTO people (id, role, place, given_to, created_at) VALUES (?, ?, ?, ?, ?)"
                    " ON CONFLICT (id) DO UPDATE SET role = excluded.role, place = excluded.place,"
                    " given_to = excluded.given_to",
                    (person.id, person.role, person.place, _kept(person.given_to), person.created_at),
                )
            for who in keys:
                _save_account(connection, who, self._accounts.get(who))

        return job


def _save_account(connection: sqlite3.Connection, who: Who, a: Account | None) -> None:
    if a is None:
        connection.execute("DELETE FROM accounts WHERE instance = ? AND sender = ?", who)
        return
    connection.execute(
        "INSERT OR REPLACE INTO accounts (instance, sender, name, person, place, parted, code, giver, joined_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (a.instance, a.sender, a.name, a.person, a.place, a.parted, a.code, _kept(a.giver), a.joined_at),
    )


def written(who: Who) -> str:
    """An account as people write it: `INSTANCE:SENDER`."""
    return ":".join(who)


def _kept(who: Who | None) -> str | None:
    return None if who is None else written(who)


def _read(written: str | None) -> Who | None:
    """An account as it was kept; an instance's name has no colon."""
    if written is None:
        return None
    instance, _, sender = written.partition(":")
    return instance, sender


async def places_seen_from(store: Store, place: str) -> list[str]:
    """The places of conversations that are the same person's as the shared one at `place`, this one first."""
    rows = await store.read(
        "SELECT a.place FROM people p JOIN accounts a ON a.person = p.id"
        " WHERE p.place = ? AND a.place IS NOT NULL AND a.place <> p.place",
        (place,),
    )
    return [place, *(r["place"] for r in rows)]
