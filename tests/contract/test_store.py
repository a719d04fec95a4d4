"""The promise of `hermes/store.py`, run over every implementation."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.store.database import SqliteStore
from hermes.errors import StoreError, StoreUnavailable
from hermes.store import Job, SchemaPart

PART = SchemaPart("notes", ("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT UNIQUE) STRICT",))


@pytest.fixture(params=[SqliteStore])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await request.param.open(tmp_path / "state.db", [PART])
    yield opened
    await opened.aclose()


def add(text: str) -> Job:
    def job(connection: sqlite3.Connection) -> int | None:
        return connection.execute("INSERT INTO notes(text) VALUES(?)", (text,)).lastrowid

    return job


def fail(connection: sqlite3.Connection) -> None:
    raise LookupError("nothing there")


async def texts(store: SqliteStore) -> list[str]:
    return [row["text"] for row in await store.read("SELECT text FROM notes ORDER BY id")]


async def test_a_write_returns_the_results_of_its_jobs_in_order(store: SqliteStore) -> None:
    assert await store.write(add("a"), lambda c: "between", add("b")) == [1, "between", 2]


async def test_a_read_sees_every_write_that_has_returned(store: SqliteStore) -> None:
    for number in range(30):
        await store.write(add(str(number)))
        assert len(await texts(store)) == number + 1


async def test_a_failing_job_takes_its_whole_write_back_and_raises_its_own_error(store: SqliteStore) -> None:
    with pytest.raises(LookupError, match="nothing there"):
        await store.write(add("a"), fail)
    assert await texts(store) == []


async def test_constraint_errors_come_through_as_they_are(store: SqliteStore) -> None:
    await store.write(add("a"))
    with pytest.raises(sqlite3.IntegrityError):
        await store.write(add("b"), add("a"))
    assert await texts(store) == ["a"]


async def test_no_caller_sees_the_failure_of_another_in_the_same_commit(store: SqliteStore) -> None:
    outcomes = await asyncio.gather(
        *(store.write(add(str(n)), *([fail] if n % 3 == 0 else [])) for n in range(60)),
        return_exceptions=True,
    )
    assert [isinstance(o, LookupError) for o in outcomes] == [n % 3 == 0 for n in range(60)]
    assert sorted(await texts(store), key=int) == [str(n) for n in range(60) if n % 3]


async def test_cancelling_the_caller_does_not_cancel_the_jobs(store: SqliteStore) -> None:
    ran = asyncio.Event()
    loop = asyncio.get_running_loop()

    def job(connection: sqlite3.Connection) -> None:
        add("kept")(connection)
        loop.call_soon_threadsafe(ran.set)

    caller = asyncio.create_task(store.write(job))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await ran.wait()
    await store.write()
    assert await texts(store) == ["kept"]


async def test_MD_21_a_lone_surrogate_fails_its_own_write_only(store: SqliteStore) -> None:
    outcomes: list[Any] = await asyncio.gather(
        store.write(add("before")),
        store.write(add("ok \ud83d end")),
        store.write(add("after")),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], UnicodeEncodeError)
    assert await texts(store) == ["before", "after"]


async def test_an_error_that_no_future_can_carry_does_not_stop_the_others(store: SqliteStore) -> None:
    def stop(connection: sqlite3.Connection) -> None:
        raise StopIteration

    outcomes = await asyncio.gather(store.write(stop), store.write(add("a")), return_exceptions=True)
    assert isinstance(outcomes[0], RuntimeError)
    assert outcomes[1] == [1]


async def test_a_job_that_commits_is_refused_and_the_others_are_written_once(store: SqliteStore) -> None:
    def end(connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")

    outcomes = await asyncio.gather(
        store.write(end), store.write(add("a")), store.write(add("b")), return_exceptions=True
    )
    assert isinstance(outcomes[0], StoreError)
    assert "must not commit" in str(outcomes[0])
    assert await texts(store) == ["a", "b"]


async def test_a_reader_cannot_write(store: SqliteStore) -> None:
    with pytest.raises((sqlite3.OperationalError, StoreUnavailable)):
        await store.read("INSERT INTO notes(text) VALUES('x')")
    assert await texts(store) == []


async def test_closing_finishes_what_is_queued_and_refuses_what_comes_after(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "other.db", [PART])
    queued = [asyncio.create_task(store.write(add(str(n)))) for n in range(20)]
    await asyncio.sleep(0)
    await store.aclose()
    assert len(await asyncio.gather(*queued)) == 20
    for call in (store.write(add("late")), store.read("SELECT 1")):
        with pytest.raises(StoreUnavailable, match="closed"):
            await call
    again = await SqliteStore.open(tmp_path / "other.db", [PART])
    assert len(await texts(again)) == 20
    await again.aclose()
