"""What chats are called, and which is each platform's home: so that people can name a chat without its id.

    telegram            the platform's home (`/sethome` makes a chat that), also telegram:home
    home                the only home that there is
    discord:#general    a chat by the name that its platform gives it; also slack:#ops, telegram:@name
    discord:@500        a person by the number that the platform gives people: no name, so it is left as it is
    origin              where the message came from, for what runs in a turn

Names are learned from messages of people who are let in by name: a stranger cannot put his chat in another's place. Of two
chats with one name none is meant. A group that has a new id on its platform is the same chat, by either.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

from gateway.router import HOME, ORIGIN, format_target
from hermes.errors import ConfigError
from hermes.events import ChatKind, Event, Target
from hermes.store import Job, Store

__all__ = ["MOST_CHATS", "Chat", "Directory"]

MOST_CHATS = 2000
"""Chats whose names are kept; the ones heard of least recently go first."""
_FRESH = 86_400.0
"""Seconds in which a chat that goes on under its name is not written down again."""
_LONGEST = 120
_SHOWN = 20
_KINDS = ("direct", "group", "channel")


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat that is known by a name. at: when it was last heard of, in epoch seconds, to the day."""

    instance: str
    chat: str
    name: str
    kind: ChatKind
    at: float


class Directory:
    """All of them, in memory and in the store. A change holds at once; the caller commits the job.

    names_itself: whether an instance's platform knows an "@name" itself, so that one we have not heard of may be right.
    """

    def __init__(self, names_itself: Callable[[str], bool] = lambda _: False) -> None:
        self._names_itself = names_itself
        self._chats: dict[tuple[str, str], Chat] = {}
        self._homes: dict[str, str] = {}
        self._moves: dict[tuple[str, str], str] = {}

    @classmethod
    async def load(cls, store: Store, names_itself: Callable[[str], bool] = lambda _: False) -> Self:
        """What the store has."""
        self = cls(names_itself)
        for r in await store.read("SELECT instance, chat, name, kind, at FROM chats ORDER BY at"):
            known = Chat(r["instance"], r["chat"], r["name"], cast("ChatKind", r["kind"]), r["at"])
            self._chats[known.instance, known.chat] = known
        for r in await store.read("SELECT instance, chat FROM homes"):
            self._homes[r["instance"]] = r["chat"]
        for r in await store.read("SELECT instance, chat, now FROM moved_chats ORDER BY rowid"):
            self._moves[r["instance"], r["chat"]] = r["now"]
        return self

    # --- learning ------------------------------------------------------------------------------------

    def learn(self, event: Event, now: float) -> tuple[Job, Callable[[], None]] | None:
        """Take the chat's name in; the job, and how to take that back. `None`: there is nothing new."""
        name = " ".join(event.chat_name.split())[:_LONGEST]
        if not name or event.kind not in _KINDS:
            return None
        key, fresh = (event.instance, event.chat), Chat(event.instance, event.chat, name, event.kind, now)
        known = self._chats.pop(key, None)
        if known is not None and (known.name, known.kind) == (name, event.kind) and now - known.at < _FRESH:
            self._chats[key] = known
            return None
        self._chats[key] = fresh
        while len(self._chats) > MOST_CHATS:
            del self._chats[next(iter(self._chats))]

        def take_back() -> None:
            self._chats.pop(key, None)
            if known is not None:
                self._chats[key] = known

        return _keep(fresh), take_back

    def follow(self, event: Event) -> tuple[Job, Callable[[], None]] | None:
        """Take in that a group has another id than its conversation is kept under; as `learn`."""
        if event.kind != "group" or event.session is None or event.session == event.chat:
            return None
        key, before = (event.instance, event.session), self._moves.pop((event.instance, event.session), None)
        self._moves[key] = event.chat
        if before == event.chat:
            return None
        while len(self._moves) > MOST_CHATS:
            del self._moves[next(iter(self._moves))]

        def take_back() -> None:
            self._moves.pop(key, None)
            if before is not None:
                self._moves[key] = before

        return _keep_move(event.instance, event.session, event.chat), take_back

    def make_home(self, instance: str, chat: str, now: float) -> Job:
        """A job that makes the chat its platform's home, which it is from now on."""
        self._homes[instance] = chat

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO homes (instance, chat, at) VALUES (?, ?, ?)"
                " ON CONFLICT (instance) DO UPDATE SET chat = excluded.chat, at = excluded.at",
                (instance, chat, now),
            )

        return job

    # --- naming --------------------------------------------------------------------------------------

    def chats(self) -> list[Chat]:
        """Every chat that is known by a name, by platform and name; one that has a new id under that."""
        here: dict[tuple[str, str], Chat] = {}
        for key, chat in self._chats.items():
            now = self._moves.get(key)
            if now is None:
                here[key] = chat
            else:
                here.setdefault((chat.instance, now), replace(chat, chat=now))
        return sorted(here.values(), key=lambda c: (c.instance, c.name.casefold(), c.chat))

    def home(self, instance: str) -> Target | None:
        """The platform's home."""
        chat = self._homes.get(instance)
        return None if chat is None else self._now(Target(instance, chat))

    def homes(self) -> list[Target]:
        """All homes, by platform."""
        return [self._now(Target(instance, chat)) for instance, chat in sorted(self._homes.items())]

    def resolve(self, target: Target, origin: Target | None = None) -> Target:
        """The target with its chat's id in place of a name. Raises `ConfigError`, which says what there is."""
        if target.instance == ORIGIN:
            if origin is None:
                raise ConfigError(
                    "`origin` is the chat that a message came from; nothing came from one here."
                )
            return origin
        if target.instance == HOME:
            return self._only_home()
        if target.chat == HOME:
            return replace(self._home_of(target.instance), thread=target.thread)
        if not target.chat.startswith(("#", "@")):
            return self._now(target)
        return self._named(target)

    def _now(self, target: Target) -> Target:
        now = self._moves.get((target.instance, target.chat))
        return target if now is None else replace(target, chat=now)

    def _only_home(self) -> Target:
        homes = self.homes()
        if len(homes) != 1:
            told = f"there are {_listed(homes)}: name one" if homes else _MAKE_ONE
            raise ConfigError(f"`home` is no single chat: {told}")
        return homes[0]

    def _home_of(self, instance: str) -> Target:
        found = self.home(instance)
        if found is None:
            raise ConfigError(f"{instance} has no home: {_MAKE_ONE}")
        return found

    def _named(self, target: Target) -> Target:
        wanted = target.chat.casefold()
        here = [c for c in self.chats() if c.instance == target.instance]
        found = [c for c in here if c.name.casefold() == wanted]
        if len(found) == 1:
            return replace(target, chat=found[0].chat)
        if found:
            twins = _listed([Target(c.instance, c.chat) for c in found])
            raise ConfigError(
                f"{target.instance} has {len(found)} chats {target.chat}: name one by its id: {twins}"
            )
        if wanted.startswith("@") and (_is_number(wanted[1:]) or self._names_itself(target.instance)):
            return target
        known = ", ".join(dict.fromkeys(c.name for c in here[:_SHOWN]))
        more = f" and {len(here) - _SHOWN} more (hermes send --list)" if len(here) > _SHOWN else ""
        raise ConfigError(
            f"{target.instance} has no chat {target.chat} that wrote to us; known are: {known or 'none'}{more}"
        )


_MAKE_ONE = "send /sethome in the chat that shall be it, or name a chat by its id"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _listed(targets: Sequence[Target]) -> str:
    return ", ".join(format_target(t) for t in targets)


def _keep_move(instance: str, chat: str, now: str) -> Job:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT OR REPLACE INTO moved_chats VALUES (?, ?, ?)", (instance, chat, now))
        connection.execute(
            "DELETE FROM moved_chats WHERE rowid IN"
            " (SELECT rowid FROM moved_chats ORDER BY rowid DESC LIMIT -1 OFFSET ?)",
            (MOST_CHATS,),
        )

    return job


def _keep(chat: Chat) -> Job:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO chats (instance, chat, name, kind, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (instance, chat)"
            " DO UPDATE SET name = excluded.name, kind = excluded.kind, at = excluded.at",
            (chat.instance, chat.chat, chat.name, chat.kind, chat.at),
        )
        connection.execute(
            "DELETE FROM chats WHERE (instance, chat) IN"
            " (SELECT instance, chat FROM chats ORDER BY at DESC LIMIT -1 OFFSET ?)",
            (MOST_CHATS,),
        )

    return job
