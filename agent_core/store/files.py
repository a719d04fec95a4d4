"""Which files conversations have, and what was found out about them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from hermes.messages import Message
from hermes.store import Job, Store

__all__ = [
    "caption",
    "forget_captions",
    "named_by_open_turns",
    "named_since",
    "note_files",
    "of_session",
    "save_caption",
    "still_named",
]

_DIGEST = re.compile(r'"digest":"([0-9a-f]{64})"')


def note_files(
    connection: sqlite3.Connection, session_id: str, message_id: int, message: Message, at: float
) -> None:
    """Write down which files a message row has."""
    connection.executemany(
        "INSERT OR IGNORE INTO message_files(digest, message_id, session_id, at) VALUES(?, ?, ?, ?)",
        [(file.digest, message_id, session_id, at) for file in message.files],
    )


async def named_since(store: Store, since: float) -> set[str]:
    """The digests of files that messages since `since` have."""
    rows = await store.read("SELECT DISTINCT digest FROM message_files WHERE at >= ?", (since,))
    return {row["digest"] for row in rows}


async def named_by_open_turns(store: Store) -> set[str]:
    """The digests of files that turns have which are not over."""
    rows = await store.read(
        "SELECT content FROM steps WHERE kind IN ('input', 'steer', 'file')"
        " AND turn_id IN (SELECT id FROM turns WHERE state = 'open')"
    )
    return {digest for row in rows for digest in _DIGEST.findall(row["content"])}


def of_session(connection: sqlite3.Connection, session_id: str) -> tuple[str, ...]:
    """The digests of a conversation's files."""
    rows = connection.execute("SELECT DISTINCT digest FROM message_files WHERE session_id = ?", (session_id,))
    return tuple(row[0] for row in rows)


async def still_named(store: Store, digests: Sequence[str]) -> set[str]:
    """Those of the digests that a message or an open turn has."""
    marks = ", ".join("?" * len(digests))
    rows = await store.read(
        f"SELECT DISTINCT digest FROM message_files WHERE digest IN ({marks})",  # noqa: S608  marks only
        tuple(digests),
    )
    return {row["digest"] for row in rows} | (await named_by_open_turns(store) & set(digests))


def _key(digest: str) -> str:
    return f"caption:{digest}"


async def caption(store: Store, digest: str) -> str | None:
    """What a model said that a picture shows; `None` where none was asked."""
    rows = await store.read("SELECT value FROM kv WHERE key = ?", (_key(digest),))
    return rows[0]["value"] if rows else None


def save_caption(digest: str, text: str) -> Job:
    """A job that keeps what a picture shows."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO kv(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (_key(digest), text),
        )

    return job


def forget_captions(digests: Sequence[str], *, also_named: bool = True) -> Job:
    """A job that forgets what pictures show; with `also_named` off, only of those that no message has any more."""

    def job(connection: sqlite3.Connection) -> None:
        connection.executemany(
            "DELETE FROM kv WHERE key = ?"
            " AND (? OR NOT EXISTS (SELECT 1 FROM message_files WHERE digest = ?))",
            [(_key(digest), also_named, digest) for digest in digests],
        )

    return job
