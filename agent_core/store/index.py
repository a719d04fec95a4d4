"""The full-text index over the message rows: writing past a damaged one, and building it anew.

Rows are the truth: a broken index costs the search, never a row (`search_state.broken`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from agent_core.store import faults
from agent_core.store.fold import FOLD_VERSION, fold
from hermes.store import Store

__all__ = ["check_index", "ensure_current", "guarded", "optimize", "rebuild"]

_CHUNK = 500


def guarded(connection: sqlite3.Connection, write: Callable[[], None]) -> None:
    """Run `write` (changes of message rows) so that a damaged index does not stop it.

    When the index refuses, it is marked broken and the rows are written without it.
    """
    connection.execute("SAVEPOINT indexed")
    try:
        write()
        # Opening a savepoint makes the index flush what it holds in memory: errors show here, not at COMMIT.
        connection.execute("SAVEPOINT flushed")
        connection.execute("RELEASE flushed")
    except sqlite3.DatabaseError as error:
        connection.execute("ROLLBACK TO indexed")
        if faults.classify(error) != "corrupt":
            connection.execute("RELEASE indexed")
            raise
        connection.execute("UPDATE search_state SET broken = 1")
        write()
    except BaseException:
        connection.execute("ROLLBACK TO indexed")
        connection.execute("RELEASE indexed")
        raise
    connection.execute("RELEASE indexed")


def check_index(connection: sqlite3.Connection) -> str | None:
    """A job: what is wrong with the index, `None` when it agrees with the rows."""
    if connection.execute("SELECT broken FROM search_state").fetchone()[0]:
        return "the index was found damaged and is not written any more"
    try:
        connection.execute("INSERT INTO messages_fts(messages_fts, rank) VALUES('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if faults.classify(error) != "corrupt":
            raise
        return f"the index does not agree with the rows ({error})"
    return None


def rebuild(connection: sqlite3.Connection) -> None:
    """A job: fold every row again and build the index from the rows."""
    connection.execute("UPDATE search_state SET broken = 1")  # the triggers rest while rows change
    last = 0
    while True:
        rows = connection.execute(
            "SELECT id, body, search_text FROM messages WHERE id > ? ORDER BY id LIMIT ?", (last, _CHUNK)
        ).fetchall()
        if not rows:
            break
        folded = [(fold(row["body"]), row["id"], row["search_text"]) for row in rows]
        changed = [(new, row_id) for new, row_id, old in folded if new != old]
        connection.executemany("UPDATE messages SET search_text = ? WHERE id = ?", changed)
        last = rows[-1]["id"]
    connection.execute("INSERT INTO messages_fts(messages_fts) VALUES('rebuild')")
    connection.execute("UPDATE search_state SET broken = 0, fold = ?", (FOLD_VERSION,))


def optimize(connection: sqlite3.Connection) -> None:
    """A job: merge the index into one segment, so that no deleted word stays in an older one."""
    if not connection.execute("SELECT broken FROM search_state").fetchone()[0]:
        connection.execute("INSERT INTO messages_fts(messages_fts) VALUES('optimize')")


async def ensure_current(store: Store) -> bool:
    """Rebuild an index that another version of the folding built; says whether it was so. Asked at start."""
    [row] = await store.read("SELECT fold FROM search_state")
    if row["fold"] == FOLD_VERSION:
        return False
    await store.write(rebuild)
    return True
