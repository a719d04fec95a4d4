"""Session rows: which run of a key is the current one, titles, lists."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Literal

from hermes.agent import SessionInfo, SessionSpec
from hermes.messages import scrub_surrogates
from hermes.store import Job, Store

__all__ = [
    "SessionRow",
    "TitledBy",
    "close_session",
    "current_session",
    "ensure_session",
    "improve_title",
    "list_sessions",
    "rename",
    "resume_session",
    "retitle",
    "save_prompt",
]

_MAX_TITLE = 100

TitledBy = Literal["", "words", "model", "person"]
"""Who gave a session its title: its first words, a model, a person; "" where there is none, or nobody noted it."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session's identity and what must stay byte-stable through it. A `None` snapshot is not saved yet."""

    session_id: str
    agent_id: str
    title: str
    started_at: float
    prompt_snapshot: str | None
    model: str | None
    messages: int
    titled: TitledBy = ""


def ensure_session(spec: SessionSpec, session_id: str, at: float) -> Job:
    """Create the session's row unless it is there; it becomes the key's current run.

    Raises `sqlite3.IntegrityError` when the key has another current run: close that first.
    """

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO sessions"
            " (id, key, agent_id, platform, instance, kind, chat, thread, started_at, last_at)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(id) DO UPDATE SET last_at = max(last_at, excluded.last_at)",
            (
                *(session_id, spec.key, spec.agent_id, spec.platform, spec.instance),
                *(spec.kind, spec.chat, spec.thread, at, at),
            ),
        )

    return job


def save_prompt(session_id: str, snapshot: str, model: str | None) -> Job:
    """Keep the system prompt (byte-stable through the session) and the model's name."""
    text = scrub_surrogates(snapshot)

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE sessions SET prompt_snapshot = ?, model = ? WHERE id = ?", (text, model, session_id)
        )

    return job


def close_session(session_key: str, at: float) -> Job:
    """Close the key's current run; returns its id, or `None` when there is none."""

    def job(connection: sqlite3.Connection) -> str | None:
        rows = connection.execute(
            "UPDATE sessions SET closed_at = ? WHERE key = ? AND closed_at IS NULL RETURNING id",
            (at, session_key),
        ).fetchall()
        return rows[0]["id"] if rows else None

    return job


def resume_session(session_key: str, session_id: str, at: float) -> Job:
    """Make an earlier run the key's current one. Raises `LookupError` when it is not one of this key's."""

    def job(connection: sqlite3.Connection) -> None:
        found = connection.execute(
            "SELECT 1 FROM sessions WHERE id = ? AND key = ?", (session_id, session_key)
        ).fetchone()
        if found is None:
            raise LookupError(f"There is no session {session_id} in this conversation.")
        connection.execute(
            "UPDATE sessions SET closed_at = ? WHERE key = ? AND closed_at IS NULL AND id <> ?",
            (at, session_key, session_id),
        )
        connection.execute(
            "UPDATE sessions SET closed_at = NULL, last_at = max(last_at, ?) WHERE id = ?", (at, session_id)
        )

    return job


def retitle(session_key: str, title: str, by: TitledBy = "person") -> Job:
    """Name the key's current run; returns the title it got ("name #2" when another session has the name).

    Raises `LookupError` when the key has no current run, `ValueError` for an empty title.
    """
    wanted = _wanted(title)

    def job(connection: sqlite3.Connection) -> str:
        row = connection.execute(
            "SELECT id FROM sessions WHERE key = ? AND closed_at IS NULL", (session_key,)
        ).fetchone()
        if row is None:
            raise LookupError("There is no session to name yet: write a message first.")
        return _entitle(connection, row["id"], wanted, by)

    return job


def rename(session_id: str, title: str) -> Job:
    """Name a session by its id; returns the title it got. Raises as `retitle` does."""
    wanted = _wanted(title)

    def job(connection: sqlite3.Connection) -> str:
        if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
            raise LookupError(f"There is no session {session_id}.")
        return _entitle(connection, session_id, wanted, "person")

    return job


def improve_title(session_id: str, title: str) -> Job:
    """Put a model's title in the place of a session's first words.

    Returns the title it got; `None` when the session is gone or was named otherwise meanwhile, which stays then.
    Raises `ValueError` for an empty title.
    """
    wanted = _wanted(title)

    def job(connection: sqlite3.Connection) -> str | None:
        found = connection.execute(
            "SELECT 1 FROM sessions WHERE id = ? AND titled = 'words'", (session_id,)
        ).fetchone()
        return None if found is None else _entitle(connection, session_id, wanted, "model")

    return job


def _wanted(title: str) -> str:
    wanted = " ".join(scrub_surrogates(title).split())[:_MAX_TITLE].rstrip()
    if not wanted:
        raise ValueError("A title needs at least one character.")
    return wanted


def _entitle(connection: sqlite3.Connection, session_id: str, wanted: str, by: TitledBy) -> str:
    free = _free_title(connection, wanted, session_id)
    connection.execute("UPDATE sessions SET title = ?, titled = ? WHERE id = ?", (free, by, session_id))
    return free


def _free_title(connection: sqlite3.Connection, wanted: str, session_id: str) -> str:
    """`wanted`, else "wanted #2" and so on.

    A model names thousands of conversations "Greeting": the end of such a row is looked for by halves.
    """

    def is_free(number: int) -> bool:
        sql = "SELECT 1 FROM sessions WHERE title = ? AND title <> '' AND id <> ?"
        title = wanted if number == 1 else f"{wanted} #{number}"
        return connection.execute(sql, (title, session_id)).fetchone() is None

    if is_free(1):
        return wanted
    [(own,)] = connection.execute("SELECT title FROM sessions WHERE id = ?", (session_id,))
    name, _, number = own.rpartition(" #")
    if name == wanted and number.isdecimal():
        return str(own)
    taken, free = 1, 2
    while not is_free(free):
        taken, free = free, 2 * free
    while free - taken > 1:
        middle = (taken + free) // 2
        taken, free = (taken, middle) if is_free(middle) else (middle, free)
    return f"{wanted} #{free}"


async def current_session(store: Store, session_key: str) -> SessionRow | None:
    """The key's current run, `None` when it has none. Raises `StoreCorrupt`, `StoreUnavailable`."""
    rows = await store.read(
        "SELECT id, agent_id, title, started_at, prompt_snapshot, model, message_count, titled"
        " FROM sessions WHERE key = ? AND closed_at IS NULL",
        (session_key,),
    )
    return SessionRow(*rows[0]) if rows else None


async def list_sessions(store: Store, session_key: str | None = None, limit: int = 20) -> list[SessionInfo]:
    """Stored sessions, newest first; of one key, or all."""
    where, parameters = ("", ()) if session_key is None else (" WHERE key = ?", (session_key,))
    rows = await store.read(
        "SELECT id, key, agent_id, title, started_at, last_at, message_count, closed_at IS NOT NULL"  # noqa: S608  ours
        f" FROM sessions{where} ORDER BY last_at DESC, started_at DESC LIMIT ?",
        (*parameters, limit),
    )
    return [_info(row) for row in rows]


def _info(row: sqlite3.Row) -> SessionInfo:
    *rest, closed = row
    session_id, key, agent_id, title, started_at, last_at, messages = rest
    return SessionInfo(session_id, key, agent_id, title, started_at, last_at, messages, bool(closed))
