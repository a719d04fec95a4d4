"""Who writes in a storm: people in chats, programs that ask the API, systems that call webhooks."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.wire import Wire, api_turn, hook
from tests.peers.town import Street

__all__ = ["HOOK_CHATS", "Person", "Program", "System", "Writer"]

HOOK_CHATS = 900
"""Chats from this number on get what webhooks deliver."""


class Writer(Protocol):
    """One who writes in one conversation. at_once: messages before an answer. troubles: what may happen to a message.

    Beside those of `tests.peers.town`: again (it is told twice), line (the connection by which messages come in
    breaks), left (the caller hangs up, and calls once more).
    """

    name: str
    deduplicates: bool
    troubles: Sequence[str]
    at_once: int

    async def say(self, text: str, trouble: str | None) -> None:
        """Write."""
        ...

    def shown(self) -> list[str]:
        """What came back, in order."""
        ...


class Person:
    """Somebody in a direct chat."""

    def __init__(self, street: Street, chat: int, dice: random.Random, *, slow_retries: bool) -> None:
        self._street = street
        self._chat = chat
        self._dice = dice
        self.name = street.name
        self.deduplicates = street.deduplicates
        # Mails of one second come into a mailbox in any order.
        self.at_once = 1 if street.name == "email" else 3
        self.troubles: Sequence[str] = (*_sending(street, slow_retries=slow_retries), "again", "line")

    async def say(self, text: str, trouble: str | None) -> None:
        """See `Writer.say`."""
        _plan(self._street, trouble, self._chat)
        if trouble == "line":
            await self._street.shake(self._dice)
        again = await self._street.say(self._chat, text)
        if trouble == "again":
            await again()

    def shown(self) -> list[str]:
        """See `Writer.shown`."""
        return self._street.shown(self._chat)


@dataclass(eq=False)
class System:
    """One that calls the webhook of its own route; the answers go to a chat."""

    wire: Wire
    street: Street
    slow_retries: bool
    name: str = "webhook"
    at_once: int = 3

    def __post_init__(self) -> None:
        self.deduplicates = self.street.deduplicates
        self.troubles: Sequence[str] = (
            *_sending(self.street, slow_retries=self.slow_retries),
            "again",
            "left",
        )

    async def say(self, text: str, trouble: str | None) -> None:
        """See `Writer.say`."""
        _plan(self.street, trouble, HOOK_CHATS)
        request = hook(f"/webhooks/{self.street.name}", text)
        if trouble == "left":
            await self.wire.leave(request)
        for _ in range(2 if trouble == "again" else 1):
            status, body = await self.wire.ask(request)
            if status not in (200, 202):
                raise RuntimeError(f"the webhook answered {status}: {body[:300]!r}")

    def shown(self) -> list[str]:
        """See `Writer.shown`."""
        return self.street.shown(HOOK_CHATS)


@dataclass(eq=False)
class Program:
    """One that asks the API, in a session."""

    wire: Wire
    session: str
    name: str = "api"
    at_once: int = 3
    deduplicates: bool = True
    troubles: Sequence[str] = ("again", "left")
    _answers: list[str] = field(default_factory=list)

    async def say(self, text: str, trouble: str | None) -> None:
        """See `Writer.say`. Two requests with one key have one answer."""
        request = api_turn(text, self.session, key=text.split(maxsplit=1)[0])
        if trouble == "left":
            await self.wire.leave(request)
        found = [await self.wire.ask(request) for _ in range(2 if trouble == "again" else 1)]
        self._answers += dict.fromkeys(_told(status, body) for status, body in found)

    def shown(self) -> list[str]:
        """See `Writer.shown`."""
        return self._answers


def _told(status: int, body: bytes) -> str:
    """The answer with its number, or what was said in its place."""
    if status != 200:
        return f"{status}: {body.decode()}"
    answer = json.loads(body)
    return f"{answer['id']} {answer['choices'][0]['message']['content']}"


def _sending(street: Street, *, slow_retries: bool) -> Sequence[str]:
    """E-mail that is put off is tried again after a quarter of a minute, which a short run has no time for."""
    return [t for t in street.troubles if slow_retries or (street.name, t) != ("email", "error")]


def _plan(street: Street, trouble: str | None, chat: int) -> None:
    for known in street.troubles:
        if known == trouble:
            street.plan(known, chat)
