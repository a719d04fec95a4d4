"""Damage is found, said and mended from what is whole."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_core.store import sessions
from agent_core.store import transcript as t
from agent_core.store.behind import Behind
from agent_core.store.database import Limits, SqliteStore
from agent_core.store.doctor import check, mend_index, mend_transcripts
from agent_core.store.jsonl import transcript_path
from agent_core.store.schema import PART
from agent_core.store.search import search
from hermes.agent import SessionSpec
from hermes.errors import StoreCorrupt, StoreUnavailable
from hermes.messages import Message

SPEC = SessionSpec("k", "main", "telegram", "telegram", "direct", "1")
WORDS = ("alpha", "beta", "gamma 部署")


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
    await opened.write(sessions.ensure_session(SPEC, "s1", 1.0))
    await opened.write(t.append_messages("s1", "t1", [Message("user", word) for word in WORDS], 2.0))
    await write_behind(opened, tmp_path)
    yield opened
    await opened.aclose()


async def write_behind(store: SqliteStore, home: Path) -> None:
    behind = Behind(store, home)
    behind.start()
    await behind.wait_written()
    await behind.aclose()


def spoil_index(path: Path, where: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE messages_fts_data SET block = x'ffffffffffffffffffffffff' WHERE {where}")
    connection.commit()
    connection.close()


async def wrong(store: SqliteStore, home: Path) -> dict[str, bool]:
    return {f.name: f.fixable for f in await check(store, home) if not f.ok}


async def test_a_sound_store_has_no_finding(store: SqliteStore, tmp_path: Path) -> None:
    assert [(f.name, f.ok) for f in await check(store, tmp_path)] == [
        ("file", True), ("index", True), ("orphans", True), ("transcripts", True)]  # fmt: skip


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("where", ["id = 10", "id > 10", "1"])
async def test_FT_11_a_broken_index_stops_no_turn_and_is_rebuilt_offline(
    opening: Opening, store: SqliteStore, tmp_path: Path, where: str, restarts: bool
) -> None:
    await asyncio.to_thread(spoil_index, store.path, where)
    if restarts:
        await store.aclose()
        store = await opening(store.path)
    with pytest.raises(StoreCorrupt, match="hermes doctor"):
        await search(store, "alpha")
    for number in range(40):
        turn = f"late{number}"
        await store.write(t.begin_turn(turn, "s1", {"inputs": []}, 3.0))
        await store.write(t.close_turn(turn, [Message("user", f"delta {number}")], t.Ending("answered", 4.0)))
    assert len(await t.history(store, "s1")) == 43
    await write_behind(store, tmp_path)
    assert await wrong(store, tmp_path) == {"index": True}
    with pytest.raises(StoreUnavailable, match="stop the daemon"):
        await asyncio.to_thread(mend_index, store.path)
    await store.aclose()
    assert (await asyncio.to_thread(mend_index, store.path)).ok
    again = await opening(store.path)
    for word in ("alpha", "部署", "delta"):
        assert await search(again, word), word
    assert len(await search(again, "delta", limit=100)) == 40
    assert await wrong(again, tmp_path) == {}
    await again.write(t.append_messages("s1", None, [Message("user", "epsilon")], 5.0))
    assert len(await search(again, "epsilon")) == 1
    await again.aclose()


async def test_FT_11_an_index_that_misses_rows_is_found(store: SqliteStore, tmp_path: Path) -> None:
    def forget(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO messages_fts(messages_fts, rowid, body) VALUES('delete', 1, 'alpha')")

    await store.write(forget)
    assert await wrong(store, tmp_path) == {"index": True}


async def test_rows_without_their_session_are_found(store: SqliteStore, tmp_path: Path) -> None:
    def orphan(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(
            "INSERT INTO turns(id, session_id, session_key, begun_at) VALUES('t9', 'nobody', 'k', 1)"
        )
        connection.commit()
        connection.close()

    await asyncio.to_thread(orphan, store.path)
    assert await wrong(store, tmp_path) == {"orphans": False}


@pytest.mark.parametrize("damage", ["gone", "short", "spoilt"])
async def test_transcripts_are_written_anew_from_the_rows(
    store: SqliteStore, tmp_path: Path, damage: str
) -> None:
    path = transcript_path(tmp_path, "main", "s1")
    sound = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(sound[: len(sound) // 2] if damage == "short" else sound.replace(b"{", b"[", 1))
    assert await wrong(store, tmp_path) == {"transcripts": True}
    await mend_transcripts(store, tmp_path)
    assert path.read_bytes() == sound
    assert await wrong(store, tmp_path) == {}


async def test_FT_12_rows_come_back_from_the_transcript_where_a_session_has_none(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.write(lambda c: c.execute("DELETE FROM messages").rowcount)
    assert await wrong(store, tmp_path) == {"transcripts": True}
    findings = await mend_transcripts(store, tmp_path)
    assert "came back" in findings[0].detail
    assert [m.text for m in await t.history(store, "s1")] == list(WORDS)
    assert len(await search(store, "部署")) == 1
    assert (await sessions.list_sessions(store))[0].messages == 3
    assert await wrong(store, tmp_path) == {}
