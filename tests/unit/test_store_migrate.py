"""Ownership, versions, the copy before an upgrade."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from agent_core.store.database import SqliteStore
from agent_core.store.migrate import APPLICATION_ID, backups, split_statements
from agent_core.store.schema import PART
from hermes.errors import HomeError, StoreTooNew
from hermes.store import SchemaPart

ONE = "CREATE TABLE one(id INTEGER PRIMARY KEY) STRICT; INSERT INTO one(id) VALUES(1);"
TWO = "CREATE TABLE two(id INTEGER PRIMARY KEY, note TEXT DEFAULT 'a;b') STRICT"
THREE = "CREATE TABLE three(id INTEGER PRIMARY KEY) STRICT; INSERT INTO nowhere VALUES(1)"


async def open_and_close(path: Path, *parts: SchemaPart) -> None:
    await (await SqliteStore.open(path, parts)).aclose()


def tables(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    return found - {"schema_version", "store_probe"}


async def test_a_new_file_is_marked_as_ours_and_has_one_version_row_a_part(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    await open_and_close(path, PART, SchemaPart("x", (ONE, TWO)))
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    versions = dict(connection.execute("SELECT part, version FROM schema_version").fetchall())
    assert versions == {"agent": len(PART.steps), "x": 2}
    connection.close()


async def test_an_upgrade_copies_the_file_first_and_keeps_two_copies(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    for count in range(1, 5):
        steps = tuple(f"CREATE TABLE t{n}(id INTEGER PRIMARY KEY) STRICT" for n in range(count))
        await open_and_close(path, SchemaPart("x", steps))
    kept = await asyncio.to_thread(backups, path)
    assert [p.name for p in kept] == ["state.db.v3.bak", "state.db.v2.bak"]
    assert tables(kept[0]) == {"t0", "t1", "t2"}
    assert kept[0].stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.tmp"))


async def test_opening_again_changes_nothing_and_copies_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    for _ in range(2):
        await open_and_close(path, SchemaPart("x", (ONE,)))
    assert await asyncio.to_thread(backups, path) == []


async def test_a_step_that_fails_leaves_the_schema_before_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    await open_and_close(path, SchemaPart("x", (ONE,)))
    with pytest.raises(sqlite3.OperationalError):
        await open_and_close(path, SchemaPart("x", (ONE, TWO, THREE)))
    assert tables(path) == {"one", "two"}
    await open_and_close(path, SchemaPart("x", (ONE, TWO)))


async def test_a_newer_file_is_refused_with_its_copies_named(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    await open_and_close(path, SchemaPart("x", (ONE,)))
    await open_and_close(path, SchemaPart("x", (ONE, TWO)))
    with pytest.raises(StoreTooNew, match=r"version 2.*up to 1.*state\.db\.v1\.bak") as caught:
        await open_and_close(path, SchemaPart("x", (ONE,)))
    assert caught.value.exit_code == 78
    assert tables(path) == {"one", "two"}


@pytest.mark.parametrize("wal", [False, True])
async def test_somebody_elses_state_db_is_not_touched(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("CREATE TABLE sessions(id)")
    connection.commit()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(HomeError, match="HERMES_HOME"):
        await SqliteStore.open(path, [PART])
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    connection.close()


async def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"dear diary\n" * 100)
    with pytest.raises(HomeError):
        await SqliteStore.open(path, [PART])
    assert [p.name for p in tmp_path.iterdir()] == ["state.db"]
    assert path.read_bytes() == b"dear diary\n" * 100


async def test_an_empty_file_is_free_to_be_taken(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    await open_and_close(tmp_path / "state.db", SchemaPart("x", (ONE,)))
    assert tables(tmp_path / "state.db") == {"one"}


async def test_our_file_left_by_a_kill_with_everything_in_its_wal_is_ours(tmp_path: Path) -> None:
    path, copy = tmp_path / "state.db", tmp_path / "copy"
    store = await SqliteStore.open(path, [SchemaPart("x", (ONE,))])
    copy.mkdir()
    for file in tmp_path.glob("state.db*"):
        (copy / file.name).write_bytes(file.read_bytes())
    await store.aclose()
    await open_and_close(copy / "state.db", SchemaPart("x", (ONE,)))
    assert tables(copy / "state.db") == {"one"}


async def test_our_file_left_in_the_middle_of_a_checkpoint_is_ours_and_whole(tmp_path: Path) -> None:
    """A full disk, or a kill, cuts a checkpoint: the file is short of its pages, the WAL has them."""
    path = tmp_path / "state.db"
    store = await SqliteStore.open(path, [PART])
    await store.write(lambda c: c.execute("REPLACE INTO store_probe(id, filler) VALUES(7, zeroblob(90000))"))
    wal = path.with_name("state.db-wal")
    kept = await asyncio.to_thread(wal.read_bytes)
    await store.aclose()
    whole = await asyncio.to_thread(path.read_bytes)
    path.write_bytes(whole[: 3 * 4096])
    wal.write_bytes(kept)
    again = await SqliteStore.open(path, [PART])
    [row] = await again.read("SELECT length(filler) AS n FROM store_probe WHERE id = 7")
    assert row["n"] == 90_000
    [said] = await again.read("PRAGMA integrity_check")
    assert said[0] == "ok"
    await again.aclose()


def test_statements_are_split_outside_strings_comments_and_triggers() -> None:
    script = """
    -- one; two
    CREATE TABLE a(x DEFAULT ';');
    CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; SELECT 1; END;
    /* ; */ INSERT INTO a VALUES('it''s; fine')
    -- the end;
    """
    found = [" ".join(s.split()) for s in split_statements(script)]
    assert len(found) == 3
    assert found[0].endswith("CREATE TABLE a(x DEFAULT ';');")
    assert found[1].startswith("CREATE TRIGGER")
    assert found[1].endswith("END;")
