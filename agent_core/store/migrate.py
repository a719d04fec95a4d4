"""Brings a file to the schema of this program: ownership, versions, a copy before an upgrade, numbered steps.

Every step runs statement by statement inside one explicit transaction with its version row, so that a kill
leaves either the old schema or the new one (`executescript` would commit by itself).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agent_core.store.replacement import sync_file
from hermes.errors import HomeError, StoreTooNew
from hermes.store import SchemaPart

__all__ = ["APPLICATION_ID", "backups", "check_ownership", "migrate", "split_statements"]

APPLICATION_ID = 0x48524D53
"""`HRMS`: what `PRAGMA application_id` says in a file that is ours."""

_KEPT_BACKUPS = 2
_SPARE_BYTES = 16 * 1024 * 1024

_BOOTSTRAP = (
    """CREATE TABLE IF NOT EXISTS schema_version(
        part TEXT PRIMARY KEY, version INTEGER NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS store_probe(id INTEGER PRIMARY KEY, filler BLOB) STRICT",
)


def check_ownership(path: Path) -> None:
    """Raise `HomeError` when the file is somebody else's. Nothing is written, not even a -shm beside it.

    A file that is missing, empty or without tables is free to be taken.
    """
    if not path.exists() or _is_marked(path):
        return
    try:
        application_id, tables = _look(path)
    except sqlite3.DatabaseError as error:
        raise HomeError(_foreign(path, "is no SQLite database that can be read")) from error
    wal = path.with_name(path.name + "-wal")
    unread = wal.exists() and wal.stat().st_size > 0
    if application_id != APPLICATION_ID and (tables or unread):
        raise HomeError(_foreign(path, "belongs to another program"))


def _is_marked(path: Path) -> bool:
    """Whether the header holds our mark (https://www.sqlite.org/fileformat2.html, 1.3).

    No more is asked of a file that has it: a kill or a full disk in the middle of a checkpoint leaves a file
    that only makes sense together with its WAL.
    """
    with path.open("rb") as file:
        header = file.read(72)
    return header[:16] == b"SQLite format 3\0" and int.from_bytes(header[68:72], "big") == APPLICATION_ID


def _look(path: Path) -> tuple[int, int]:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
    try:
        application_id = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        connection.close()
    return application_id, tables


def _foreign(path: Path, what: str) -> str:
    return f"{path} {what}; it was not touched. Set HERMES_HOME to another folder or move the file away."


def migrate(connection: sqlite3.Connection, path: Path, parts: Sequence[SchemaPart]) -> None:
    """Apply the missing steps. Raises `StoreTooNew`, `HomeError` (no room for the copy) SQLite errors."""
    _claim(connection)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    have = _versions(connection)
    _refuse_newer(have, parts, path)
    missing = [part for part in parts if have.get(part.name, 0) < len(part.steps)]
    if not missing:
        return
    if have:
        _back_up(connection, path, sum(have.values()))
    for part in missing:
        for number in range(have.get(part.name, 0), len(part.steps)):
            _apply(connection, part, number)


def _claim(connection: sqlite3.Connection) -> None:
    # While there is a rollback journal still, so that the mark is in the file itself and not only in a WAL.
    if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        for statement in _BOOTSTRAP:
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _versions(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(connection.execute("SELECT part, version FROM schema_version").fetchall())


def _refuse_newer(have: Mapping[str, int], parts: Sequence[SchemaPart], path: Path) -> None:
    for part in parts:
        found, known = have.get(part.name, 0), len(part.steps)
        if found > known:
            kept = ", ".join(str(p) for p in backups(path)) or "none is kept"
            raise StoreTooNew(
                f"{path} was written by a newer Hermes: its {part.name} schema is version {found}, this "
                f"program knows up to {known}. Install the newer Hermes again, or restore a copy made before "
                f"the upgrade ({kept})."
            )


def backups(path: Path) -> list[Path]:
    """The copies made before upgrades, newest first."""
    found = path.parent.glob(f"{path.name}.v*.bak")
    return sorted(found, key=lambda p: p.stat().st_mtime_ns, reverse=True)


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    size = pages * connection.execute("PRAGMA page_size").fetchone()[0]
    free = shutil.disk_usage(path.parent).free
    if free < size + _SPARE_BYTES:
        raise HomeError(
            f"{path} must be upgraded, but there is no room for the copy that is made first: "
            f"{size + _SPARE_BYTES:,} bytes are needed in {path.parent}, {free:,} are free."
        )
    target = path.with_name(f"{path.name}.v{version}.bak")
    unfinished = target.with_name(target.name + ".tmp")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection.execute("VACUUM INTO ?", (str(unfinished),))
    sync_file(unfinished)
    unfinished.replace(target)
    sync_file(path.parent)
    for old in backups(path)[_KEPT_BACKUPS:]:
        old.unlink()


def _apply(connection: sqlite3.Connection, part: SchemaPart, number: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in split_statements(part.steps[number]):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO schema_version(part, version, at) VALUES(?, ?, ?)"
            " ON CONFLICT(part) DO UPDATE SET version = excluded.version, at = excluded.at",
            (part.name, number + 1, time.time()),
        )
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def split_statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one; semicolons in strings and trigger bodies do not split."""
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip(" \t\r\n;"):
                yield pending
            pending = ""
    rest = pending.rstrip("; \t\r\n")
    if rest and not all(line.lstrip().startswith("--") or not line.strip() for line in rest.splitlines()):
        yield rest
