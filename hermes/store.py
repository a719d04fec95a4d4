"""One durable store: many readers, one writer, group commit.

Packages draw their own tables (`SchemaPart`); wiring hands the parts to the store that opens the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Job", "SchemaPart", "Store"]

Job = Callable[[sqlite3.Connection], Any]
"""A function of the writer's connection: runs SQL, commits nothing, awaits nothing, touches nothing else.

It may be run more than once: when another job of the same commit fails, all is undone and run anew."""


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """The tables of one package: numbered steps of plain SQL statements, applied in order, never changed once released."""

    name: str
    steps: Sequence[str]


class Store(Protocol):
    """What the product may do with `state.db`."""

    async def write(self, *jobs: Job) -> list[Any]:
        """Run the jobs in order as ONE transaction and return their results once it is durable (fsync).

        All or nothing: when one raises, none of them happened and its error is raised here. Transactions of
        several callers share a commit,
        none sees another's failure. Cancelling the caller does not cancel the jobs. Raises `StoreUnavailable`
        when nothing can be committed (disk
        full, I/O error, closed); `sqlite3.IntegrityError` and the jobs' own errors come through as they are.
        """
        ...

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Run one SELECT on a reader and return all its rows.

        Sees every transaction whose `write` has returned.

        Raises `StoreUnavailable` or `StoreCorrupt`.
        """
        ...

    @property
    def fault(self) -> str | None:
        """Why nothing can be committed at the moment, in one sentence; `None` when all is well."""
        ...

    async def wait_healthy(self) -> None:
        """Return when commits work (at once when they do)."""
        ...
