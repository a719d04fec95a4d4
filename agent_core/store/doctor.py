"""Looks for damage in the store and mends what rows or transcripts can mend.

`check` reads beside a running daemon. `mend_index` wants the file for itself: a rebuild beside another
process makes damage worse.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_core.store import faults, index
from agent_core.store.behind import transcript_lines
from agent_core.store.connection import connect_writer
from agent_core.store.database import SqliteStore
from agent_core.store.jsonl import read_lines, transcript_path
from agent_core.store.replacement import replace_file
from agent_core.store.rows import dump
from agent_core.store.session_list import write_session_index
from agent_core.store.transcript import append_messages
from hermes.errors import StoreError, StoreUnavailable
from hermes.messages import JSONObject, Message
from hermes.store import Job, Store

__all__ = ["Finding", "check", "mend_index", "mend_transcripts"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result. `detail` is a sentence; `fixable`: mending can put it right."""

    name: str
    ok: bool
    detail: str
    fixable: bool = False


async def check(store: Store, home: Path) -> list[Finding]:
    """Every check, in order: file, index, orphans, transcripts. Never raises for damage; it is a finding."""
    return [
        await _guarded("file", _check_file(store)),
        await _guarded("index", _check_index(store)),
        await _guarded("orphans", _check_orphans(store)),
        await _guarded("transcripts", _check_transcripts(store, home)),
    ]


async def _guarded(name: str, finding: Awaitable[Finding]) -> Finding:
    try:
        return await finding
    except (StoreError, OSError) as error:
        return Finding(name, ok=False, detail=str(error))


async def _check_file(store: Store) -> Finding:
    rows = await store.read("PRAGMA quick_check(10)")
    said = "; ".join(str(row[0]) for row in rows)
    return Finding(
        "file", ok=said == "ok", detail="state.db is sound." if said == "ok" else f"state.db: {said}."
    )


async def _check_index(store: Store) -> Finding:
    [wrong] = await store.write(index.check_index)
    if wrong is None:
        return Finding("index", ok=True, detail="The search index agrees with the rows.")
    return Finding("index", ok=False, detail=f"Search: {wrong}.", fixable=True)


async def _check_orphans(store: Store) -> Finding:
    rows = await store.read("PRAGMA foreign_key_check")
    if not rows:
        return Finding("orphans", ok=True, detail="No row lacks the row it belongs to.")
    tables = ", ".join(sorted({row["table"] for row in rows}))
    return Finding("orphans", ok=False, detail=f"{len(rows)} rows lack the row they belong to (in {tables}).")


async def _check_transcripts(store: Store, home: Path) -> Finding:
    bad = await _differing(store, home)
    if not bad:
        return Finding("transcripts", ok=True, detail="Every transcript agrees with its rows.")
    named = ", ".join(sorted(bad)[:5]) + (", ..." if len(bad) > 5 else "")
    detail = f"{len(bad)} transcripts do not agree with the rows: {named}."
    return Finding("transcripts", ok=False, detail=detail, fixable=True)


async def _differing(store: Store, home: Path) -> dict[str, str]:
    """Session id -> agent id of every session whose transcript holds other message ids than the rows."""
    listed = await store.read("SELECT id, agent_id FROM sessions")
    bad: dict[str, str] = {}
    for session in listed:
        rows = await store.read("SELECT id FROM messages WHERE session_id = ? ORDER BY id", (session["id"],))
        path = transcript_path(home, session["agent_id"], session["id"])
        if await asyncio.to_thread(_ids, path) != [row["id"] for row in rows]:
            bad[session["id"]] = session["agent_id"]
    return bad


def _ids(path: Path) -> list[int | None]:
    """Message ids of a transcript in order; `None` for a line that cannot be read."""
    if not path.exists():
        return []
    return [None if line is None else line["id"] for line in read_lines(path) if line is None or "id" in line]


