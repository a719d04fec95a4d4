"""Groups that became supergroups: the chat gets a new id, and its conversations go on. Pure.

Source: https://core.telegram.org/bots/api#message (migrate_to_chat_id, migrate_from_chat_id). What is written to the old id
is sent to the new one by `sending.remedy`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from hermes.events import Event, Parsed

__all__ = ["Moves"]

_MOST = 1000
"""Groups that are remembered."""


class Moves:
    """The first id of each group that moved, by its id now."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._first: dict[str, str] = dict(known or {})

    @classmethod
    def from_text(cls, text: str | None) -> Self:
        """The inverse of `to_text`; nothing is known from anything else."""
        try:
            known = json.loads(text or "{}")
        except (ValueError, RecursionError):
            return cls()
        return cls({str(now): str(first) for now, first in known.items()} if isinstance(known, dict) else {})

    def to_text(self) -> str:
        """As it is stored."""
        return json.dumps(self._first, separators=(",", ":"))

    def learn(self, updates: Sequence[Any]) -> bool:
        """Take in what the updates tell of moves; whether they tell of any."""
        told = [move for move in map(_move, updates) if move is not None]
        for first, now in told:
            self._first[now] = first
        while len(self._first) > _MOST:
            del self._first[next(iter(self._first))]
        return bool(told)

    def placed(self, item: Parsed) -> Parsed:
        """A message in a group that moved as one of the conversation that it had before."""
        if not isinstance(item, Event) or item.chat not in self._first:
            return item
        return replace(item, session=self._first[item.chat])


def _move(update: object) -> tuple[str, str] | None:
    """The old and the new id."""
    message = update.get("message") if isinstance(update, Mapping) else None
    chat = message.get("chat") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(chat, Mapping):
        return None
    here, to, origin = (
        chat.get("id"),
        message.get("migrate_to_chat_id"),
        message.get("migrate_from_chat_id"),
    )
    first, now = (origin, here) if to is None else (here, to)
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in (first, now)):
        return None
    return str(first), str(now)
