"""How the store's connections are opened: the PRAGMAs of the writer and of the readers."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

import aiosqlite

__all__ = ["connect_reader", "connect_writer", "ensure_private_file"]

_BUSY_TIMEOUT = 1.0
"""Seconds SQLite itself waits for a lock; the writer repeats on top of it, with jitter."""


def ensure_private_file(path: Path) -> None:
    """Create the file with mode 0600, or take a wider mode away; SQLite gives -wal and -shm the same mode."""
    # Never opened raw when it is there: closing a raw descriptor would drop the locks of every connection of
    # this process (https://www.sqlite.org/howtocorrupt.html, 2.2).
    try:
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return
    if mode & 0o077:
        path.chmod(0o600)


def connect_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes. Autocommit: every BEGIN is ours."""
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    try:
        _prepare_writer(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare_writer(connection: sqlite3.Connection) -> None:
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "cache_size=-8000"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    # What undoes a savepoint stays in memory: else each turn's third transaction spills it into a temporary
    # file (https://www.sqlite.org/tempfiles.html, 2.3).
    connection.execute("PRAGMA temp_store=MEMORY").fetchall()
    connection.execute("PRAGMA journal_size_limit=16777216").fetchall()
    if sys.platform == "darwin":  # there fsync does not reach the platter
        connection.execute("PRAGMA fullfsync=ON").fetchall()
        connection.execute("PRAGMA checkpoint_fullfsync=ON").fetchall()


async def connect_reader(path: Path) -> aiosqlite.Connection:
    """A connection that cannot write."""
    connection = await aiosqlite.connect(path, timeout=5.0, isolation_level=None)
    connection.row_factory = sqlite3.Row
    for pragma in ("query_only=ON", "cache_size=-4000"):
        await connection.execute_fetchall(f"PRAGMA {pragma}")
    return connection
