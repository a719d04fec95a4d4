"""The writing thread: takes every waiting call, runs them in one transaction, commits them together.

One hop and one fsync per batch; a call's failure is its own: where one fails, all are run anew, each in a
savepoint. Nothing here touches the event loop: verdicts leave through one callback per batch.
"""

from __future__ import annotations

import queue
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.store import faults
from agent_core.store.connection import connect_writer
from hermes.errors import StoreError, StoreUnavailable
from hermes.store import Job

__all__ = ["Call", "Limits", "Report", "Verdict", "Writer"]

Verdict = list[Any] | BaseException
"""The results of a call's jobs, or why none of them happened."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the writer waits, and how much it takes at once.

    probe_every: seconds between tries to commit while nothing can be committed. busy: seconds that another
    process's lock is waited for. batch: calls that share one commit at most.
    """

    probe_every: float = 5.0
    busy: float = 30.0
    batch: int = 256


@dataclass(frozen=True, slots=True)
class Call:
    """One `write`: its jobs, the token of its verdict; `after`: statements that no transaction takes."""

    jobs: tuple[Job, ...]
    token: Any
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a batch came to; `fault` is the writer's state after it."""

    fault: str | None
    verdicts: Sequence[tuple[Call, Verdict]] = ()


@dataclass(slots=True)
class _BatchLost(Exception):
    cause: BaseException


