"""What the gateway forgets of a conversation: the words of its messages and replies.

The rows of messages stay without their words: their keys tell a message that is delivered again from a new one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Protocol

from gateway.media.keeping import digests_in
from hermes.errors import HermesError
from hermes.store import Job

__all__ = ["Gone", "forget"]


class Gone(Protocol):
    """The conversation that is forgotten."""

    @property
    def session_id(self) -> str: ...

    @property
    def key(self) -> str: ...

    @property
    def since(self) -> float: ...

    @property
    def until(self) -> float: ...

    @property
    def turns(self) -> tuple[str, ...]: ...


def forget(gone: Gone, files: Callable[[Iterable[str]], object] = lambda _digests: None) -> Job:
    """A job that takes the words out of the closed rows of a conversation: those of its turns, and its commands.

    files: hears the digests of the files that those rows had.

    Raises `HermesError` while a reply of it waits to be sent.
    """

    def job(connection: sqlite3.Connection) -> None:
        owners = [*gone.turns]
        for turn in gone.turns:
            owners += _tickets(connection, "turn_id = ?", turn)
        owners += _tickets(
            connection,
            "session_key = ? AND turn_id IS NULL AND received_at BETWEEN ? AND ?",
            *(gone.key, gone.since, gone.until),
        )
        for owner in owners:
            files(_files(connection, owner))
            _forget_replies(connection, owner, gone.session_id)
        connection.executemany(
            "UPDATE inbox SET event = NULL, answer = NULL, usage = NULL,"
            " state = CASE state WHEN 'dead' THEN 'put away' ELSE state END"
            " WHERE ticket = ? AND closed_at IS NOT NULL",
            [(owner,) for owner in owners],
        )

    return job


def _tickets(connection: sqlite3.Connection, where: str, *values: object) -> list[str]:
    sql = f"SELECT ticket FROM inbox WHERE closed_at IS NOT NULL AND {where}"  # noqa: S608  ours
    return [row[0] for row in connection.execute(sql, values)]


def _files(connection: sqlite3.Connection, owner: str) -> list[str]:
    rows = connection.execute(
        "SELECT event FROM inbox WHERE ticket = ? AND event IS NOT NULL"
        " UNION ALL SELECT file FROM outbox WHERE key >= ? AND key < ? AND file IS NOT NULL",
        (owner, f"{owner}:", f"{owner};"),
    )
    return [digest for (said,) in rows for digest in digests_in(said)]


def _forget_replies(connection: sqlite3.Connection, owner: str, session_id: str) -> None:
    """Replies are keyed by the turn or the message that they belong to."""
    mine = (f"{owner}:", f"{owner};")
    waiting = connection.execute(
        "SELECT 1 FROM outbox WHERE key >= ? AND key < ? AND state IN ('queued', 'sending')", mine
    ).fetchone()
    if waiting is not None:
        raise HermesError(f"A reply of {session_id} waits to be sent; try again when it is, or drop it.")
    connection.execute("DELETE FROM outbox WHERE key >= ? AND key < ?", mine)
