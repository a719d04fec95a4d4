"""What is to be sent: one row per call to a platform.

Jobs for the store's writer, and the reads beside them. A row goes from `queued` over `sending` (committed before the
call) to `sent`, `dead` or `dropped`.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hermes.adapter import Piece
from hermes.events import Target
from hermes.files import StoredFile
from hermes.store import Job, Store

__all__ = [
    "Draft",
    "OutboxKind",
    "OutboxRow",
    "Standing",
    "WaitsFor",
    "answer_rows",
    "begin_live",
    "claim",
    "enqueue",
    "enqueue_message",
    "files_from_json",
    "files_of",
    "files_to_json",
    "forget_edit",
    "live_message",
    "message_rows",
    "open_outbox",
    "piece_of",
    "receipt",
    "requeue",
    "write_off",
]

OutboxKind = Literal["reply", "file", "notice", "send", "live"]
"""file: what brings a file of a reply, beside the reply's own words."""

WaitsFor = Literal["time", "road", "login"]
"""What ends a row's wait beside its time: a road to the platform (it could not be reached), or that the platform knows us
again (it refused our credentials)."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One outbox row to be: a rendered piece for a target. `key` is unique for ever."""

    key: str
    target: Target
    piece: Piece
    kind: OutboxKind = "reply"
    turn_id: str | None = None
    edits: str | None = None
    """The message that is changed in place of sending a new one."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row that waits or is being sent."""

    id: int
    key: str
    target: Target
    piece: Piece
    kind: OutboxKind
    state: str
    again: bool
    attempts: int
    created_at: float
    due_at: float
    claimed_at: float | None
    edits: str | None = None
    waits_for: WaitsFor = "time"
    away: int = 0
    """How often in a row the platform was not there for it. This and `waits_for` the process knows that has tried it."""

    def early(self, now: float) -> float:
        """Seconds until the row is due; no longer than the pause after its last try, whatever the clock did."""
        return min(self.due_at - now, self.due_at - (self.claimed_at or self.created_at))


def enqueue(drafts: Sequence[Draft], now: float) -> Job:
    """A job that puts pieces into the outbox, in order; its result are the new rows.

    A key that is there already is left as it is.
    """

    def job(connection: sqlite3.Connection) -> list[OutboxRow]:
        rows: list[OutboxRow] = []
        for d in drafts:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO outbox"
                " (key, instance, chat, thread, kind, turn_id, text, format, created_at, edits, file)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    d.key,
                    d.target.instance,
                    d.target.chat,
                    d.target.thread,
                    d.kind,
                    d.turn_id,
                    d.piece.text,
                    json.dumps(d.piece.format, separators=(",", ":")),
                    now,
                    d.edits,
                    files_to_json(d.piece),
                ),
            )
            if cursor.rowcount:
                rows.append(
                    OutboxRow(
                        int(cursor.lastrowid or 0),
                        d.key,
                        d.target,
                        d.piece,
                        d.kind,
                        "queued",
                        again=False,
                        attempts=0,
                        created_at=now,
                        due_at=0.0,
                        claimed_at=None,
                        edits=d.edits,
                    )
                )
        return rows

    return job


def enqueue_message(drafts: Sequence[Draft], now: float) -> Job:
    """As `enqueue`, for the pieces of one message; nothing where its first one is there: it was sent, as it was then."""

    def job(connection: sqlite3.Connection) -> list[OutboxRow]:
        known = connection.execute("SELECT 1 FROM outbox WHERE key = ?", (drafts[0].key,)).fetchone()
        return [] if known is not None else list(enqueue(drafts, now)(connection))

    return job


def begin_live(draft: Draft, now: float) -> Job:
    """A job that puts a growing answer's first message into the outbox, at `sending`; its result is the row's id."""

    def job(connection: sqlite3.Connection) -> int:
        rows: list[OutboxRow] = enqueue([draft], now)(connection)
        claim(rows[0].id, now)(connection)
        return rows[0].id

    return job


async def live_message(store: Store, turn_id: str) -> str | None:
    """The message in which the turn's answer grew, `None` when none stands there."""
    rows = await store.read(
        "SELECT message_id FROM outbox WHERE turn_id = ? AND kind = 'live' AND state = 'sent' ORDER BY id DESC LIMIT 1",
        (turn_id,),
    )
    return rows[0]["message_id"] if rows else None


def claim(row_id: int, now: float) -> Job:
    """A job that sets a row to `sending`: from its commit on, a lost answer means an unknown outcome."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE outbox SET state = 'sending', claimed_at = ? WHERE id = ?", (now, row_id))

    return job


def receipt(row_id: int, message_id: str, note: str | None, now: float) -> Job:
    """A job that closes a row as delivered."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE outbox SET state = 'sent', message_id = ?, error = ?, closed_at = ? WHERE id = ?",
            (message_id, note, now, row_id),
        )

    return job


