"""What is to be sent: one row per call to a platform.

Jobs for the store's writer, and the reads beside them. A row goes from `queued` over `sending` (committed before the
call) to `sent`, `dead` or `dropped`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hermes.adapter import Piece
from hermes.events import Target
from hermes.store import Job, Store

__all__ = [
    "Draft",
    "OutboxKind",
    "OutboxRow",
    "Standing",
    "answer_rows",
    "begin_live",
    "claim",
    "enqueue",
    "forget_edit",
    "live_message",
    "open_outbox",
    "receipt",
    "requeue",
    "standing",
    "write_off",
]

OutboxKind = Literal["reply", "notice", "send", "live"]


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
                "INSERT OR IGNORE INTO outbox (key, instance, chat, thread, kind, turn_id, text, format, created_at, edits)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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


async def standing(store: Store, keys: Sequence[str]) -> list[Standing]:
    """The rows of these keys, in order; keys that are not there are left out."""
    rows = await store.read(
        "SELECT id, state, message_id, error FROM outbox WHERE key IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps(list(keys)),),
    )
    return [Standing(r["id"], r["state"], r["message_id"], r["error"]) for r in rows]


async def answer_rows(store: Store, turn_id: str, target: Target) -> list[Standing]:
    """The rows that bring a turn's answer to a chat, in order."""
    rows = await store.read(
        "SELECT id, state, message_id, error FROM outbox WHERE key >= ? AND key < ? AND instance = ? AND chat = ?"
        " ORDER BY id",
        (f"{turn_id}:", f"{turn_id};", target.instance, target.chat),
    )
    return [Standing(r["id"], r["state"], r["message_id"], r["error"]) for r in rows]


async def open_outbox(store: Store) -> list[OutboxRow]:
    """Rows that are not closed, oldest first."""
    rows = await store.read(
        "SELECT id, key, instance, chat, thread, kind, text, format, state, again, attempts, created_at, due_at,"
        " claimed_at, edits"
        " FROM outbox WHERE state IN ('queued', 'sending') ORDER BY id"
    )
    return [
        OutboxRow(
            r["id"],
            r["key"],
            Target(r["instance"], r["chat"], r["thread"]),
            Piece(r["text"], json.loads(r["format"])),
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
