"""Dead letters: replies and messages that were given up; listed, tried again once, or put away.

A letter's id is `r` (a reply, a row of the outbox) or `m` (a message, a row of the inbox) and the row's number.
Each change is one transaction, and finds the row as it is then: what was tried again or put away is no letter any more.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from typing import Any, Literal

from gateway.ledger import InboxRow
from gateway.outbox import OutboxRow, files_from_json, piece_of
from hermes.errors import HermesError
from hermes.events import Target, event_from_json
from hermes.store import Job, Store

__all__ = ["Letter", "Revived", "find", "listed", "put_away", "revive"]

_LETTER = re.compile(r"([rm])([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Letter:
    """What was given up. at: when, in epoch seconds. reason: why, as far as it is known.

    state: `dead` (refused, or failed too often), or `dropped` (nobody knows whether it arrived, and the owner
    wants no doubles). files: the names of what goes with it.
    """

    id: str
    kind: Literal["reply", "message"]
    state: Literal["dead", "dropped"]
    instance: str
    chat: str
    thread: str | None
    at: float
    attempts: int
    reason: str
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Revived:
    """Rows that wait again: for delivery, or for their conversation."""

    replies: tuple[OutboxRow, ...] = ()
    messages: tuple[InboxRow, ...] = ()


async def listed(store: Store, limit: int) -> list[Letter]:
    """Letters, newest first, at most `limit`."""
    rows = await store.read(
        "SELECT 'r' AS kind, id, closed_at FROM outbox WHERE state IN ('dead', 'dropped') AND kind <> 'live'"
        " UNION ALL SELECT 'm', id, closed_at FROM inbox WHERE state = 'dead'"
        " ORDER BY closed_at DESC, id DESC LIMIT ?",
        (limit,),
    )
    found = [await find(store, f"{r['kind']}{r['id']}") for r in rows]
    return [letter for letter in found if letter is not None]


async def find(store: Store, letter_id: str) -> Letter | None:
    """One letter; `None` where there is none of this id (any more). Raises `HermesError` for what is no id."""
    kind, number = _parsed(letter_id)
    if kind == "m":
        rows = await store.read("SELECT * FROM inbox WHERE id = ? AND state = 'dead'", (number,))
        return _message(dict(rows[0])) if rows else None
    rows = await store.read(
        "SELECT * FROM outbox WHERE id = ? AND state IN ('dead', 'dropped') AND kind <> 'live'", (number,)
    )
    return _reply(dict(rows[0])) if rows else None


def _parsed(letter_id: str) -> tuple[str, int]:
    match = _LETTER.fullmatch(letter_id)
    if match is None:
        raise HermesError(
            f"{letter_id[:40]!r} is no dead letter's id; they look like r12 or m34: hermes deadletters list"
        )
    return match[1], int(match[2])


def _reply(row: dict[str, Any]) -> Letter:
    return Letter(
        f"r{row['id']}",
        "reply",
        row["state"],
        row["instance"],
        row["chat"],
        row["thread"],
        row["closed_at"] or row["created_at"],
        row["attempts"],
        row["error"] or "",
        row["text"],
        tuple(file.name for file in files_from_json(row["file"])),
    )


def _message(row: dict[str, Any]) -> Letter:
    event = event_from_json(row["event"]) if row["event"] else None
    return Letter(
        f"m{row['id']}",
        "message",
        "dead",
        row["instance"],
        event.chat if event else "",
        event.thread if event else None,
        row["closed_at"] or row["received_at"],
        0,
        row["answer"] or "",
        event.text if event else "",
    )


def revive(letter_id: str, now: float) -> Job:
    """A job that has a letter tried again; its result is a `Revived`.

    A reply is a new row with the old one's text: marked as possibly a second one, where the first may have arrived.
    Raises `HermesError` when it is no letter (any more), or nobody waits for an answer.
    """
    kind, number = _parsed(letter_id)

    def job(connection: sqlite3.Connection) -> Revived:
        if kind == "m":
            return Revived(messages=(_wait_again(connection, letter_id, number),))
        return Revived(replies=(_send_again(connection, letter_id, number, now),))

    return job


def _send_again(connection: sqlite3.Connection, letter_id: str, number: int, now: float) -> OutboxRow:
    row = _row(connection, "SELECT * FROM outbox WHERE id = ?", number)
    if row is None or row["state"] not in ("dead", "dropped") or row["kind"] == "live":
        raise HermesError(_none(letter_id))
    connection.execute("UPDATE outbox SET state = 'retried' WHERE id = ?", (number,))
    again = bool(row["again"]) or row["state"] == "dropped"
    cursor = connection.execute(
        "INSERT INTO outbox"
        " (key, instance, chat, thread, kind, turn_id, text, format, created_at, edits, again, file)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(f"{row['key']}:again", row["instance"], row["chat"], row["thread"], row["kind"]),
            *(row["turn_id"], row["text"], row["format"], now, row["edits"], again),
            row["file"],
        ),
    )
    return OutboxRow(
        int(cursor.lastrowid or 0),
        f"{row['key']}:again",
        Target(row["instance"], row["chat"], row["thread"]),
        piece_of(row["text"], row["format"], row["file"]),
        row["kind"],
        "queued",
        again=again,
        attempts=0,
        created_at=now,
        due_at=0.0,
        claimed_at=None,
        edits=row["edits"],
    )


def _wait_again(connection: sqlite3.Connection, letter_id: str, number: int) -> InboxRow:
    row = _row(connection, "SELECT * FROM inbox WHERE id = ?", number)
    if row is None or row["state"] != "dead" or row["event"] is None:
        raise HermesError(_none(letter_id))
    if row["volatile"]:
        raise HermesError(
            f"Nobody waits for the answer to {letter_id} any more: it was asked over a connection."
        )
    connection.execute(
        "UPDATE inbox SET state = 'waiting', turn_id = NULL, answer = NULL, usage = NULL, closed_at = NULL,"
        " not_before = 0 WHERE id = ?",
        (number,),
    )
    return InboxRow(
        number,
        row["ticket"],
        event_from_json(row["event"]),
        row["session_key"],
        row["agent_id"],
        row["admission"],
        row["received_at"],
    )


def put_away(letter_id: str, now: float) -> Job:
    """A job that takes a letter off the list. Raises `HermesError` when it is none (any more)."""
    kind, number = _parsed(letter_id)
    sql = (
        "UPDATE inbox SET state = 'put away', closed_at = ? WHERE id = ? AND state = 'dead'"
        if kind == "m"
        else "UPDATE outbox SET state = 'put away', closed_at = ? WHERE id = ? AND state IN ('dead', 'dropped')"
        " AND kind <> 'live'"
    )

    def job(connection: sqlite3.Connection) -> None:
        if connection.execute(sql, (now, number)).rowcount == 0:
            raise HermesError(_none(letter_id))

    return job


def _row(connection: sqlite3.Connection, sql: str, number: int) -> dict[str, Any] | None:
    cursor = connection.execute(sql, (number,))
    row = cursor.fetchone()
    return None if row is None else dict(zip((d[0] for d in cursor.description), row, strict=True))


def _none(letter_id: str) -> str:
    return f"There is no dead letter {letter_id} (any more): hermes deadletters list"
