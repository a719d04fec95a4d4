"""What is removed is gone from every file, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.store import index, sessions
from agent_core.store import transcript as t
from agent_core.store.behind import Behind
from agent_core.store.database import SqliteStore
from agent_core.store.retention import Rules, prune, purge_session
from agent_core.store.schema import PART
from agent_core.store.search import search
from hermes.agent import SessionSpec
from hermes.messages import Message

DAY = 86_400.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "state.db", [PART])
    for name in ("s1", "s2"):
        spec = SessionSpec(name, "main", "telegram", "telegram", "direct", name)
        await opened.write(sessions.ensure_session(spec, name, 1.0))
    yield opened
    await opened.aclose()


async def turn(store: SqliteStore, turn_id: str, session_id: str, text: str, at: float = 1.0) -> None:
    await store.write(t.begin_turn(turn_id, session_id, {"inputs": [{"text": text}]}, at))
    await store.write(t.close_turn(turn_id, [Message("user", text)], t.Ending("answered", at)))


async def test_steps_of_long_closed_turns_are_pruned_and_nothing_else(store: SqliteStore) -> None:
    await turn(store, "old", "s1", "old words", at=1 * DAY)
    await turn(store, "new", "s1", "new words", at=60 * DAY)
    await store.write(t.begin_turn("open", "s1", {"inputs": []}, 0.0))
    assert await store.write(prune(100 * DAY, Rules(steps=90))) == [1]
    assert await store.write(prune(100 * DAY, Rules(steps=90))) == [0]
    rows = await store.read("SELECT turn_id FROM steps ORDER BY turn_id")
    assert [row["turn_id"] for row in rows] == ["new", "open"]
    assert len(await t.history(store, "s1")) == 2


async def test_a_deleted_session_leaves_no_word_in_any_file(store: SqliteStore, tmp_path: Path) -> None:
    for number in range(300):
        await turn(store, f"a{number}", "s1", f"xylophone{number} secretword 部署机密")
        await turn(store, f"b{number}", "s2", f"ordinary{number}")
    behind = Behind(store, tmp_path)
    behind.start()
    await behind.wait_written()
    await behind.aclose()
    ran: list[str] = []
    assert await purge_session(store, tmp_path, "s1", lambda c: ran.append("others")) == []
    assert ran == ["others"]
    for path in (p for p in tmp_path.rglob("*") if p.is_file() and p.name != "sessions.json"):
        content = path.read_bytes()
        for word in ("xylophone", "secretword", "部署", "机密"):
            assert word.encode() not in content, f"{word} is still in {path.name}"
    assert await search(store, "secretword") == []
    assert len(await search(store, "ordinary7")) == 1
    assert await store.write(index.check_index) == [None]
    for table in ("turns", "steps", "usage"):
        column = "turn_id" if table == "steps" else "session_id"
        rows = await store.read(f"SELECT 1 FROM {table} WHERE {column} LIKE 'a%' OR {column} = 's1'")
        assert rows == []


async def test_deleting_what_is_not_there_says_so(store: SqliteStore, tmp_path: Path) -> None:
    assert await purge_session(store, tmp_path, "nobody") is None


async def test_the_copies_that_still_hold_the_words_are_named(store: SqliteStore, tmp_path: Path) -> None:
    copy = tmp_path / "state.db.v1.bak"
    await asyncio.to_thread(copy.write_bytes, b"an older copy")
    assert await purge_session(store, tmp_path, "s1") == [copy]
