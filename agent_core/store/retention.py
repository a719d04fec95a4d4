"""What is removed from the store by itself, and when."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from hermes.store import Job

__all__ = ["Rules", "prune"]

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
