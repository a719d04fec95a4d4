"""What a session remembers beside its messages: the tools' own state, and what its user was told once."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from hermes.messages import scrub_surrogates
from hermes.store import Job, Store

__all__ = ["LARGEST", "SessionState", "drop_state", "load_state", "save_state"]

LARGEST = 256_000
"""Characters of JSON; more is not kept over a restart."""


@dataclass(slots=True)
class SessionState:
    """tools: `ToolContext.state`. cut_told: the user knows that the model no longer sees everything.

    substitute: the model that the user knows to answer in place of the wanted one; "" for none.
    """

    tools: dict[str, Any] = field(default_factory=dict)
    cut_told: bool = False
    substitute: str = ""
    _saved: str = ""
    _written: str = ""

    def dump(self) -> str:
        """The state as JSON; "" when there is nothing."""
        if not self.tools and not self.cut_told and not self.substitute:
            return ""
        kept: dict[str, Any] = {"tools": self.tools, "cut_told": self.cut_told}
        if self.substitute:
            kept["substitute"] = self.substitute
        return scrub_surrogates(json.dumps(kept, ensure_ascii=False, default=str))

    def saved(self) -> None:
        """What was written last is durable."""
        self._saved = self._written or self._saved


def _key(session_id: str) -> str:
    return f"session_state:{session_id}"


def save_state(session_id: str, state: SessionState) -> tuple[Job, ...]:
    """A job that keeps the state, or nothing when it has not changed."""
    text = state.dump()
    if text == state._saved or len(text) > LARGEST:  # noqa: SLF001  two halves of one thing
        return ()
    state._written = text  # noqa: SLF001

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO kv(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (_key(session_id), text),
        )

    return (job,)


def drop_state(session_id: str) -> Job:
    """A job that forgets the state."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM kv WHERE key = ?", (_key(session_id),))

    return job


async def load_state(store: Store, session_id: str) -> SessionState:
    """The stored state, empty when there is none. Raises `StoreCorrupt`, `StoreUnavailable`."""
    rows = await store.read("SELECT value FROM kv WHERE key = ?", (_key(session_id),))
    if not rows or not rows[0]["value"]:
        return SessionState()
    text: str = rows[0]["value"]
    found = json.loads(text)
    return SessionState(
        dict(found.get("tools", {})),
        bool(found.get("cut_told")),
        str(found.get("substitute", "")),
        _saved=text,
        _written=text,
    )
