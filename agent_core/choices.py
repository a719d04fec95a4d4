"""The model that somebody chose for a conversation with `/model`; kept by session key, over fresh starts of the conversation."""

from __future__ import annotations

import sqlite3

from hermes.store import Job, Store

__all__ = ["choose_model", "chosen_model"]


def _key(session_key: str) -> str:
    return f"model_choice:{session_key}"


def choose_model(session_key: str, name: str | None) -> Job:
    """A job that keeps the choice; `None` takes it back."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM kv WHERE key = ?", (_key(session_key),))
        if name is not None:
            connection.execute("INSERT INTO kv (key, value) VALUES (?, ?)", (_key(session_key), name))

    return job


async def chosen_model(store: Store, session_key: str) -> str | None:
    """The choice, `None` when there is none."""
    rows = await store.read("SELECT value FROM kv WHERE key = ?", (_key(session_key),))
    return rows[0]["value"] if rows else None