@dataclass(slots=True)
class Writer:
    """Owns the writing connection. `submit` never blocks; `report` runs in the thread, once a batch.

    remedy: a job to run when a write meets damage; returns whether the write is worth another try.
    """

    path: Path
    connection: sqlite3.Connection
    report: Callable[[Report], None]
    limits: Limits = field(default_factory=Limits)
    remedy: Job | None = None
    _calls: queue.SimpleQueue[Call | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None
    _fault: str | None = None
    _probed: float = 0.0
    _closing: bool = False

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, call: Call) -> None:
        """Queue a call."""
        self._calls.put(call)

    def finish(self) -> None:
        """Run what is queued, then checkpoint and close; blocks until that is done."""
        self._calls.put(None)
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        while not self._closing:
            batch = self._take()
            if self._fault is not None and self._is_probe_due():
                self._probe()
            if batch:
                self._handle(batch)
        self._close()

    def _take(self) -> list[Call]:
        """Everything that waits, up to the bound; while at fault no longer than until the next probe."""
        batch: list[Call] = []
        try:
            call = self._calls.get(timeout=self._until_probe())
            while call is not None:
                batch.append(call)
                if len(batch) >= self.limits.batch:
                    return batch
                call = self._calls.get_nowait()
        except queue.Empty:
            return batch
        self._closing = True
        return batch

    def _until_probe(self) -> float | None:
        if self._fault is None:
            return None
        return max(0.0, self._probed + self.limits.probe_every - time.monotonic())

    def _is_probe_due(self) -> bool:
        return time.monotonic() >= self._probed + self.limits.probe_every

    def _handle(self, batch: list[Call]) -> None:
        if self._fault is not None:
            self._tell([(call, StoreUnavailable(self._fault)) for call in batch])
            return
        try:
            verdicts = [(call, self._afterwards(call, verdict)) for call, verdict in self._run(batch)]
        except Exception as error:  # noqa: BLE001  a thread that died would leave every caller waiting for ever
            self._set_fault(f"The store's writer failed: {error!r}.")
            verdicts = [(call, StoreUnavailable(self._fault)) for call in batch]
        self._tell(verdicts)

    def _afterwards(self, call: Call, verdict: Verdict) -> Verdict:
        if isinstance(verdict, BaseException):
            return verdict
        try:
            for statement in call.after:
                self.connection.execute(statement).fetchall()
        except sqlite3.Error as error:
            return faults.translate(error)
        return verdict

    def _tell(self, verdicts: Sequence[tuple[Call, Verdict]] = ()) -> None:
        self.report(Report(self._fault, verdicts))

    def _run(self, batch: list[Call]) -> list[tuple[Call, Verdict]]:
        try:
            return self._transact(batch)
        except _BatchLost as lost:
            self._roll_back()
            kind = faults.classify(lost.cause)
            if kind in ("busy", "unavailable"):
                self._set_fault(faults.sentence(lost.cause))
                return [(call, faults.translate(lost.cause)) for call in batch]
            if kind == "corrupt" and self._mend():
                return self._run(batch)
            if len(batch) == 1:
                return [(batch[0], faults.translate(lost.cause))]
        # Somebody in the batch broke the commit for all: each alone, so that only the culprit fails.
        return [verdict for call in batch for verdict in self._run_alone(call)]

    def _run_alone(self, call: Call) -> list[tuple[Call, Verdict]]:
        if self._fault is not None:
            return [(call, StoreUnavailable(self._fault))]
        return self._run([call])

    def _transact(self, batch: list[Call]) -> list[tuple[Call, Verdict]]:
        try:
            self._patiently("BEGIN IMMEDIATE")
            verdicts = self._run_plainly(batch) or [(call, self._run_call(call)) for call in batch]
            self._patiently("COMMIT")
        except sqlite3.Error as error:
            raise _BatchLost(error) from error
        return verdicts

    def _run_plainly(self, batch: list[Call]) -> list[tuple[Call, Verdict]] | None:
        """All without savepoints, which cost as much as a small call; `None` when one of several failed: all are undone."""
        verdicts: list[tuple[Call, Verdict]] = []
        try:
            for call in batch:
                verdicts.append((call, [job(self.connection) for job in call.jobs]))
                self._refuse_ended()
        except _BatchLost:
            raise
        except BaseException as error:  # noqa: BLE001  whatever a job raises is its caller's verdict
            self._refuse_lost(error)
            self.connection.execute("ROLLBACK")
            self._patiently("BEGIN IMMEDIATE")
            return [(batch[0], _told(error))] if len(batch) == 1 else None
        return verdicts

    def _refuse_ended(self) -> None:
        if not self.connection.in_transaction:
            raise _BatchLost(StoreError("A job ended its transaction; jobs must not commit."))

    def _refuse_lost(self, error: BaseException) -> None:
        # After some errors SQLite has rolled the whole transaction back by itself.
        if not self.connection.in_transaction or faults.classify(error) != "own":
            raise _BatchLost(error) from error

    def _run_call(self, call: Call) -> Verdict:
        self.connection.execute("SAVEPOINT call")
        try:
            results = [job(self.connection) for job in call.jobs]
            self._refuse_ended()
            self.connection.execute("RELEASE call")
        except _BatchLost:
            raise
        except BaseException as error:  # noqa: BLE001  the same
            self._refuse_lost(error)
            self.connection.execute("ROLLBACK TO call")
            self.connection.execute("RELEASE call")
            return _told(error)
        return results

    def _patiently(self, statement: str) -> None:
        """Run a statement, waiting for another process's lock with jitter."""
        deadline = time.monotonic() + self.limits.busy
        while True:
            try:
                self.connection.execute(statement)
            except sqlite3.OperationalError as error:
                if faults.classify(error) != "busy" or time.monotonic() >= deadline:
                    raise
                time.sleep(random.uniform(0.005, 0.05))
            else:
                return

    def _mend(self) -> bool:
        """Run the remedy against damage in its own transaction; says whether to try again."""
        if self.remedy is None:
            return False
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            has_changed = bool(self.remedy(self.connection))
            self.connection.execute("COMMIT")
        except sqlite3.Error:
            # The damage is where the remedy works too; the write's own error tells of it.
            self._roll_back()
            return False
        return has_changed

    def _roll_back(self) -> None:
        if not self.connection.in_transaction:
            return
        try:
            self.connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            # Closing rolls back; the probe opens a new connection.
            self.connection.close()
            self._set_fault(faults.sentence(error))

    def _set_fault(self, sentence: str) -> None:
        self._fault = sentence
        self._probed = time.monotonic()

    def _probe(self) -> None:
        # 64 kB, since one page may still fit a full disk's WAL; a new connection, since the old may hold a
        # stale view after an I/O error.
        try:
            self.connection.close()
            self.connection = connect_writer(self.path)
            self.connection.execute("REPLACE INTO store_probe(id, filler) VALUES(1, zeroblob(65536))")
            self.connection.execute("DELETE FROM store_probe")
        except sqlite3.Error as error:
            self._set_fault(faults.sentence(error))
        else:
            self._fault = None
        self._tell()

    def _close(self) -> None:
        try:
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            # Everything is committed in the WAL already; the next start reads it from there.
            self._fault = self._fault or "The store was closed without its last checkpoint."
        finally:
            self.connection.close()


def _told(error: BaseException) -> BaseException:
    if isinstance(error, StopIteration):  # a future refuses to carry it
        return RuntimeError("A job raised StopIteration.")
    return faults.translate(error)
