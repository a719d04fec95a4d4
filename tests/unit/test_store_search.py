"""What people type is found, and nothing that they type breaks anything."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.store import index, sessions, transcript
from agent_core.store.database import SqliteStore
from agent_core.store.fold import fold, match_query
from agent_core.store.schema import PART
from agent_core.store.search import search, snippet
from hermes.agent import SessionSpec
from hermes.messages import Message

ROWS = (
    "deploy the build-42 to staging",
    "see config.yaml now",
    "hello world",
    "今天部署失败了请检查日志",
    "launch \U0001f680 now",
    "café au lait",
    "วันนี้อากาศดีมาก",
    "서버 배포가 실패했습니다",
    "he said ok",
)


def spec(key: str) -> SessionSpec:
    return SessionSpec(key, "main", "telegram", "telegram", "direct", key)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "state.db", [PART])
    await opened.write(
        sessions.ensure_session(spec("k"), "s", 1.0),
        sessions.ensure_session(spec("other"), "o", 1.0),
        transcript.append_messages("s", None, [Message("user", text) for text in ROWS], 1.0),
    )
    yield opened
    await opened.aclose()


async def found(store: SqliteStore, query: str) -> list[str]:
    return sorted(ROWS[hit.message_id - 1] for hit in await search(store, query))


@pytest.mark.parametrize(
    "query", ["build-42", "deploy the build-42", "BUILD-42", "build--42", "-42", "build-", "the-build"]
)
async def test_FT_01_a_hyphen_is_no_operator(store: SqliteStore, query: str) -> None:
    assert await found(store, query) == [ROWS[0]]


@pytest.mark.parametrize(
    "query",
    ["config.yaml", "see config.yaml now", "config.", ".yaml", "yaml...", "config:yaml", "config/yaml"],
)
async def test_FT_02_a_dot_between_words_is_no_syntax(store: SqliteStore, query: str) -> None:
    assert await found(store, query) == [ROWS[1]]


@pytest.mark.parametrize(
    "query", ["hello AND", "AND hello", "NOT hello", "hello NOT", "hello NEAR", "hello ("]
)
async def test_FT_04_operators_beside_a_word_leave_the_word(store: SqliteStore, query: str) -> None:
    assert await found(store, query) == [ROWS[2]]


@pytest.mark.parametrize(
    ("query", "row"),
    [
        pytest.param('"hello', 2, id="unterminated"),
        pytest.param("cafe\u0301", 5, id="combining"),
        pytest.param("hel\x00lo hello", None, id="nul"),
        pytest.param("hello\x00world", 2, id="nul-between"),
        pytest.param("hello\ud83d", 2, id="surrogate"),
    ],
)
async def test_FT_05_odd_characters_leave_the_word(store: SqliteStore, query: str, row: int | None) -> None:
    assert await found(store, query) == ([] if row is None else [ROWS[row]])


@pytest.mark.parametrize(
    ("query", "row"),
    [
        pytest.param("部署", 3, id="two"),
        pytest.param("部署失败", 3, id="four"),
        pytest.param("请", 3, id="one"),
        pytest.param("志", 3, id="last"),
        pytest.param("日志 部署", 3, id="two-words"),
        pytest.param("อากาศ", 6, id="thai"),
        pytest.param("배포", 7, id="hangul"),
        pytest.param("서버 실패", 7, id="hangul-two-words"),
    ],
)
async def test_FT_06_words_without_spaces_between_them_are_found(
    store: SqliteStore, query: str, row: int
) -> None:
    assert await found(store, query) == [ROWS[row]]


@pytest.mark.parametrize("query", ["\U0001f680", "launch \U0001f680", "\U0001f680 now"])
async def test_FT_08_pictures_are_found(store: SqliteStore, query: str) -> None:
    assert await found(store, query) == [ROWS[4]]


@pytest.mark.parametrize("query", ["\U0001f681", "launch \U0001f681", "\U0001f680\ufe0f\u200d"])
async def test_FT_08_other_pictures_are_not(store: SqliteStore, query: str) -> None:
    assert await found(store, query) == []


@pytest.mark.parametrize(("query", "row"), [("cafe", 5), ("deploys", 0)])
async def test_accents_and_endings_do_not_matter(store: SqliteStore, query: str, row: int) -> None:
    assert await found(store, query) == [ROWS[row]]


async def test_FT_04_or_finds_either(store: SqliteStore) -> None:
    assert await found(store, "hello OR cafe OR OR zebra") == sorted([ROWS[2], ROWS[5]])


@pytest.mark.parametrize("query", ["", "   ", "\x00", "\ud83d", "\n\t"])
async def test_FT_04_an_empty_query_gives_an_empty_list(store: SqliteStore, query: str) -> None:
    assert await search(store, query) == []


@pytest.mark.parametrize(
    "query",
    [
        *("AND", "NOT", "OR", "NEAR(", "*", "^", "(", ")", '"', "a OR OR b", "a\x00b", "\ud83d"),
        *("'; DROP TABLE messages; --", "body:hello", "hello*", "{body}: x", "a + b", "-hello"),
        *("NEAR(hello world, 3)", "\u0e31\u0e31", "\u3099"),
    ],
)
async def test_FT_04_FT_05_nothing_typed_breaks_the_syntax(store: SqliteStore, query: str) -> None:
    assert len(await search(store, query)) < len(ROWS)
    assert await found(store, "hello") == [ROWS[2]]


@pytest.mark.parametrize("query", ["100%", "_", "%", "\\", "__"])
async def test_FT_05_wildcards_do_not_match_every_row(store: SqliteStore, query: str) -> None:
    assert await search(store, query) == []


async def test_FT_05_a_row_with_the_sign_itself_is_found(store: SqliteStore) -> None:
    [[number]] = await store.write(
        transcript.append_messages("s", None, [Message("user", "it is 100% _ done")], 2.0)
    )
    for query in ("100%", "_"):
        assert [hit.message_id for hit in await search(store, query)] == [number]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(" ".join(f"word{n}" for n in range(20_000)), id="words"),
        pytest.param("(" * 300 + "a" + ")" * 300, id="brackets"),
        pytest.param("x" * 1_000_000, id="one-word"),
        pytest.param("部" * 1_000_000, id="one-run"),
        pytest.param("\U0001f680" * 1_000_000, id="pictures"),
        pytest.param("% " * 500_000, id="signs"),
        pytest.param(" OR ".join(f"w{n}" for n in range(20_000)), id="alternatives"),
    ],
)
async def test_FT_09_a_pasted_log_is_answered_at_once(store: SqliteStore, query: str) -> None:
    done = asyncio.Event()

    async def heartbeat() -> float:
        worst = 0.0
        while not done.is_set():
            before = time.monotonic()
            await asyncio.sleep(0.005)
            worst = max(worst, time.monotonic() - before)
        return worst

    beating = asyncio.create_task(heartbeat())
    began = time.monotonic()
    await search(store, query)
    assert time.monotonic() - began < 2.0
    done.set()
    assert await beating < 0.2


async def test_hits_say_where_they_are_and_can_be_narrowed(store: SqliteStore) -> None:
    await store.write(
        transcript.append_messages("o", None, [Message("assistant", "hello from afar", at=5.0)], 5.0)
    )
    hits = {hit.session_id: hit for hit in await search(store, "hello")}
    assert set(hits) == {"s", "o"}
    assert (hits["o"].session_key, hits["o"].role, hits["o"].at) == ("other", "assistant", 5.0)
    assert [h.session_id for h in await search(store, "hello", session_keys=("k",))] == ["s"]
    assert [h.session_id for h in await search(store, "hello", exclude_session="s")] == ["o"]
    assert [h.session_id for h in await search(store, "\U0001f680", session_keys=("other",))] == []


async def test_a_hidden_row_is_not_found(store: SqliteStore) -> None:
    def hide(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE messages SET hidden = 1 WHERE body LIKE 'hello%'")

    await store.write(hide)
    assert await found(store, "hello") == []


async def test_better_and_newer_matches_come_first(store: SqliteStore) -> None:
    rows = [Message("user", f"the zebra {'and something else ' * n}") for n in (9, 0, 4)]
    [numbers] = await store.write(transcript.append_messages("s", None, rows, 2.0))
    hits = [hit.message_id for hit in await search(store, "zebra")]
    assert hits == [numbers[1], numbers[2], numbers[0]]


async def test_of_many_matches_the_newest_are_ranked_but_signs_are_looked_for_further_back(
    store: SqliteStore,
) -> None:
    best = "north east south west"
    rows = [f"{best} \U0001f680", *(f"{best} of {n} other places on the map" for n in range(600))]
    messages = [Message("user", text) for text in rows]
    await store.write(transcript.append_messages("s", None, messages, 1.0))
    oldest = len(ROWS) + 1
    assert oldest in {hit.message_id for hit in await search(store, "north")}
    assert oldest not in {hit.message_id for hit in await search(store, best)}
    assert [hit.message_id for hit in await search(store, f"{best} \U0001f680")] == [oldest]


async def test_another_version_of_the_folding_rebuilds_the_index(store: SqliteStore) -> None:
    assert await index.ensure_current(store) is False

    def age(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE search_state SET fold = 0")
        connection.execute("UPDATE messages SET search_text = 'older folding' WHERE search_text IS NOT NULL")

    await store.write(age)
    assert await found(store, "部署") == []
    assert await index.ensure_current(store) is True
    assert await found(store, "部署") == [ROWS[3]]
    assert await store.write(index.check_index) == [None]


def test_text_without_such_script_is_not_kept_twice() -> None:
    assert fold("plain words, naïve café, привет, שלום, नमस्ते") is None


def test_runs_become_pairs_and_their_last_character() -> None:
    assert (fold("run 部署了 now") or "").split() == ["run", "部署", "署了", "了", "now"]
    assert (fold("请") or "").split() == ["请"]


def test_a_plan_never_holds_an_unquoted_word() -> None:
    plan = match_query('a" OR body:x NEAR(b) 部')
    assert plan.match == '("a") OR ("body x" AND "NEAR b" AND "部"*)'


def test_a_snippet_shows_the_word_in_its_surroundings() -> None:
    text = "x " * 300 + "needle in\n\nthe hay" + " y" * 300
    shown = snippet(text, ["missing", "NEEDLE"])
    assert "needle in the hay" in shown
    assert len(shown) < 220
    assert shown.startswith("…")
    assert shown.endswith("…")
