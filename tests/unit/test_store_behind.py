"""What is written behind the rows: whole lines, completed after kills and full disks."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.store import sessions
from agent_core.store import transcript as t
from agent_core.store.behind import OWNER_AND_UNDONE, Behind
from agent_core.store.database import SqliteStore
from agent_core.store.jsonl import append_lines, mend_tail, transcript_path
from agent_core.store.schema import PART
from hermes.agent import SessionSpec
from hermes.messages import Message, ToolCall
from hermes.testing import FakeClock

SPEC = SessionSpec("k", "main", "telegram", "telegram", "direct", "1")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "state.db", [PART])
    await opened.write(sessions.ensure_session(SPEC, "s1", 1.0))
    yield opened
    await opened.aclose()


async def say(store: SqliteStore, turn_id: str, *texts: str) -> None:
    await store.write(t.begin_turn(turn_id, "s1", {"inputs": [{"text": texts[0]}]}, 2.0))
    await store.write(t.close_turn(turn_id, [Message("user", x) for x in texts], t.Ending("answered", 3.0)))


def lines(home: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in transcript_path(home, "main", "s1").read_text("utf-8").split("\n")
        if line
    ]


async def test_lines_follow_the_rows_in_order_and_the_list_counts_them(
    store: SqliteStore, tmp_path: Path
) -> None:
    behind = Behind(store, tmp_path)
    behind.start()
    await say(store, "t1", "one", "two\nlines \u2028 部署")
    behind.note("s1")
    await behind.wait_written()
    call = Message("assistant", "", (ToolCall("c", "f", {"a": 1}),))
    await store.write(t.append_messages("s1", "t2", [call], 4.0))
    behind.note("s1")
    await behind.wait_written()
    assert [(v["id"], v["turn"], v["text"]) for v in lines(tmp_path)] == [
        (1, "t1", "one"), (2, "t1", "two\nlines \u2028 部署"), (3, "t2", "")]  # fmt: skip
    assert Message.from_json(lines(tmp_path)[2]).tool_calls == call.tool_calls
    await behind.aclose()
    listed = json.loads((tmp_path / "agents/main/sessions/sessions.json").read_text("utf-8"))
    assert [(s["id"], s["messages"]) for s in listed["sessions"]] == [("s1", 3)]
    assert transcript_path(tmp_path, "main", "s1").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "agents/main/sessions").stat().st_mode & 0o777 == 0o700


async def test_what_was_taken_back_gains_a_line(store: SqliteStore, tmp_path: Path) -> None:
    await say(store, "t1", "one")
    await store.write(t.undo_last_turn("k"))
    for _ in range(2):
        behind = Behind(store, tmp_path)
        behind.start()
        behind.note("s1")
        await behind.wait_written()
        await behind.aclose()
    assert lines(tmp_path)[1:] == [{"type": "undone", "turn": "t1"}]


async def test_what_was_taken_back_is_found_without_a_look_at_all_turns_also_in_a_home_from_before(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    older = await SqliteStore.open(path, [replace(PART, steps=PART.steps[:5])])
    await older.write(sessions.ensure_session(SPEC, "s1", 1.0))
    await say(older, "t1", "one")
    await say(older, "t2", "two")
    await older.write(t.undo_last_turn("k"))
    await older.aclose()
    store = await SqliteStore.open(path, [PART])
    plan = await store.read(f"EXPLAIN QUERY PLAN {OWNER_AND_UNDONE}", ("s1",))
    found = await store.read(OWNER_AND_UNDONE, ("s1",))
    await store.aclose()
    assert [tuple(row) for row in found] == [("main", "t2")]
    assert any("turns_undone" in row["detail"] for row in plan)


async def test_a_start_completes_what_a_kill_left_out(store: SqliteStore, tmp_path: Path) -> None:
    await say(store, "t1", *(f"row {n}" for n in range(1_200)))
    path = transcript_path(tmp_path, "main", "s1")
    await asyncio.to_thread(append_lines, path, ['{"id": 1, "turn": "t1", "role": "user", "text": "row 0"}'])
    behind = Behind(store, tmp_path)
    behind.start()
    await behind.wait_written()
    await behind.aclose()
    assert [v["text"] for v in lines(tmp_path)] == [f"row {n}" for n in range(1_200)]


async def test_SE_07_a_torn_last_line_is_cut_and_the_next_line_stands_alone(
    store: SqliteStore, tmp_path: Path
) -> None:
    await say(store, "t1", "a", "b", "c")
    behind = Behind(store, tmp_path)
    behind.start()
    await behind.wait_written()
    await behind.aclose()
    path = transcript_path(tmp_path, "main", "s1")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"role":"assi')
    again = Behind(store, tmp_path)
    again.start()
    await again.wait_written()
    assert [v["text"] for v in lines(tmp_path)] == ["a", "b", "c"]
    await say(store, "t2", "d")
    again.note("s1")
    await again.wait_written()
    assert [v["text"] for v in lines(tmp_path)] == ["a", "b", "c", "d"]
    await again.aclose()


@pytest.mark.parametrize(
    ("content", "kept", "last"),
    [
        (b"", 0, 0),
        (b'{"id": 1}\n', 1, 1),
        (b'{"id": 1}\n{"id": 2', 1, 1),
        (b'{"id": 1}\n{"type": "undone", "turn": "x"}\n', 2, 1),
        (b'{"id": 1}\n\x00\x00\x00\n', 1, 1),
        (b'{"id": 1}\nnot json\n{"id": 3}\n', 3, 3),
        (b'{"id": 7, "text": "' + b"x" * 200_000 + b'"}\n{"id": 8, "te', 1, 7),
        (b'{"torn', 0, 0),
        (b'{"id": 1}\n{"id": 2, "text": "\xff', 1, 1),
    ],
)
def test_SE_07_only_the_torn_end_is_cut(tmp_path: Path, content: bytes, kept: int, last: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    tail = mend_tail(path)
    after = path.read_bytes()
    assert after == b"".join(content.splitlines(keepends=True)[:kept])
    assert (tail.last_id, tail.cut) == (last, len(content) - len(after))
    assert mend_tail(path).cut == 0


def test_FT_14_a_line_that_does_not_fit_leaves_nothing_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    append_lines(path, ['{"id": 1}'])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            append_lines(path, ['{"id": 2, "text": "' + "x" * 100 + '"}'])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == '{"id": 1}\n'


async def test_FT_14_lines_that_a_full_disk_refused_are_caught_up_later(
    store: SqliteStore, tmp_path: Path
) -> None:
    clock = FakeClock()
    behind = Behind(store, tmp_path, clock)
    behind.start()
    folder = tmp_path / "agents"
    folder.write_text("a file stands where the folder should be")  # every write below it is an OSError
    await say(store, "t1", "one")
    behind.note("s1")
    while not clock.sleeping:  # the round that fails ends in a pause
        await asyncio.sleep(0)
    await say(store, "t2", "two")
    behind.note("s1")
    folder.unlink()
    writing = asyncio.create_task(behind.wait_written())
    while not writing.done():
        await clock.advance(1.0)
    assert [v["text"] for v in lines(tmp_path)] == ["one", "two"]
    await behind.aclose()


async def test_sessions_json_is_rewritten_at_most_once_a_second(store: SqliteStore, tmp_path: Path) -> None:
    clock = FakeClock()
    behind = Behind(store, tmp_path, clock)
    behind.start()
    path = tmp_path / "agents/main/sessions/sessions.json"
    seen: set[int] = set()
    for number in range(8):  # two seconds of notes, four a second
        await say(store, f"t{number}", "x")
        behind.note("s1")
        while not clock.sleeping:
            await asyncio.sleep(0)
        if path.exists():
            seen.add(path.stat().st_ino)
        await clock.advance(0.25)
    await behind.aclose()
    assert 1 <= len(seen) <= 2


async def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    for name in ("../../etc", "..", ".", "a/b", "\\", "é", "x\x00"):
        path = transcript_path(tmp_path, name, name)
        assert path.parent.parent.parent == tmp_path / "agents"
        assert path.parent.parent.name not in (".", "..")


async def test_closing_writes_what_is_left(store: SqliteStore, tmp_path: Path) -> None:
    behind = Behind(store, tmp_path, FakeClock())
    behind.start()
    await say(store, "t1", "one")
    behind.note("s1")
    await behind.aclose()
    assert [v["text"] for v in lines(tmp_path)] == ["one"]
