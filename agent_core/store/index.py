"""The full-text index over the message rows: writing past a damaged one, and building it anew.

Rows are the truth: a broken index costs the search, never a row (`search_state.broken`).
"""

from __future__ import annotations

import sqlite3

from agent_core.store import faults
from agent_core.store.fold import FOLD_VERSION, fold
from agent_core.store.migrate import split_statements
from agent_core.store.schema import INDEX
from hermes.store import Store

__all__ = ["check_index", "declare", "ensure_current", "forget", "optimize", "rebuild", "set_aside"]

_CHUNK = 500
_TRIGGERS = ("messages_indexed", "messages_removed", "messages_reworded")


def set_aside(connection: sqlite3.Connection) -> bool:
    """A job: stop writing the index, for it is damaged; says whether it was written until now.

    The writer runs it when a write meets damage, and tries the write again: rows are kept, only search waits.
    Without its triggers the index is not even opened, which alone can fail.
    """
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_state'").fetchone() is None:
        return False
    _drop_triggers(connection)
    return connection.execute("UPDATE search_state SET broken = 1 WHERE broken = 0").rowcount > 0


def _drop_triggers(connection: sqlite3.Connection) -> None:
    for trigger in _TRIGGERS:
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")


def _declare(connection: sqlite3.Connection, kind: str) -> None:
    for statement in split_statements(INDEX):
        if f"CREATE {kind} " in statement:
            connection.execute(statement)


def check_index(connection: sqlite3.Connection) -> str | None:
    """A job: what is wrong with the index, `None` when it agrees with the rows."""
    if connection.execute("SELECT broken FROM search_state").fetchone()[0]:
        return "the index was found damaged and is not written any more"
    try:
        connection.execute("INSERT INTO messages_fts(messages_fts, rank) VALUES('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if faults.classify(error) != "corrupt" or not connection.in_transaction:
            raise
        return f"the index does not agree with the rows ({error})"
    return None


def rebuild(connection: sqlite3.Connection) -> None:
    """A job: fold every row again and build the index from the rows."""
    _drop_triggers(connection)
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
    _declare(connection, "TRIGGER")
    connection.execute("UPDATE search_state SET broken = 0, fold = ?", (FOLD_VERSION,))


def forget(connection: sqlite3.Connection) -> None:
    """A job: take the index out of the schema where even opening or dropping it fails.

    Its pages are lost until the next VACUUM; `declare` and `rebuild` follow on a new connection.
    """
    set_aside(connection)
    version = connection.execute("PRAGMA schema_version").fetchone()[0]
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute(
        "DELETE FROM sqlite_master"
        " WHERE tbl_name = 'messages_fts' OR substr(tbl_name, 1, 13) = 'messages_fts_'"
    )
    connection.execute("PRAGMA writable_schema=OFF")
    connection.execute(f"PRAGMA schema_version={version + 1}")


def declare(connection: sqlite3.Connection) -> None:
    """A job: make the empty index that `forget` took away."""
    _declare(connection, "VIRTUAL TABLE")


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
