"""The book of messages: what was taken, and how it was answered.

Jobs for the store's writer, and the reads beside them. What is to be sent stands in `outbox`.

Every function that ends in a `Job` runs inside one transaction of the store; what belongs together is written
together:
accepting = verdicts + inbox rows + the door's own answers + watermark; closing = message rows (the agent's
job) + inbox rows + outbox rows.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gateway.outbox import Draft, OutboxRow, enqueue
from hermes.events import (
    Admission,
    Event,
    Unparsable,
    Verdict,
    Watermark,
    event_from_json,
    event_to_json,
)
from hermes.failpoint import reached
from hermes.messages import Usage
from hermes.store import Job, Store

__all__ = [
    "InboxRow",
    "InboxState",
    "Judged",
    "Taken",
    "accept",
    "answer_of",
    "begin",
    "close",
    "open_inbox",
    "watermark",
]

InboxState = Literal[
    "waiting", "running", "answered", "merged", "steered", "silent", "failed", "stopped", "dead"
]

_RAW_LIMIT = 64 * 1024
_UNPARSABLE = 500
"""Rows of what could not be read that an instance keeps, the newest: strangers can send any number of them."""


@dataclass(frozen=True, slots=True)
class InboxRow:
    """An event that was taken and is not closed."""

    id: int
    ticket: str
    event: Event
    session_key: str
    agent_id: str
    admission: Admission
    received_at: float
    not_before: float = 0.0
    state: str = "waiting"
    turn_id: str | None = None
    free_at: float = 0.0
    """Until when the rate holds it back, in monotonic seconds of this process; see `clocked`."""

    def early(self, now: float) -> float:
        """Seconds for which the rate holds the row back still; no longer than it was told to, whatever the clock did."""
        return min(self.not_before - now, self.not_before - self.received_at)

    def clocked(self, now: float, monotonic: float) -> InboxRow:
        """The row as it waits in this process: from here on a wall clock that jumps changes nothing."""
        early = self.early(now)
        return replace(self, free_at=monotonic + early) if early > 0 else self

    def held(self, monotonic: float) -> float:
        """Seconds for which the rate holds the clocked row back still."""
        return max(0.0, self.free_at - monotonic)


@dataclass(frozen=True, slots=True)
class Judged:
    """The door's verdict on one item, ready to be written.

    kind "accepted" carries the event with its route; the others are only counted (unparsable ones keep their raw
    text). drafts: what the door itself answers. jobs: what else is written with the verdict. changes: an open message
    as it is now, after its sender changed it.
    """

    kind: Literal["accepted", "refused", "ignored", "unparsable"]
    instance: str
    reason: str = ""
    event: Event | None = None
    ticket: str = ""
    session_key: str = ""
    agent_id: str = ""
    admission: Admission = "anyone"
    not_before: float = 0.0
    drafts: tuple[Draft, ...] = ()
    jobs: tuple[Job, ...] = ()
    raw: Unparsable | None = None
    changes: InboxRow | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What an accepting transaction did, item by item: verdicts for the adapter, new rows for the sessions and for delivery."""

    verdicts: tuple[Verdict, ...]
    rows: tuple[InboxRow, ...]
    outgoing: tuple[OutboxRow, ...]


def accept(judged: Sequence[Judged], watermark_: Watermark | None, now: float) -> Job:
    """A job that takes all items and moves the watermark; its result is a `Taken`."""

    def job(connection: sqlite3.Connection) -> Taken:
        verdicts: list[Verdict] = []
        rows: list[InboxRow] = []
        outgoing: list[OutboxRow] = []
        for item in judged:
            if item.kind == "accepted":
                verdict, row = _take(connection, item, now)
                if row is not None:
                    rows.append(row)
            else:
                verdict = _count(connection, item, now)
            verdicts.append(verdict)
            if verdict.kind != "duplicate":
                outgoing += enqueue(item.drafts, now)(connection)
                for extra in item.jobs:
                    extra(connection)
        if watermark_ is not None:
            connection.execute(
                "INSERT INTO watermarks (instance, name, value, at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (instance, name) DO UPDATE SET value = excluded.value, at = excluded.at",
                (watermark_.instance, watermark_.name, watermark_.value, now),
            )
        reached("ledger.accepting")
        return Taken(tuple(verdicts), tuple(rows), tuple(outgoing))

    return job


def _take(connection: sqlite3.Connection, item: Judged, now: float) -> tuple[Verdict, InboxRow | None]:
    event = item.event
    assert event is not None  # noqa: S101  an accepted item always has its event
    if event.replay_key is not None and (known := _replayed(connection, event, now)) is not None:
        return _duplicate(known), None
    cursor = connection.execute(
        "INSERT INTO inbox (ticket, instance, dedupe_key, replay_key, session_key, agent_id, admission, event, fingerprint,"
        " volatile, received_at, not_before) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (instance, dedupe_key) DO NOTHING",
        (
            item.ticket,
            item.instance,
            event.dedupe_key,
            event.replay_key,
            item.session_key,
            item.agent_id,
            item.admission,
            event_to_json(event),
            event.message_id,
            event.volatile,
            now,
            item.not_before,
        ),
    )
    if cursor.rowcount == 0:
        return _duplicate(_known(connection, event)), None
    row = InboxRow(
        int(cursor.lastrowid or 0),
        item.ticket,
        event,
        item.session_key,
        item.agent_id,
        item.admission,
        now,
        item.not_before,
    )
    return Verdict("accepted", item.ticket), row


