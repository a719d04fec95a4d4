"""What is removed is gone from every file, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.choices import choose_model, chosen_model
from agent_core.forget import Forgotten, forget_sessions
from agent_core.state import SessionState, load_state, save_state
from agent_core.store import index, sessions
from agent_core.store import transcript as t
from agent_core.store.behind import Behind
from agent_core.store.database import SqliteStore
from agent_core.store.retention import Rules, prune
from agent_core.store.schema import PART
from agent_core.store.search import search
from hermes.agent import SessionSpec
from hermes.errors import HermesError
from hermes.home import Home
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
    seen: list[Forgotten] = []
    found, copies = await forget_sessions(
        store, Home(tmp_path), ["s1"], 9.0, [lambda gone: lambda _: seen.append(gone)]
    )
    assert copies == []
    assert found == seen
    assert len(found[0].turns) == 300
    for path in (p for p in tmp_path.rglob("*") if p.is_file()):
        content = path.read_bytes()
        for word in ("xylophone", "secretword", "部署", "机密"):
            assert word.encode() not in content, f"{word} is still in {path.name}"
    assert await search(store, "secretword") == []
    assert len(await search(store, "ordinary7")) == 1
    assert await store.write(index.check_index) == [None]
    for table in ("turns", "steps"):
        column = "turn_id" if table == "steps" else "session_id"
        rows = await store.read(f"SELECT 1 FROM {table} WHERE {column} LIKE 'a%' OR {column} = 's1'")
        assert rows == []


async def test_deleting_what_is_not_there_says_so(store: SqliteStore, tmp_path: Path) -> None:
    await turn(store, "a", "s1", "one")
    with pytest.raises(HermesError, match="no session nobody"):
        await forget_sessions(store, Home(tmp_path), ["s1", "nobody"], 9.0)
    assert len(await t.history(store, "s1")) == 1  # all of them or none


async def test_a_session_whose_turn_runs_is_not_deleted(store: SqliteStore, tmp_path: Path) -> None:
    await turn(store, "a", "s1", "one")
    await store.write(t.begin_turn("open", "s1", {"inputs": []}, 0.0))
    with pytest.raises(HermesError, match="under way"):
        await forget_sessions(store, Home(tmp_path), ["s1"], 9.0)


async def test_the_copies_that_still_hold_the_words_are_named(store: SqliteStore, tmp_path: Path) -> None:
    copy = tmp_path / "state.db.v1.bak"
    await asyncio.to_thread(copy.write_bytes, b"an older copy")
    await turn(store, "a", "s1", "one")
    assert (await forget_sessions(store, Home(tmp_path), ["s1"], 9.0))[1] == [copy]


async def test_files_of_long_results_go_with_the_session_that_names_them(
    store: SqliteStore, tmp_path: Path
) -> None:
    home = Home(tmp_path)
    mine, other = f"read_file-{'a' * 16}.txt", f"read_file-{'b' * 16}.txt"
    await asyncio.to_thread(home.spills.mkdir)
    for name in (mine, other):
        await asyncio.to_thread((home.spills / name).write_text, "long")
    await turn(store, "a", "s1", "one")
    shown = Message("tool", f'read_file with path "spill:{mine}" shows the rest', tool_call_id="c")
    await store.write(t.append_messages("s1", None, [shown], 1.0))
    await forget_sessions(store, home, ["s1"], 9.0)
    assert [p.name for p in home.spills.iterdir()] == [other]


async def test_what_the_session_remembered_beside_its_messages_goes_too(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.write(*save_state("s1", SessionState({"todo": ["secretword"]})), choose_model("s1", "big"))
    await store.write(*save_state("s2", SessionState({"todo": ["kept"]})), choose_model("s2", "big"))
    await forget_sessions(store, Home(tmp_path), ["s1"], 9.0)
    assert (await load_state(store, "s1")).tools == {}
    assert (await load_state(store, "s2")).tools == {"todo": ["kept"]}
    assert await chosen_model(store, "s1") is None
    assert await chosen_model(store, "s2") == "big"
