"""Turns, their steps and the message rows: the jobs that write them and the reads that give them back.

Jobs are built here and run by `Store.write`, alone or together with the gateway's. A step's content is a JSON
object that the agent words; only one thing is agreed: an `input` step has `{"inputs": [{"text": ...}, ...]}`,
which `undo_last_turn` reads, and may have `"role"`, which `unfinished` gives back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent_core.store.files import note_files
from agent_core.store.rows import dump, load, message_of, role_of, values_of
from hermes.agent import TurnState, UnfinishedTurn
from hermes.messages import JSONObject, Message
from hermes.store import Job, Store

__all__ = [
    "Ending",
    "Step",
    "add_step",
    "append_messages",
    "begin_turn",
    "close_dead",
    "close_from_steps",
    "close_turn",
    "count_start",
    "history",
    "last_asked",
    "steps",
    "undo_last_turn",
    "unfinished",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One stored step of a turn, in order of `seq`."""

    seq: int
    kind: str
    content: JSONObject
    at: float


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended, and the key of the sentence for a failure. `at`: epoch seconds.

    charge: writes down those of its calls that are not yet.
    """

    state: TurnState
    at: float
    error: str | None = None
    charge: Job = lambda _connection: None


def begin_turn(turn_id: str, session_id: str, inputs: JSONObject, at: float) -> Job:
    """Create the turn (start count 1, `inputs` as step 0 of kind `input`). The session must be there."""
    content = dump(inputs)

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO turns(id, session_id, session_key, begun_at)"
            " VALUES(?, ?, (SELECT key FROM sessions WHERE id = ?), ?)",
            (turn_id, session_id, session_id, at),
        )
        _insert_step(connection, turn_id, Step(0, "input", {}, at), content)

    return job


def count_start(turn_id: str) -> Job:
    """Count one more start; returns the new count. Raises `LookupError` when the turn is not open."""

    def job(connection: sqlite3.Connection) -> int:
        row = connection.execute(
            "UPDATE turns SET starts = starts + 1 WHERE id = ? AND state = 'open' RETURNING starts",
            (turn_id,),
        ).fetchall()
        if not row:
            raise LookupError(_not_open(turn_id))
        count: int = row[0]["starts"]
        return count

    return job


def add_step(turn_id: str, step: Step, *, progress: bool = True) -> Job:
    """Store a step; the start count is back at zero.

    Unless it is no `progress` (something merely begins). Raises `LookupError` when the turn is not open.
    """
    content = dump(step.content)

    def job(connection: sqlite3.Connection) -> None:
        updated = connection.execute(
            "UPDATE turns SET starts = CASE WHEN ? THEN 0 ELSE starts END, last_step_at = ?"
            " WHERE id = ? AND state = 'open'",
            (progress, step.at, turn_id),
        )
        if updated.rowcount != 1:
            raise LookupError(_not_open(turn_id))
        _insert_step(connection, turn_id, step, content)

    return job


def _insert_step(connection: sqlite3.Connection, turn_id: str, step: Step, content: str) -> None:
    connection.execute(
        "INSERT INTO steps(turn_id, seq, kind, content, at) VALUES(?, ?, ?, ?, ?)",
        (turn_id, step.seq, step.kind, content, step.at),
    )


def _not_open(turn_id: str) -> str:
    return f"Turn {turn_id} is not open: it was closed before, or never begun."


def append_messages(session_id: str, turn_id: str | None, messages: Iterable[Message], at: float) -> Job:
    """Append message rows and index them; `at` is for messages without a time. Returns their ids."""
    messages = list(messages)
    values = [values_of(message, at) for message in messages]

    def job(connection: sqlite3.Connection) -> list[int]:
        ids: list[int] = []
        for value in values:
            cursor = connection.execute(
                "INSERT INTO messages(session_id, turn_id, role, body, search_text, content, at)"
                " VALUES(?, ?, ?, ?, ?, ?, ?)",
                (session_id, turn_id, *value),
            )
            ids.append(cursor.lastrowid or 0)
        for message_id, message in zip(ids, messages, strict=True):
            if message.files:
                note_files(connection, session_id, message_id, message, message.at or at)
        connection.execute(
            "UPDATE sessions SET message_count = message_count + ?, last_at = max(last_at, ?) WHERE id = ?",
            (len(values), at, session_id),
        )
        return ids

    return job


def close_turn(turn_id: str, messages: Sequence[Message], ending: Ending) -> Job:
    """Close the turn, append its message rows and what it cost; all of it once.

    Raises `LookupError` when the turn is not open, so that a turn is never answered twice.
    """

    def job(connection: sqlite3.Connection) -> None:
        _close(connection, turn_id, messages, ending)

    return job


def close_dead(turn_id: str, compose: Callable[[Sequence[Step]], Sequence[Message]], at: float) -> Job:
    """Close an open turn as dead; see `close_from_steps`."""
    return close_from_steps(turn_id, compose, Ending("dead", at))


def close_from_steps(
    turn_id: str, compose: Callable[[Sequence[Step]], Sequence[Message]], ending: Ending
) -> Job:
    """Close an open turn that nobody holds in memory.

    `compose` (runs in the writer) makes its rows from its steps.
    """

    def job(connection: sqlite3.Connection) -> None:
        found = connection.execute(_STEPS, (turn_id,)).fetchall()
        messages = compose([_step_of(row, turn_id) for row in found])
        _close(connection, turn_id, messages, ending)

    return job


def _close(connection: sqlite3.Connection, turn_id: str, messages: Sequence[Message], ending: Ending) -> None:
    rows = connection.execute(
        "UPDATE turns SET state = ?, ended_at = ?, error = ? WHERE id = ? AND state = 'open'"
        " RETURNING session_id",
        (ending.state, ending.at, ending.error, turn_id),
    ).fetchall()
    if not rows:
        raise LookupError(_not_open(turn_id))
    session_id = rows[0]["session_id"]
    append_messages(session_id, turn_id, messages, ending.at)(connection)
    ending.charge(connection)


def undo_last_turn(session_key: str) -> Job:
    """Hide the last closed turn of the key's current session; returns its input's text, `None` without one.

    A silent or failed turn counts too. The rows stay on disk, marked.
    """

    def job(connection: sqlite3.Connection) -> str | None:
        row = connection.execute(
            "SELECT t.id, t.session_id FROM turns t JOIN sessions s ON s.id = t.session_id"
            " WHERE s.key = ? AND s.closed_at IS NULL AND t.state <> 'open' AND t.undone = 0"
            " ORDER BY t.begun_at DESC, t.ended_at DESC LIMIT 1",
            (session_key,),
        ).fetchone()
        if row is None:
            return None
        text = _input_text(connection, row["id"])
        hidden = connection.execute(
            "UPDATE messages SET hidden = 1 WHERE session_id = ? AND turn_id = ?",
            (row["session_id"], row["id"]),
        )
        connection.execute("UPDATE turns SET undone = 1 WHERE id = ?", (row["id"],))
        connection.execute(
            "UPDATE sessions SET message_count = message_count - ? WHERE id = ?",
            (hidden.rowcount, row["session_id"]),
        )
        return text

    return job


def _input_text(connection: sqlite3.Connection, turn_id: str) -> str:
    found = connection.execute(f"{_STEPS_OF} AND kind = 'input' ORDER BY seq", (turn_id,)).fetchall()
    inputs = [i for row in found for i in _step_of(row, turn_id).content.get("inputs", ())]
    if not inputs:  # the steps were pruned: the user's rows say it
        rows = connection.execute(
            "SELECT body FROM messages WHERE turn_id = ? AND role = 'user' ORDER BY id", (turn_id,)
        )
        return "\n".join(row["body"] for row in rows.fetchall())
    return "\n".join(str(i.get("text", "")) for i in inputs)


_STEPS_OF = "SELECT seq, kind, content, at FROM steps WHERE turn_id = ?"
_STEPS = f"{_STEPS_OF} ORDER BY seq"


def _step_of(row: sqlite3.Row, turn_id: str) -> Step:
    return Step(
        row["seq"], row["kind"], load(row["content"], f"Step {row['seq']} of turn {turn_id}"), row["at"]
    )


async def steps(store: Store, turn_id: str) -> list[Step]:
    """A turn's stored steps in order. Raises `StoreCorrupt`, `StoreUnavailable`."""
    return [_step_of(row, turn_id) for row in await store.read(_STEPS, (turn_id,))]


