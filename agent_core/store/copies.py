"""Copies of the database: made while it is written to, looked at, and made fit to go on from.

Everything here blocks. Source: https://www.sqlite.org/c3ref/backup_finish.html (a copy begins anew when another
connection writes, unless its own connection holds a snapshot).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from agent_core.store.migrate import APPLICATION_ID
from agent_core.store.replacement import sync_file
from hermes.errors import HomeError, StoreUnavailable
from hermes.store import Job

__all__ = ["close_turns", "copy_online", "counts", "look_at_copy", "sessions_in"]

_PAGES = 256
"""Pages of one step: a megabyte, after which others have their turn."""
_PAUSE = 0.002
_COUNTED = {
    "sessions": "SELECT count(*) FROM sessions",
    "messages": "SELECT count(*) FROM messages",
    "turns": "SELECT count(*) FROM turns",
}


def copy_online(source: Path, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
    """Copy the database as it is at one instant to the new file `target`, 0600, on disk when this returns.

    Others read and write meanwhile; the WAL grows by what they write. `progress` is told of pages done and of all.
    Raises `FileExistsError`, `OSError`, `StoreUnavailable`.
    """
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def step(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    try:
        with closing(sqlite3.connect(_address(source, "mode=ro"), uri=True, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchone()  # from here on one snapshot
            with closing(sqlite3.connect(target, isolation_level=None)) as copy:
                reader.backup(copy, pages=_PAGES, progress=step, sleep=_PAUSE)
                # One file that needs no -wal beside it.
                copy.execute("PRAGMA journal_mode=DELETE").fetchall()
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{source} could not be copied: {error}.") from error
    sync_file(target)


def _address(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?{mode}"


def look_at_copy(path: Path) -> dict[str, int]:
    """The schema versions in a copy that nobody has open; nothing is written beside it.

    Raises `HomeError` when it is not ours, or damaged.
    """
    try:
        with closing(sqlite3.connect(_address(path, "immutable=1"), uri=True)) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise HomeError(f"{path} is no database of Hermes.")
            [said] = connection.execute("PRAGMA quick_check(1)").fetchone()
            if said != "ok":
                raise HomeError(f"{path} is damaged: {said}.")
            return dict(connection.execute("SELECT part, version FROM schema_version").fetchall())
    except sqlite3.DatabaseError as error:
        raise HomeError(f"{path} is no database that can be read: {error}.") from error


def counts(path: Path) -> Mapping[str, int]:
    """How many sessions, messages and turns a database holds, of any version; nobody may write to it meanwhile.

    Empty for one that cannot be read.
    """
    try:
        with closing(sqlite3.connect(_address(path, "mode=ro"), uri=True)) as connection:
            return {name: connection.execute(sql).fetchone()[0] for name, sql in _COUNTED.items()}
    except sqlite3.DatabaseError:
        return {}


def sessions_in(path: Path) -> set[tuple[str, str]]:
    """Agent and id of every session. Raises `sqlite3.Error`."""
    with closing(sqlite3.connect(_address(path, "mode=ro"), uri=True)) as connection:
        return {(agent, name) for agent, name in connection.execute("SELECT agent_id, id FROM sessions")}


def close_turns(why: str, now: float) -> Job:
    """A job that ends every open turn as stopped; its result is how many there were."""

    def job(connection: sqlite3.Connection) -> int:
        ended = connection.execute(
            "UPDATE turns SET state = 'stopped', ended_at = ?, error = ? WHERE state = 'open'", (now, why)
        )
        return ended.rowcount

    return job