def mend_index(path: Path) -> Finding:
    """Build the search index anew from the rows; blocks. The store must not be open, here or elsewhere.

    Raises `StoreUnavailable` when another program has the file open, `StoreCorrupt` for damaged rows.
    """
    try:
        with _alone(path) as connection:
            if not _rebuild(connection):
                _transact(connection, index.forget)
        with _alone(path) as connection:
            if (
                connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages_fts'").fetchone()
                is None
            ):
                _transact(connection, index.declare, index.rebuild)
                connection.execute("VACUUM")
            wrong = index.check_index(connection)
    except sqlite3.Error as error:
        raise faults.translate(error) from error
    detail = (
        "The search index was built anew." if wrong is None else f"Search: {wrong}, even after a rebuild."
    )
    return Finding("index", ok=wrong is None, detail=detail)


@contextmanager
def _alone(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that is the only one. Leaving WAL shows it: SQLite refuses while any other is open."""
    connection = connect_writer(path)
    try:
        try:
            [mode] = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.OperationalError as error:
            if faults.classify(error) != "busy":
                raise
            mode = "wal"
        if mode == "wal":
            raise StoreUnavailable("Another program has the store open: stop the daemon first, then mend.")
        yield connection
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
    finally:
        connection.close()


def _rebuild(connection: sqlite3.Connection) -> bool:
    """Rebuild in place; says whether the index could be opened for it."""
    try:
        _transact(connection, index.rebuild)
    except sqlite3.DatabaseError as error:
        if faults.classify(error) != "corrupt":
            raise
        return False
    return True


def _transact(connection: sqlite3.Connection, *jobs: Job) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for job in jobs:
            job(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


async def mend_transcripts(store: SqliteStore, home: Path) -> list[Finding]:
    """Rows of sessions without any come back from their transcripts; the rest is written anew from rows.

    The rest: every transcript that differs, and each `sessions.json`. Raises `OSError`, `StoreError`.
    """
    found = [await _restore(store, s, a, home) for s, a in (await _differing(store, home)).items()]
    bad = await _differing(store, home)
    for session_id, agent_id in bad.items():
        await _rewrite(store, transcript_path(home, agent_id, session_id), session_id)
    agents = {row["agent_id"] for row in await store.read("SELECT DISTINCT agent_id FROM sessions")}
    await write_session_index(store, home, agents)
    done = Finding("transcripts", ok=True, detail=f"{len(bad)} transcripts were written anew from the rows.")
    return [*(f for f in found if f is not None), done]


async def _restore(store: SqliteStore, session_id: str, agent_id: str, home: Path) -> Finding | None:
    [row] = await store.read("SELECT count(*) AS n FROM messages WHERE session_id = ?", (session_id,))
    path = transcript_path(home, agent_id, session_id)
    if row["n"] or not await asyncio.to_thread(path.exists):
        return None
    lines = await asyncio.to_thread(lambda: [line for line in read_lines(path) if line is not None])
    await store.write(lambda connection: _insert(connection, session_id, lines))
    return Finding("rows", ok=True, detail=f"Session {session_id}: its rows came back from its transcript.")


def _insert(connection: sqlite3.Connection, session_id: str, lines: Sequence[JSONObject]) -> None:
    connection.execute("UPDATE sessions SET message_count = 0 WHERE id = ?", (session_id,))
    for line in lines:
        if "role" in line:
            message = Message.from_json(line)
            append_messages(session_id, line.get("turn"), [message], message.at)(connection)
    for line in lines:
        if line.get("type") == "undone":
            hidden = connection.execute(
                "UPDATE messages SET hidden = 1 WHERE session_id = ? AND turn_id = ?",
                (session_id, line.get("turn")),
            )
            connection.execute(
                "UPDATE sessions SET message_count = message_count - ? WHERE id = ?",
                (hidden.rowcount, session_id),
            )


async def _rewrite(store: Store, path: Path, session_id: str) -> None:
    lines: list[str] = []
    last = 0
    while page := await transcript_lines(store, session_id, last):
        lines += [line for _, line in page]
        last = page[-1][0]
    undone = await store.read(
        "SELECT id FROM turns WHERE session_id = ? AND undone = 1 ORDER BY begun_at", (session_id,)
    )
    lines += [dump({"type": "undone", "turn": row["id"]}) for row in undone]
    await asyncio.to_thread(replace_file, path, "".join(f"{line}\n" for line in lines))