async def history(store: Store, session_id: str) -> list[Message]:
    """The session's conversation in order, without what was undone.

    Raises `StoreCorrupt`, `StoreUnavailable`: an unreadable history is never an empty one.
    """
    rows = await store.read(
        "SELECT id, role, body, content, at FROM messages WHERE session_id = ? AND hidden = 0 ORDER BY id",
        (session_id,),
    )
    return [message_of(row) for row in rows]


async def last_asked(store: Store, session_key: str) -> JSONObject:
    """The input step of the last closed turn of the key's current session; empty without one."""
    rows = await store.read(
        "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id"
        " WHERE s.key = ? AND s.closed_at IS NULL AND t.state <> 'open' AND t.undone = 0"
        " ORDER BY t.begun_at DESC, t.ended_at DESC LIMIT 1",
        (session_key,),
    )
    found = await steps(store, rows[0]["id"]) if rows else []
    return next((step.content for step in found if step.kind == "input"), {})


async def unfinished(store: Store) -> list[UnfinishedTurn]:
    """Open turns, oldest first."""
    rows = await store.read(
        "SELECT id, session_key, starts, begun_at,"
        " CASE WHEN json_valid(content) THEN json_extract(content, '$.role') END AS role"
        " FROM turns LEFT JOIN steps ON turn_id = id AND seq = 0 WHERE state = 'open' ORDER BY begun_at, id"
    )
    return [_unfinished(row) for row in rows]


def _unfinished(row: sqlite3.Row) -> UnfinishedTurn:
    return UnfinishedTurn(row["id"], row["session_key"], row["starts"], row["begun_at"], role_of(row["role"]))
