"""What is removed from the store, when, and so that nothing of it stays in the file."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from agent_core.store.database import SqliteStore
from agent_core.store.index import optimize
from agent_core.store.jsonl import transcript_path
from agent_core.store.migrate import backups
from hermes.store import Job

__all__ = ["Rules", "delete_session", "prune", "purge_session"]

_TURNS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Rules:
    """Days to keep. steps: of closed turns."""

    steps: float = 90.0


def prune(now: float, rules: Rules | None = None) -> Job:
    """Remove the steps of turns closed longer ago than the rules say; open turns keep theirs.

    Returns how many turns were pruned, at most 500 at once: ask again while it does.
    """
    before = now - (rules or Rules()).steps * 86_400

    def job(connection: sqlite3.Connection) -> int:
        turns = connection.execute(
            "SELECT id FROM turns WHERE state <> 'open' AND ended_at < ?"
            " AND EXISTS (SELECT 1 FROM steps WHERE turn_id = turns.id) ORDER BY ended_at LIMIT ?",
            (before, _TURNS_AT_ONCE),
        ).fetchall()
        connection.executemany("DELETE FROM steps WHERE turn_id = ?", [(row["id"],) for row in turns])
        return len(turns)

    return job


def delete_session(session_id: str) -> Job:
    """Remove a session's rows (messages, index, turns, steps, usage). Returns its agent's id, or `None`."""

    def job(connection: sqlite3.Connection) -> str | None:
        found = connection.execute("SELECT agent_id FROM sessions WHERE id = ?", (session_id,)).fetchone()
        if found is None:
            return None
        connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
        agent_id: str = found["agent_id"]
        return agent_id

    return job


async def purge_session(store: SqliteStore, home: Path, session_id: str, *others: Job) -> list[Path] | None:
    """Delete a session: its words stay in the backups only, which are returned; `None`: no such session.

    `others`: jobs of the same transaction (the gateway's rows of the session). The index is merged and the
    file written anew: secure_delete alone leaves copies on pages whose rows were moved. Raises
    `StoreUnavailable` when there is no room for that: the session is deleted then, its words may remain.
    """
    [agent_id, *_] = await store.write(delete_session(session_id), *others, optimize)
    if agent_id is None:
        return None
    await store.compact()
    return await asyncio.to_thread(
        _remove_transcript, store.path, transcript_path(home, agent_id, session_id)
    )


def _remove_transcript(database: Path, transcript: Path) -> list[Path]:
    transcript.unlink(missing_ok=True)
    return backups(database)
