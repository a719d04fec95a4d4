"""What somebody may do: by what right his account is let in, the role that follows, and where he talks.

    owner    the machine's own user, a program with the API key, and whom the owner made one
    member   paired, or listed by the owner
    guest    let in by "*"

A person's role is what the owner gave it, else the highest that one of its accounts has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.door import DoorRules, listed
from gateway.pairing import Pairings
from gateway.people import People, Person, Who
from gateway.router import Shared, key_now
from hermes.events import Admission, Event, Role

__all__ = ["Rights", "is_private", "rank"]

_RANKS: dict[Role, int] = {"guest": 0, "member": 1, "owner": 2}
_ROLES: dict[Admission, Role] = {
    "local": "owner",
    "key": "owner",
    "signed": "member",
    "listed": "member",
    "paired": "member",
    "linked": "member",
    "anyone": "guest",
}


def rank(role: Role) -> int:
    """Roles in their order."""
    return _RANKS[role]


def is_private(event: Event) -> bool:
    """Whether the event comes from a chat with one person alone, who is who he says."""
    return event.kind == "terminal" or (event.kind == "direct" and event.private_notice)


@dataclass(frozen=True, slots=True)
class Rights:
    """Decides from what is known now. rules: an instance's door rules. per_person: whether a person's direct chats are one."""

    pairings: Pairings
    people: People
    rules: Callable[[str], DoorRules]
    per_person: Callable[[], bool]

    def person(self, event: Event) -> Person | None:
        """Whose event it is. A direct message whose sender is not proven, such as some mails, is nobody's."""
        if event.kind == "direct" and not event.private_notice:
            return None
        return self.people.of((event.instance, event.sender.id))

    def accounts(self, event: Event) -> list[str]:
        """The accounts of the event's sender, each as `INSTANCE:SENDER`."""
        person = self.person(event)
        joined = self.people.accounts(person) if person is not None else []
        return [f"{a.instance}:{a.sender}" for a in joined] or [f"{event.instance}:{event.sender.id}"]

    def own(self, who: Who) -> Admission | None:
        """By what right an account is let in, whoever it is joined to."""
        if who[0] == "terminal":
            return "local"
        return listed(who[1], self.rules(who[0]), paired=self.pairings.approved(*who))

    def is_linked(self, event: Event) -> bool:
        """Whether another account of the same person is admitted by name, and this one with it."""
        person = self.person(event)
        if person is None:
            return False
        return self._vouched(person, (event.instance, event.sender.id))

    def _vouched(self, person: Person, who: Who) -> bool:
        others = (a.who for a in self.people.accounts(person) if a.who != who)
        return any(self.own(other) not in (None, "anyone") for other in others)

    def admits(self, event: Event) -> bool:
        """Whether the event would be let in now."""
        if event.admitted is not None or self.is_linked(event):
            return True
        return self.own((event.instance, event.sender.id)) is not None

    def is_admitted(self, who: Who) -> bool:
        """Whether an account is let in, by itself or by the others of its person."""
        person = self.people.of(who)
        return self.own(who) is not None or (person is not None and self._vouched(person, who))

    def role(self, event: Event) -> Role:
        """What the event's sender is now; who is not admitted is a guest."""
        if event.admitted is not None:
            return _ROLES[event.admitted]
        person = self.person(event)
        if person is not None:
            return self.role_of(person)
        return self.own_role((event.instance, event.sender.id))

    def least(self, events: Sequence[Event], most: Role | None = None) -> Role:
        """The lowest role among the senders of events, and no more than `most`."""
        roles = [self.role(e) for e in events]
        return min(roles if most is None else [*roles, most], key=rank)

    def role_of(self, person: Person) -> Role:
        """A person's role."""
        if person.role is not None:
            return person.role
        roles = [self.own_role(a.who) for a in self.people.accounts(person)]
        return max(roles, key=rank, default="guest")

    def own_role(self, who: Who) -> Role:
        """What an account is by itself."""
        admission = self.own(who)
        return "guest" if admission is None else _ROLES[admission]

    def key_now(self, event: Event, agent_id: str, key: str) -> str:
        """Where a message that waits at `key` is handled."""
        return key_now(event, agent_id, key, self.shared(event))

    def shared(self, event: Event) -> Shared:
        """Where the event's conversation is kept, beside what the event itself says."""
        if not (event.kind == "direct" and event.private_notice):
            return Shared()
        who = (event.instance, event.sender.id)
        account, person = self.people.account(who), self.people.of(who)
        parted = account.parted if account is not None else 0
        return Shared(person.place if person is not None and self.per_person() else None, parted)