def forget_edit(row_id: int) -> Job:
    """A job for a row whose message to change is gone: it is sent anew."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE outbox SET edits = NULL, state = 'queued' WHERE id = ?", (row_id,))

    return job


def requeue(row_id: int, *, due_at: float, again: bool, attempts: int, error: str) -> Job:
    """A job that puts a row back: it was certainly not taken, or (`again`) its outcome is unknown and it is sent again."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE outbox SET state = 'queued', due_at = ?, again = max(again, ?), attempts = ?, error = ? WHERE id = ?",
            (due_at, again, attempts, error[:500], row_id),
        )

    return job


def write_off(row_id: int, state: Literal["dead", "dropped"], error: str, now: float) -> Job:
    """A job that gives a row up.

    `dead`: refused, or failed too often. `dropped`: unknown outcome, and the owner wants no doubles.
    """

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE outbox SET state = ?, error = ?, closed_at = ? WHERE id = ?",
            (state, error[:500], now, row_id),
        )

    return job


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with a row, open or closed."""

    id: int
    state: str
    message_id: str | None
    error: str | None


_STANDING = "SELECT id, key, state, message_id, error FROM outbox WHERE key >= ? AND key < ?"


async def message_rows(store: Store, key: str) -> list[Standing]:
    """The rows that bring the message `key` to one target, in order; one that was tried again stands for the first."""
    rows = await store.read(f"{_STANDING} AND state <> 'retried'", _span(key))
    own = re.compile(
        re.escape(key) + r":([0-9]+)(?::again)*"
    )  # keys are the senders' own, and may look alike
    found = [(int(m[1]), r["id"], _standing(r)) for r in rows if (m := own.fullmatch(r["key"]))]
    return [row for _, _, row in sorted(found, key=lambda item: item[:2])]


async def count_messages(store: Store, begins: str, without: str) -> int:
    """The messages whose keys begin so, each to one target, and not with `without`."""
    rows = await store.read(
        "SELECT count(*) FROM outbox WHERE key >= ? AND key < ? AND key LIKE '%:0:0' AND key <> ?",
        (begins, f"{begins[:-1]}{chr(ord(begins[-1]) + 1)}", f"{without}:0"),
    )
    return int(rows[0][0])


async def answer_rows(store: Store, turn_id: str, target: Target) -> list[Standing]:
    """The rows that bring the words of a turn's answer to a chat, in order."""
    rows = await store.read(
        f"{_STANDING} AND instance = ? AND chat = ? AND kind <> 'file' ORDER BY id",
        (*_span(turn_id), target.instance, target.chat),
    )
    return [_standing(r) for r in rows]


def _span(key: str) -> tuple[str, str]:
    return f"{key}:", f"{key};"


def _standing(row: sqlite3.Row) -> Standing:
    return Standing(row["id"], row["state"], row["message_id"], row["error"])


def files_of(piece: Piece) -> tuple[StoredFile, ...]:
    """The files that a piece brings."""
    return (() if piece.file is None else (piece.file,)) + piece.more


def files_to_json(piece: Piece) -> str | None:
    """The piece's files as a row keeps them."""
    files = files_of(piece)
    return json.dumps([f.to_json() for f in files], separators=(",", ":")) if files else None


def files_from_json(text: str | None) -> tuple[StoredFile, ...]:
    """The inverse of `files_to_json`."""
    return tuple(StoredFile.from_json(raw) for raw in json.loads(text or "[]"))


def piece_of(text: str, form: str, file: str | None) -> Piece:
    """The piece that a row keeps."""
    found = files_from_json(file)
    return Piece(text, json.loads(form), found[0] if found else None, found[1:])


async def open_outbox(store: Store) -> list[OutboxRow]:
    """Rows that are not closed, oldest first."""
    rows = await store.read(
        "SELECT id, key, instance, chat, thread, kind, text, format, state, again, attempts, created_at, due_at,"
        " claimed_at, edits, file"
        " FROM outbox WHERE state IN ('queued', 'sending') ORDER BY id"
    )
    return [
        OutboxRow(
            r["id"],
            r["key"],
            Target(r["instance"], r["chat"], r["thread"]),
            piece_of(r["text"], r["format"], r["file"]),
            r["kind"],
            r["state"],
            bool(r["again"]),
            r["attempts"],
            r["created_at"],
            r["due_at"],
            r["claimed_at"],
            r["edits"],
        )
        for r in rows
    ]
