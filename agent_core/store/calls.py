"""What model calls have cost, in tokens: one row for each, and sums of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hermes.errors import HermesError
from hermes.messages import JSONObject, Usage
from hermes.store import Job, Store

__all__ = [
    "GROUPS",
    "Current",
    "Group",
    "Payer",
    "Person",
    "Spent",
    "add_calls",
    "prune_calls",
    "sums",
    "sums_of",
    "totals",
]

Group = Literal["day", "session", "person", "model", "agent", "task"]
GROUPS: tuple[str, ...] = get_args(Group)

_COLUMNS = {
    "day": "date(at, 'unixepoch', 'localtime')",
    "session": "session_id",
    "person": "person",
    "model": "model",
    "agent": "agent_id",
    "task": "task",
}
_SUMS = (
    "count(DISTINCT turn_id) AS turns, coalesce(sum(calls), 0) AS calls, coalesce(sum(prompt), 0) AS prompt,"
    " coalesce(sum(completion), 0) AS completion, coalesce(sum(cached), 0) AS cached,"
    " coalesce(sum(reasoning), 0) AS reasoning, coalesce(max(estimated), 0) AS estimated"
)
_MOST = 10_000
_BITE = 500


@dataclass(frozen=True, slots=True)
class Payer:
    """For whom a call was made. person: `INSTANCE:SENDER`. task: "turn", or what was done beside it."""

    session_id: str
    session_key: str
    agent_id: str
    person: str
    turn_id: str | None = None
    task: str = "turn"


@dataclass(frozen=True, slots=True)
class Spent:
    """One answered call. model: `PROVIDER/MODEL`. at: epoch seconds."""

    model: str
    usage: Usage
    at: float


def add_calls(payer: Payer, spent: Sequence[Spent]) -> Job:
    """A job that writes calls down."""

    def job(connection: sqlite3.Connection) -> None:
        connection.executemany(
            "INSERT INTO calls(at, task, turn_id, session_id, session_key, agent_id, person, model, prompt,"
            " completion, cached, reasoning, estimated) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    *(s.at, payer.task, payer.turn_id, payer.session_id, payer.session_key, payer.agent_id),
                    *(payer.person, s.model, s.usage.prompt, s.usage.completion, s.usage.cached),
                    *(s.usage.reasoning, int(s.usage.estimated)),
                )
                for s in spent
            ],
        )

    return job


@dataclass(frozen=True, slots=True)
class Current:
    """The calls of a key's current session."""

    session_key: str


@dataclass(frozen=True, slots=True)
class Person:
    """The calls for a person since `since`."""

    person: str
    since: float


async def totals(store: Store, session_key: str | None = None) -> JSONObject:
    """{"turns", "calls", "prompt", "completion", "cached", "reasoning"} of the key's current session, or of all."""
    where = "" if session_key is None else f" WHERE {_CURRENT}"
    [row] = await store.read(
        f"SELECT {_SUMS} FROM calls{where}",  # noqa: S608  ours
        () if session_key is None else (session_key,),
    )
    return {name: row[name] for name in row.keys() if name != "estimated"}  # noqa: SIM118  a row iterates over values


_CURRENT = "session_id IN (SELECT id FROM sessions WHERE key = ? AND closed_at IS NULL)"


async def sums_of(store: Store, whose: Current | Person) -> list[JSONObject]:
    """Sums by model of some calls."""
    values: tuple[str | float, ...]
    match whose:
        case Current(key):
            where, values = _CURRENT, (key,)
        case Person(person, since):
            where, values = "person = ? AND at >= ?", (person, since)
    rows = await store.read(
        f"SELECT model, {_SUMS} FROM calls WHERE {where} GROUP BY model ORDER BY model",  # noqa: S608  ours
        values,
    )
    return [dict(row) for row in rows]


async def sums(store: Store, since: float, by: Sequence[Group]) -> list[JSONObject]:
    """Sums of the calls since `since` for each combination of `by`, each with its groups by name.

    Raises `HermesError` for more than 10,000.
    """
    columns = ", ".join(f"{_COLUMNS[group]} AS {group}" for group in by)
    order = ", ".join(str(n + 1) for n in range(len(by)))
    rows = await store.read(
        f"SELECT {columns}, {_SUMS} FROM calls WHERE at >= ? GROUP BY {order} ORDER BY {order} LIMIT {_MOST + 1}",  # noqa: S608  ours
        (since,),
    )
    if len(rows) > _MOST:
        raise HermesError(f"That is more than {_MOST:,} lines; ask for fewer days or other groups.")
    return [dict(row) for row in rows]


def prune_calls(before: float) -> Job:
    """A job that removes a bite of the calls from before `before`; how many."""

    def job(connection: sqlite3.Connection) -> int:
        sql = "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE at < ? LIMIT ?)"
        return connection.execute(sql, (before, _BITE)).rowcount

    return job
