"""Turns, steps, message rows and sessions."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from agent_core.store import sessions
from agent_core.store import transcript as t
from agent_core.store.calls import Payer, Spent, add_calls, totals
from agent_core.store.database import SqliteStore
from agent_core.store.schema import PART
from agent_core.store.search import search
from hermes.agent import SessionSpec
from hermes.errors import StoreCorrupt
from hermes.messages import Message, ToolCall, Usage

SPEC = SessionSpec("k", "main", "telegram", "telegram", "direct", "1")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "state.db", [PART])
    await opened.write(sessions.ensure_session(SPEC, "s1", 1.0))
    yield opened
    await opened.aclose()


def _ended(turn_id: str, at: float) -> t.Ending:
    spent = [Spent("p/m", Usage(5, 2), at), Spent("p/m", Usage(5, 3), at)]
    return t.Ending("answered", at, charge=add_calls(Payer("s1", "k", "main", "telegram:1", turn_id), spent))


async def turn(store: SqliteStore, turn_id: str, said: str, answer: str, at: float = 2.0) -> None:
    await store.write(t.begin_turn(turn_id, "s1", {"inputs": [{"text": said}]}, at))
    messages = [Message("user", f"[Ann] {said}"), Message("assistant", answer)]
    await store.write(t.close_turn(turn_id, messages, _ended(turn_id, at + 1)))


async def test_messages_come_back_as_they_were(store: SqliteStore) -> None:
    said = [
        Message("user", "read it", at=2.0),
        Message("assistant", "", (ToolCall("c1", "read_file", {"path": "a"}, '{"path": "a"}'),), at=3.0),
        Message("tool", "contents", tool_call_id="c1", name="read_file", at=4.0),
        Message("assistant", "部署了", extra={"reasoning": ["x"]}, at=5.0),
    ]
    await store.write(t.append_messages("s1", None, said, 9.0))
    assert await t.history(store, "s1") == said


async def test_MD_21_a_lone_surrogate_is_stored_clean_in_rows_steps_and_index(store: SqliteStore) -> None:
    await store.write(t.begin_turn("t1", "s1", {"inputs": [{"text": "go \ud83d"}]}, 2.0))
    await store.write(t.add_step("t1", t.Step(1, "tool", {"text": "ok \ud83d end"}, 2.0)))
    call = ToolCall("c", "f", {"x": "\ud83d"}, '"\ud83d"')
    messages = [Message("assistant", "", (call,)), Message("tool", "ok \ud83d end", tool_call_id="c")]
    await store.write(t.close_turn("t1", messages, t.Ending("answered", 3.0)))
    kept = await t.history(store, "s1")
    assert kept[1].text == "ok \ufffd end"
    assert kept[0].tool_calls[0].arguments == {"x": "\ufffd"}
    assert (await t.steps(store, "t1"))[1].content == {"text": "ok \ufffd end"}
    assert [hit.role for hit in await search(store, "ok end")] == ["tool"]


async def test_a_turn_counts_its_starts_until_a_step_is_stored(store: SqliteStore) -> None:
    await store.write(t.begin_turn("t1", "s1", {"inputs": []}, 2.0))
    assert [u.starts for u in await t.unfinished(store)] == [1]
    assert await store.write(t.count_start("t1")) == [2]
    await store.write(t.add_step("t1", t.Step(1, "model", {}, 3.0)))
    [open_turn] = await t.unfinished(store)
    assert (open_turn.turn_id, open_turn.session_key, open_turn.starts, open_turn.begun_at) == (
        "t1",
        "k",
        0,
        2.0,
    )
    assert [(s.seq, s.kind) for s in await t.steps(store, "t1")] == [(0, "input"), (1, "model")]


async def test_unfinished_turns_come_oldest_first(store: SqliteStore) -> None:
    for turn_id, at in (("b", 5.0), ("a", 7.0), ("c", 3.0)):
        await store.write(t.begin_turn(turn_id, "s1", {"inputs": []}, at))
    assert [u.turn_id for u in await t.unfinished(store)] == ["c", "b", "a"]


async def test_a_turn_is_closed_once(store: SqliteStore) -> None:
    await turn(store, "t1", "hi", "hello")
    for job in (t.close_turn("t1", [], t.Ending("answered", 9.0)), t.count_start("t1"),
                t.add_step("t1", t.Step(9, "model", {}, 9.0))):  # fmt: skip
        with pytest.raises(LookupError, match="not open"):
            await store.write(job)
    assert len(await t.history(store, "s1")) == 2
    assert await t.unfinished(store) == []


async def test_a_dead_turn_still_writes_its_rows(store: SqliteStore) -> None:
    await store.write(t.begin_turn("t1", "s1", {"inputs": [{"text": "boom"}]}, 2.0))

    def compose(found: Sequence[t.Step]) -> list[Message]:
        [step] = found
        return [Message("user", step.content["inputs"][0]["text"]), Message("assistant", "Sorry.")]

    await store.write(t.close_dead("t1", compose, 3.0))
    assert [m.text for m in await t.history(store, "s1")] == ["boom", "Sorry."]
    [row] = await store.read("SELECT state FROM turns")
    assert row["state"] == "dead"


async def test_FT_12_a_row_that_cannot_be_read_is_an_error_not_an_empty_history(store: SqliteStore) -> None:
    await turn(store, "t1", "hi", "hello")
    for broken in ("{torn", "[]", '{"tool_calls": [{}]}', '{"extra": 3}'):

        def spoil(connection: sqlite3.Connection, text: str = broken) -> None:
            connection.execute("UPDATE messages SET content = ? WHERE id = 2", (text,))

        await store.write(spoil)
        with pytest.raises(StoreCorrupt, match="message 2"):
            await t.history(store, "s1")


async def test_undo_hides_the_last_turn_and_gives_its_input_back(store: SqliteStore) -> None:
    await turn(store, "t1", "first", "one", 2.0)
    await turn(store, "t2", "second", "two", 4.0)
    assert await store.write(t.undo_last_turn("k")) == ["second"]
    assert [m.text for m in await t.history(store, "s1")] == ["[Ann] first", "one"]
    assert await search(store, "second") == []
    assert await store.write(t.undo_last_turn("k")) == ["first"]
    assert await store.write(t.undo_last_turn("k")) == [None]
    [row] = await store.read("SELECT count(*) AS kept FROM messages")
    assert row["kept"] == 4
    assert (await sessions.list_sessions(store))[0].messages == 0


async def test_undo_reads_the_rows_where_the_steps_were_pruned(store: SqliteStore) -> None:
    await turn(store, "t1", "first", "one")
    await store.write(lambda c: c.execute("DELETE FROM steps").rowcount)
    assert await store.write(t.undo_last_turn("k")) == ["[Ann] first"]


async def test_usage_is_summed_for_the_current_run_or_for_all(store: SqliteStore) -> None:
    await turn(store, "t1", "a", "b")
    await turn(store, "t2", "c", "d")
    one = {"turns": 2, "calls": 4, "prompt": 20, "completion": 10, "cached": 0, "reasoning": 0}
    assert await totals(store, "k") == one
    await store.write(sessions.close_session("k", 9.0))
    assert set((await totals(store, "k")).values()) == {0}
    assert await totals(store) == one


async def test_a_key_has_one_current_run(store: SqliteStore) -> None:
    await store.write(sessions.ensure_session(SPEC, "s1", 2.0))
    with pytest.raises(sqlite3.IntegrityError):
        await store.write(sessions.ensure_session(SPEC, "s2", 2.0))
    assert await store.write(sessions.close_session("k", 3.0)) == ["s1"]
    assert await store.write(sessions.close_session("k", 3.0)) == [None]
    assert await sessions.current_session(store, "k") is None
    await store.write(sessions.ensure_session(SPEC, "s2", 4.0))
    assert [(s.session_id, s.closed) for s in await sessions.list_sessions(store, "k")] == [
        ("s2", False),
        ("s1", True),
    ]


async def test_resume_takes_an_earlier_run_of_the_same_key_only(store: SqliteStore) -> None:
    await store.write(sessions.close_session("k", 3.0), sessions.ensure_session(SPEC, "s2", 4.0))
    other = SessionSpec("x", "main", "telegram", "telegram", "direct", "2")
    await store.write(sessions.ensure_session(other, "s3", 4.0))
    with pytest.raises(LookupError, match="s3"):
        await store.write(sessions.resume_session("k", "s3", 5.0))
    await store.write(sessions.resume_session("k", "s1", 5.0))
    current = await sessions.current_session(store, "k")
    assert current is not None
    assert current.session_id == "s1"


async def test_titles_are_unique(store: SqliteStore) -> None:
    assert await store.write(sessions.retitle("k", "  My\n title ")) == ["My title"]
    assert await store.write(sessions.retitle("k", "My title")) == ["My title"]
    await store.write(sessions.close_session("k", 3.0), sessions.ensure_session(SPEC, "s2", 4.0))
    assert await store.write(sessions.retitle("k", "My title")) == ["My title #2"]
    with pytest.raises(LookupError):
        await store.write(sessions.retitle("nobody", "x"))
    with pytest.raises(ValueError, match="at least one"):
        sessions.retitle("k", " \n")


async def test_the_prompt_snapshot_comes_back_byte_for_byte(store: SqliteStore) -> None:
    snapshot = "You are…\r\n\ttabs  and trailing \n"
    await store.write(sessions.save_prompt("s1", snapshot, "p/m"))
    current = await sessions.current_session(store, "k")
    assert current is not None
    assert (current.prompt_snapshot, current.model) == (snapshot, "p/m")


async def test_turns_of_many_sessions_close_side_by_side(store: SqliteStore) -> None:
    async def talk(number: int) -> None:
        spec = SessionSpec(f"k{number}", "main", "telegram", "telegram", "direct", str(number))
        name = f"x{number}"
        await store.write(
            sessions.ensure_session(spec, name, 1.0), t.begin_turn(name, name, {"inputs": []}, 1.0)
        )
        await store.write(t.close_turn(name, [Message("user", name)], t.Ending("answered", 2.0)))

    await asyncio.gather(*(talk(n) for n in range(50)))
    assert {s.messages for s in await sessions.list_sessions(store, limit=100) if s.session_id != "s1"} == {1}
