"""Who is who, and what the owner says about it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import get_args

from gateway.control import Handler
from gateway.handlers.commit import commit
from gateway.handlers.request import text
from gateway.handlers.running import Running
from gateway.people import Account, Person, Who
from hermes.errors import HermesError
from hermes.events import Role
from hermes.messages import JSONObject

__all__ = ["operations"]


def operations(gateway: Running) -> Mapping[str, Handler]:
    """The operations by name."""
    ops = _Operations(gateway)
    return {
        "people.list": ops.listed,
        "people.show": ops.show,
        "people.link": ops.link,
        "people.unlink": ops.unlink,
        "people.role": ops.role,
    }


def account(request: JSONObject, name: str) -> Who:
    """The account `name`, such as telegram:123. Raises `HermesError`."""
    instance, colon, sender = text(request, name).partition(":")
    if not colon or not instance or not sender:
        raise HermesError('An account is written as "platform:sender", for example "telegram:123".')
    return instance, sender


class _Operations:
    def __init__(self, gateway: Running) -> None:
        self._core = gateway.core
        self._people = gateway.core.linking.people
        self._rights = gateway.core.linking.rights

    async def listed(self, _: JSONObject) -> JSONObject:
        return {"people": [self._shown(p) for p in self._people.listed()]}

    async def show(self, request: JSONObject) -> JSONObject:
        wanted = text(request, "person")
        person = self._people.get(wanted)
        if person is None and ":" in wanted:
            person = self._people.of(account(request, "person"))
        if person is None:
            raise HermesError(f"{wanted} is nobody who was joined or was given a role.")
        return {"person": self._shown(person)}

    async def link(self, request: JSONObject) -> JSONObject:
        first, other = account(request, "first"), account(request, "other")
        if first == other:
            raise HermesError("These are one account.")
        known = self._people.account(first) or Account(*first, self._name(first), None)
        job = self._people.join(known, Account(*other, self._name(other), None), time.time())
        await commit(self._core, [job])
        person = self._people.of(first)
        assert person is not None  # noqa: S101  joined just now
        return {"person": self._shown(person)}

    async def unlink(self, request: JSONObject) -> JSONObject:
        try:
            jobs = self._core.linking.part(account(request, "account"))
        except LookupError as error:
            raise HermesError(error.args[0]) from error
        await commit(self._core, jobs)
        return {}

    async def role(self, request: JSONObject) -> JSONObject:
        who, wanted = account(request, "account"), text(request, "role")
        known = get_args(Role)
        if wanted not in (*known, "default"):
            raise HermesError(f"There is no role {wanted!r}; there are {', '.join(known)}, and default.")
        role: Role | None = next((r for r in known if r == wanted), None)
        job = self._people.give_role(who, self._name(who), role, time.time())
        await commit(self._core, [job])
        person = self._people.of(who)
        shown = self._rights.own_role(who) if person is None else self._rights.role_of(person)
        return {"role": shown, "admitted": self._rights.is_admitted(who)}

    def _name(self, who: Who) -> str:
        return next((p.name for p in self._core.pairings.listed() if (p.instance, p.sender) == who), "")

    def _shown(self, person: Person) -> JSONObject:
        accounts = self._people.accounts(person)
        return {
            "id": person.id,
            "role": self._rights.role_of(person),
            "given": person.role,
            "created_at": person.created_at,
            "accounts": [
                {
                    "account": f"{a.instance}:{a.sender}",
                    "name": a.name,
                    "joined_at": a.joined_at,
                    "admitted": self._rights.own(a.who),
                }
                for a in accounts
            ],
        }
