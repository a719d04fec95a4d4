"""Forgetting a conversation, so that nothing of it stays in any file but the copies."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_core.choices import choose_model
from agent_core.state import drop_state
from agent_core.store.database import SqliteStore
from agent_core.store.files import forget_captions, of_session
from agent_core.store.index import optimize
from agent_core.store.jsonl import transcript_path
from agent_core.store.migrate import backups
from agent_core.store.session_list import write_session_index
from hermes.errors import HermesError
from hermes.home import Home
from hermes.store import Job

__all__ = ["Companion", "Forgotten", "forget_session", "forget_sessions"]

_SPILL = re.compile(r"spill:([a-z0-9_-]{1,40}-[0-9a-f]{16}\.txt)")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A conversation whose rows are gone. Times in epoch seconds; `until` is when it ended, or when it was forgotten.

    turns: the ids of its turns. spills: the files that hold whole results of its tools. files: digests of what came with
    its messages.
    """

    session_id: str
    key: str
    agent_id: str
    since: float
    until: float
    turns: tuple[str, ...]
    spills: tuple[str, ...]
    files: tuple[str, ...] = ()


Companion = Callable[[Forgotten], Job]
"""What else is forgotten in the same transaction, such as the gateway's rows of it."""


def forget_session(session_id: str, now: float, others: Sequence[Companion] = ()) -> Job:
    """A job that removes a session's rows: messages, index, turns, steps, usage, state. Its result is a `Forgotten`.

    Raises `HermesError` when there is no such session, or a turn of it is under way: nothing is removed then.
    """

    def job(connection: sqlite3.Connection) -> Forgotten:
        row = connection.execute(
            "SELECT key, agent_id, started_at, coalesce(closed_at, ?) AS until FROM sessions WHERE id = ?",
            (now, session_id),
        ).fetchone()
        if row is None:
            raise HermesError(f"There is no session {session_id}; `hermes sessions list` shows them.")
        turns = connection.execute(
            "SELECT id, state FROM turns WHERE session_id = ?", (session_id,)
        ).fetchall()
        if any(turn["state"] == "open" for turn in turns):
            raise HermesError(f"A turn of {session_id} is under way; send /stop there, or wait for its end.")
        found = Forgotten(
            session_id,
            row["key"],
            row["agent_id"],
            row["started_at"],
            row["until"],
            tuple(turn["id"] for turn in turns),
            _spills(connection, session_id),
            of_session(connection, session_id),
        )
        connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
        rest = connection.execute("SELECT 1 FROM sessions WHERE key = ? LIMIT 1", (found.key,)).fetchone()
        choice = () if rest else (choose_model(found.key, None),)
        described = forget_captions(found.files, also_named=False)
        for part in (described, drop_state(session_id), *choice, *(other(found) for other in others)):
            part(connection)
        return found

    return job


def _spills(connection: sqlite3.Connection, session_id: str) -> tuple[str, ...]:
    named: set[str] = set()
    for sql in (
        "SELECT body FROM messages WHERE session_id = ? AND role = 'tool'",
        "SELECT content FROM steps WHERE kind = 'result' AND turn_id IN (SELECT id FROM turns WHERE session_id = ?)",
    ):
        for (text,) in connection.execute(sql, (session_id,)):
            named.update(_SPILL.findall(text))
    return tuple(sorted(named))


async def forget_sessions(
    store: SqliteStore, home: Home, sessions: Sequence[str], now: float, others: Sequence[Companion] = ()
) -> tuple[list[Forgotten], list[Path]]:
    """Forget all of them or none; what was forgotten, and the copies of the database that still hold it.

    The index is merged and the file written anew: secure_delete alone leaves copies on pages whose rows were moved.
    Raises `HermesError` as `forget_session` does; `StoreUnavailable` when there is no room to write the file anew: the
    sessions are gone then, their words may remain.
    """
    jobs = [forget_session(session_id, now, others) for session_id in sessions]
    *found, _ = await store.write(*jobs, optimize)
    await asyncio.to_thread(_remove_files, home, found)
    await write_session_index(store, home.root, {gone.agent_id for gone in found})
    await store.compact()
    return found, await asyncio.to_thread(backups, store.path)


def _remove_files(home: Home, found: Sequence[Forgotten]) -> None:
    for gone in found:
        transcript_path(home.root, gone.agent_id, gone.session_id).unlink(missing_ok=True)
        for spill in gone.spills:
            (home.spills / spill).unlink(missing_ok=True)
