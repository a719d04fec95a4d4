"""`SqliteStore`: the promise of `hermes/store.py` over one SQLite file.

One thread writes (see `writer`), a small pool reads. The file has mode 0600 and a WAL, and is ours by its
application id.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiosqlite

from agent_core.store import faults
from agent_core.store.connection import connect_reader, connect_writer, ensure_private_file
from agent_core.store.index import set_aside
from agent_core.store.migrate import check_ownership, migrate
from agent_core.store.writer import Call, Limits, Report, Writer
from hermes.errors import StoreUnavailable
from hermes.store import Job, SchemaPart

__all__ = ["Limits", "SqliteStore"]

_CLOSED = "The store is closed."
_TRUNCATE = "PRAGMA wal_checkpoint(TRUNCATE)"


class SqliteStore:
    """One open `state.db`. Made by `open`; belongs to the event loop it was opened on.

    on_fault: called on the loop with the sentence when nothing can be committed now, and with `None` when
    it can again; must not raise.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, limits: Limits) -> None:
        self.path = path
        self.on_fault: Callable[[str | None], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._writer = Writer(path, connection, self._report, limits, set_aside)
        self._pool: asyncio.LifoQueue[aiosqlite.Connection] = asyncio.LifoQueue()
        self._readers: list[aiosqlite.Connection] = []
        self._fault: str | None = None
        self._healthy = asyncio.Event()
        self._healthy.set()
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path, parts: Sequence[SchemaPart], *, readers: int = 2, limits: Limits | None = None
    ) -> SqliteStore:
        """Open or create the file and bring it to the schema of `parts`.

        Raises `HomeError` (not ours, or no room for the copy before an upgrade), `StoreTooNew`,
        `StoreUnavailable`, `StoreCorrupt`.
        """
        try:
            connection = await asyncio.to_thread(_prepare, path, parts)
        except sqlite3.Error as error:
            raise faults.translate(error) from error
        store = cls(path, connection, limits or Limits())
        store._writer.start()
        try:
            for _ in range(readers):
                await store._add_reader()
        except BaseException:
            await store.aclose()
            raise
        return store

    async def _add_reader(self) -> None:
        reader = await connect_reader(self.path)
        self._readers.append(reader)
        self._pool.put_nowait(reader)

    @property
    def fault(self) -> str | None:
        """Why nothing can be committed at the moment, in one sentence; `None` when all is well."""
        return self._fault

    async def wait_healthy(self) -> None:
        """Return when commits work (at once when they do)."""
        await self._healthy.wait()

    async def write(self, *jobs: Job) -> list[Any]:
        """See `Store.write`."""
        return await self._submit(jobs)

    async def truncate_wal(self) -> None:
        """Copy the WAL into the file and empty it."""
        await self._submit((), _TRUNCATE)

    async def compact(self) -> None:
        """Write the file anew, so that nothing deleted is left in it; writes wait meanwhile.

        Needs as much free disk again as the file has. Raises `StoreUnavailable`.
        """
        await self._submit((), "VACUUM", _TRUNCATE)

    async def _submit(self, jobs: tuple[Job, ...], *after: str) -> list[Any]:
        if self._closed:
            raise StoreUnavailable(_CLOSED)
        waiter: asyncio.Future[list[Any]] = self._loop.create_future()
        self._writer.submit(Call(jobs, waiter, after))
        # A cancelled caller cancels this future only: the call stays queued and runs.
        return await waiter

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """See `Store.read`. The cursor is run to its end in one hop, so that no reader pins the WAL."""
        if self._closed:
            raise StoreUnavailable(_CLOSED)
        reader = await self._pool.get()
        try:
            if self._closed:
                raise StoreUnavailable(_CLOSED)
            return list(await reader.execute_fetchall(sql, parameters))
        except sqlite3.Error as error:
            raise faults.translate(error) from error
        finally:
            self._pool.put_nowait(reader)

    async def aclose(self) -> None:
        """Finish the queued writes, checkpoint, close. Later calls raise `StoreUnavailable`."""
        if self._closed:
            return
        self._closed = True
        for reader in self._readers:
            await reader.close()
        await asyncio.to_thread(self._writer.finish)

    def _report(self, report: Report) -> None:
        if not self._loop.is_closed():  # else nobody is left to hear it
            self._loop.call_soon_threadsafe(self._settle, report)

    def _settle(self, report: Report) -> None:
        self._take_fault(report.fault)
        for call, verdict in report.verdicts:
            waiter: asyncio.Future[list[Any]] = call.token
            if waiter.done():
                continue
            if isinstance(verdict, BaseException):
                waiter.set_exception(verdict)
            else:
                waiter.set_result(verdict)

    def _take_fault(self, fault: str | None) -> None:
        if fault == self._fault:
            return
        self._fault = fault
        if fault is None:
            self._healthy.set()
        else:
            self._healthy.clear()
        if self.on_fault is not None:
            self.on_fault(fault)


def _prepare(path: Path, parts: Sequence[SchemaPart]) -> sqlite3.Connection:
    check_ownership(path)
    ensure_private_file(path)
    connection = connect_writer(path)
    try:
        migrate(connection, path, parts)
    except BaseException:
        connection.close()
        raise
    return connection
