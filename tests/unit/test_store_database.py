"""Locks, full disks, WAL growth and the file's mode."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from agent_core.store import sessions, transcript
from agent_core.store.database import Limits, SqliteStore
from agent_core.store.schema import PART
from agent_core.store.search import search
from hermes.agent import SessionSpec
from hermes.errors import StoreCorrupt, StoreUnavailable
from hermes.messages import Message
from hermes.store import Job

SPEC = SessionSpec("k", "main", "telegram", "telegram", "direct", "1")
NEVER = Limits(probe_every=3600.0)
SOON = Limits(probe_every=0.02)

HOLD_THE_LOCK = """
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(3)
c.execute("COMMIT")
"""


Opening = Callable[..., Awaitable[SqliteStore]]


@pytest.fixture
async def opening() -> AsyncIterator[Opening]:
    """Opens stores and closes them whatever becomes of the test: their threads would keep the run from ending."""
    async with AsyncExitStack() as stack:

        async def open_store(path: Path, limits: Limits | None = None) -> SqliteStore:
            store = await SqliteStore.open(path, [PART], limits=limits)
            stack.push_async_callback(store.aclose)
            return store

        yield open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "state.db", [PART])
    yield opened
    await opened.aclose()


def put(key: str, size: int = 10) -> Job:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO kv(key, value) VALUES(?, ?)", (key, "x" * size))

    return job


def no_more_pages(connection: sqlite3.Connection) -> None:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}").fetchall()


@contextmanager
def files_cannot_grow_beyond(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def latest_heartbeat(done: asyncio.Event) -> float:
    worst = 0.0
    while not done.is_set():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        worst = max(worst, time.monotonic() - before - 0.01)
    return worst


async def test_the_file_and_its_wal_are_for_the_owner_alone(tmp_path: Path, store: SqliteStore) -> None:
    await store.write(put("a"))
    assert {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()} == {
        "state.db": 0o600,
        "state.db-wal": 0o600,
        "state.db-shm": 0o600,
    }


async def test_a_wider_mode_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    await (await SqliteStore.open(path, [PART])).aclose()
    path.chmod(0o644)
    await (await SqliteStore.open(path, [PART])).aclose()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_the_writer_is_durable_and_clean(store: SqliteStore) -> None:
    def pragmas(connection: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await store.write(pragmas) == [["wal", 2, 1, 1]]


async def test_FT_10_a_lock_held_for_three_seconds_loses_nothing_and_stops_no_heartbeat(
    store: SqliteStore,
) -> None:
    await store.write(
        sessions.ensure_session(SPEC, "s", 1.0), transcript.begin_turn("t", "s", {"inputs": []}, 1.0)
    )
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD_THE_LOCK, str(store.path), stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    done = asyncio.Event()
    heartbeat = asyncio.create_task(latest_heartbeat(done))
    began = time.monotonic()
    said = [Message("user", "question"), Message("assistant", "answer")]
    await store.write(transcript.close_turn("t", said, transcript.Ending("answered", 2.0)))
    waited = time.monotonic() - began
    done.set()
    assert waited > 1.0, "the lock was not held"
    assert await heartbeat < 0.2
    assert [m.text for m in await transcript.history(store, "s")] == ["question", "answer"]
    assert store.fault is None
    await holder.wait()


async def test_FT_10_a_lock_that_is_never_let_go_is_said_and_heals(opening: Opening, tmp_path: Path) -> None:
    store = await opening(tmp_path / "state.db", limits=Limits(probe_every=0.02, busy=0.1))
    other = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="write lock"):
        await store.write(put("a"))
    assert store.fault is not None
    await asyncio.to_thread(other.execute, "COMMIT")
    await store.wait_healthy()
    await store.write(put("a"))
    other.close()
    await store.aclose()


async def test_FT_14_a_full_disk_fails_every_write_until_a_probe_succeeds(
    opening: Opening, tmp_path: Path
) -> None:
    store = await opening(tmp_path / "state.db", limits=NEVER)
    said: list[str | None] = []
    store.on_fault = said.append
    await store.write(put("before"), no_more_pages)
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await store.write(put("big", 1_000_000))
    assert said == [store.fault]
    assert "full" in (store.fault or "")
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await store.write(put("small"))
    assert [row["key"] for row in await store.read("SELECT key FROM kv")] == ["before"]
    await store.aclose()


async def test_FT_14_one_write_that_meets_a_full_disk_leaves_nothing_of_its_batch(
    opening: Opening, tmp_path: Path
) -> None:
    store = await opening(tmp_path / "state.db", limits=NEVER)
    await store.write(no_more_pages)
    outcomes = await asyncio.gather(
        *(store.write(put(f"k{n}", 500_000 if n == 5 else 10)) for n in range(10)), return_exceptions=True
    )
    kept = {row["key"] for row in await store.read("SELECT key FROM kv")}
    assert kept == {f"k{n}" for n, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)}
    assert isinstance(outcomes[5], StoreUnavailable)
    await store.aclose()


async def test_FT_14_writes_work_again_by_themselves_when_the_disk_does(
    opening: Opening, tmp_path: Path
) -> None:
    store = await opening(tmp_path / "state.db", limits=SOON)
    said: list[str | None] = []
    store.on_fault = said.append
    await store.write(put("before"))
    with files_cannot_grow_beyond(store.path.stat().st_size + 8_192):
        with pytest.raises(StoreUnavailable):
            await store.write(put("big", 2_000_000))
        assert store.fault is not None
    await store.wait_healthy()
    await store.write(put("after"))
    assert said[0] is not None
    assert said[-1] is None
    assert {row["key"] for row in await store.read("SELECT key FROM kv")} == {"before", "after"}
    await store.aclose()


async def test_a_damaged_file_is_named_and_never_read_as_empty(opening: Opening, tmp_path: Path) -> None:
    store = await opening(tmp_path / "state.db")
    await store.write(*(put(f"k{n}", 3_000) for n in range(50)))
    await store.aclose()
    [root] = (
        sqlite3.connect(tmp_path / "state.db")
        .execute("SELECT rootpage FROM sqlite_master WHERE name='kv'")
        .fetchone()
    )
    with (tmp_path / "state.db").open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    again = await opening(tmp_path / "state.db")
    with pytest.raises(StoreCorrupt, match="hermes doctor"):
        await again.read("SELECT * FROM kv")
    await again.aclose()


@pytest.mark.timeout(120)
async def test_FT_13_the_wal_stays_bounded_beside_searches_and_is_gone_after_a_stop(
    store: SqliteStore,
) -> None:
    await store.write(sessions.ensure_session(SPEC, "s", 1.0))
    wal = store.path.with_name("state.db-wal")
    largest = 0
    for number in range(100):
        rows = [Message("user", f"row {number} {n} about staging") for n in range(500)]
        await store.write(transcript.append_messages("s", None, rows, 1.0))
        assert len(await search(store, "staging")) == 20
        largest = max(largest, wal.stat().st_size)
    assert largest <= 16 * 1024 * 1024  # a checkpoint that never comes leaves 20 here
    await store.truncate_wal()
    assert wal.stat().st_size == 0, "a reader still pins the WAL"
    await store.aclose()
    assert not wal.exists()