def _duplicate(known: dict[str, Any]) -> Verdict:
    return Verdict("duplicate", known["ticket"], fingerprint=known["fingerprint"], since=known["received_at"])


def _known(connection: sqlite3.Connection, event: Event) -> dict[str, Any]:
    """The row of an event that was taken before."""
    cursor = connection.execute(
        "SELECT ticket, fingerprint, received_at FROM inbox WHERE instance = ? AND dedupe_key = ?",
        (event.instance, event.dedupe_key),
    )
    found = _one(cursor)
    assert found is not None  # noqa: S101  the insert ran into it just now
    return found


def _replayed(connection: sqlite3.Connection, event: Event, now: float) -> dict[str, Any] | None:
    """The row of an event with the same content within its window, or one that is still open, under whatever id."""
    if event.replay_window <= 0:
        return None
    cursor = connection.execute(
        "SELECT ticket, fingerprint, received_at FROM inbox WHERE instance = ? AND replay_key = ?"
        " AND (received_at > ? OR ? AND state IN ('waiting', 'running'))",
        (event.instance, event.replay_key, now - event.replay_window, event.replay_open),
    )
    return _one(cursor)


def _one(cursor: sqlite3.Cursor) -> dict[str, Any] | None:
    row = cursor.fetchone()
    return None if row is None else dict(zip((d[0] for d in cursor.description), row, strict=True))


def _count(connection: sqlite3.Connection, item: Judged, now: float) -> Verdict:
    if item.kind == "unparsable" and item.raw is not None:
        connection.execute(
            "INSERT INTO unparsable (instance, raw, error, at) VALUES (?, ?, ?, ?)",
            (item.instance, item.raw.raw[:_RAW_LIMIT], item.raw.error[:500], now),
        )
        connection.execute(
            "DELETE FROM unparsable WHERE instance = :instance AND id <= (SELECT id FROM unparsable"
            " WHERE instance = :instance ORDER BY id DESC LIMIT 1 OFFSET :most)",
            {"instance": item.instance, "most": _UNPARSABLE},
        )
    day = time.strftime("%Y-%m-%d", time.gmtime(now))
    connection.execute(
        "INSERT INTO verdicts (day, instance, verdict, reason, count) VALUES (?, ?, ?, ?, 1) "
        "ON CONFLICT (day, instance, verdict, reason) DO UPDATE SET count = count + 1",
        (day, item.instance, item.kind, item.reason[:80]),
    )
    return Verdict(item.kind, reason=item.reason)


def begin(turn_id: str, inbox_ids: Sequence[int]) -> Job:
    """A job that gives the inbox rows to a turn."""

    def job(connection: sqlite3.Connection) -> None:
        connection.executemany(
            "UPDATE inbox SET state = 'running', turn_id = ? WHERE id = ? AND state IN ('waiting', 'running')",
            [(turn_id, i) for i in inbox_ids],
        )
        reached("turn.beginning")

    return job


def move(inbox_id: int, session_key: str) -> Job:
    """A job that puts a row that is open into another conversation."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE inbox SET session_key = ? WHERE id = ? AND closed_at IS NULL", (session_key, inbox_id)
        )

    return job


def close(inbox_ids: Iterable[int], state: InboxState, answer: str, usage: Usage | None, now: float) -> Job:
    """A job that closes inbox rows.

    Their events' text is kept for the retention time, the answer for who asks again.
    """

    def job(connection: sqlite3.Connection) -> None:
        tokens = None if usage is None else json.dumps([usage.prompt, usage.completion])
        connection.executemany(
            "UPDATE inbox SET state = ?, answer = ?, usage = ?, closed_at = ? WHERE id = ? AND closed_at IS NULL",
            [(state, answer, tokens, now, i) for i in inbox_ids],
        )
        reached("turn.closing")

    return job


async def open_inbox(store: Store) -> list[InboxRow]:
    """Events that are not closed, in order of arrival."""
    rows = await store.read(
        "SELECT id, ticket, event, session_key, agent_id, admission, received_at, not_before, state, turn_id"
        " FROM inbox WHERE state IN ('waiting', 'running') ORDER BY id"
    )
    return [
        InboxRow(
            r["id"],
            r["ticket"],
            event_from_json(r["event"]),
            r["session_key"],
            r["agent_id"],
            r["admission"],
            r["received_at"],
            r["not_before"],
            r["state"],
            r["turn_id"],
        )
        for r in rows
    ]


async def answer_of(store: Store, ticket: str) -> tuple[str, str, Usage] | None:
    """State, answer and usage of a ticket; `None` for one that nobody knows."""
    rows = await store.read("SELECT state, answer, usage FROM inbox WHERE ticket = ?", (ticket,))
    if not rows:
        return None
    tokens = json.loads(rows[0]["usage"] or "[0,0]")
    return rows[0]["state"], rows[0]["answer"] or "", Usage(*tokens)


async def watermark(store: Store, instance: str, name: str) -> str | None:
    """The stored watermark."""
    rows = await store.read("SELECT value FROM watermarks WHERE instance = ? AND name = ?", (instance, name))
    return rows[0]["value"] if rows else None
