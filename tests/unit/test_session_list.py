"""`sessions.json` is made a page at a time, replaced at once, and leaves nothing lying about."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_core.store import sessions
from agent_core.store.behind import Behind
from agent_core.store.database import SqliteStore
from agent_core.store.replacement import Replacement, replace_file
from agent_core.store.schema import PART
from agent_core.store.session_list import write_session_index
from hermes.agent import SessionSpec
from hermes.testing import FakeClock


class Counted(SqliteStore):
    """A store that notes how many rows its largest answer had."""

    most = 0

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        rows = await super().read(sql, parameters)
        self.most = max(self.most, len(rows))
        return rows


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """Return an open store."""
    store = await Counted.open(tmp_path / "state.db", [PART])
    yield store
    await store.aclose()


def listed(home: Path, agent: str) -> list[dict[str, Any]]:
    """What the file holds."""
    text = (home / f"agents/{agent}/sessions/sessions.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)["sessions"]
    return found


async def fill(store: SqliteStore, agent: str, count: int) -> None:
    """So many sessions."""
    specs = [
        SessionSpec(f"{agent}:{n}", agent, "telegram", "telegram", "direct", str(n)) for n in range(count)
    ]
    await store.write(
        *(sessions.ensure_session(spec, f"{spec.key}-{n:05}", float(n)) for n, spec in enumerate(specs))
    )


async def test_many_sessions_are_listed_without_being_held_at_once(
    store: SqliteStore, tmp_path: Path
) -> None:
    assert isinstance(store, Counted)
    await fill(store, "main", 1300)
    await fill(store, "other", 1)
    await write_session_index(store, tmp_path, {"main", "other", "nobody"})
    assert store.most <= 250
    found = listed(tmp_path, "main")
    assert len({entry["id"] for entry in found}) == len(found) == 1300
    assert [entry["chat"] for entry in listed(tmp_path, "other")] == ["0"]
    assert listed(tmp_path, "nobody") == []


async def test_lists_written_at_once_are_each_whole(store: SqliteStore, tmp_path: Path) -> None:
    await fill(store, "main", 600)
    await asyncio.gather(*(write_session_index(store, tmp_path, {"main"}) for _ in range(4)))
    assert len(listed(tmp_path, "main")) == 600
    assert [p.name for p in (tmp_path / "agents/main/sessions").iterdir()] == ["sessions.json"]


def test_what_a_killed_process_left_is_taken_away(tmp_path: Path) -> None:
    left = tmp_path / f".list.{os.getpid() + 1}.0.tmp"
    left.write_text("half")
    (tmp_path / ".other.1.0.tmp").write_text("not ours")
    replace_file(tmp_path / "list", "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".other.1.0.tmp", "list"]


def test_a_discarded_one_changes_nothing_and_takes_nothing_more(tmp_path: Path) -> None:
    replace_file(tmp_path / "list", "old")
    fresh = Replacement(tmp_path / "list")
    fresh.write("new")
    fresh.discard()
    with pytest.raises(ValueError, match="closed"):
        fresh.write("more")
    with pytest.raises(ValueError, match="closed"):
        fresh.commit()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("list", "old")]


class Slow(SqliteStore):
    """A store whose disk takes ten minutes for the first list."""

    lists = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.clock = FakeClock()

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        if "message_count AS messages" in sql:
            self.lists += 1
            if self.lists == 1:
                await self.clock.advance(600.0)
        return await super().read(sql, parameters)


async def test_a_list_that_a_slow_disk_held_up_once_is_written_again_within_a_minute(tmp_path: Path) -> None:
    store = await Slow.open(tmp_path / "state.db", [PART])
    assert isinstance(store, Slow)
    clock = store.clock
    await fill(store, "main", 1)
    behind = Behind(store, tmp_path, clock)
    behind.start()
    behind.note("main:0-00000")
    await _passing(clock, lambda: store.lists == 2, 1.0)  # the page, and the empty one after it
    await fill(store, "main", 2)
    behind.note("main:1-00001")
    began = clock.monotonic()
    while store.lists < 4:
        await _passing(clock, lambda: clock.sleeping > 0, 0.0)
        await clock.advance(1.0)
        assert clock.monotonic() - began <= 65
    await behind.aclose()
    await store.aclose()
    assert [entry["chat"] for entry in listed(tmp_path, "main")] == ["0", "1"]


async def _passing(clock: FakeClock, done: Callable[[], bool], seconds: float) -> None:
    """Let time pass, so much at once, until it is so."""
    async with asyncio.timeout(10):
        while not done():
            await clock.advance(seconds)
            await asyncio.sleep(0)
