"""Folding finds every piece of a row, and no text makes it raise; the store keeps whole writes only."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.store.database import SqliteStore
from agent_core.store.fold import fold, match_query
from hermes.store import Job, SchemaPart

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
# Characters that stay what they are when composed with a neighbour.
UNSPACED = st.one_of(
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FEF),
    st.characters(min_codepoint=0x3042, max_codepoint=0x3093),
    st.characters(min_codepoint=0x30A2, max_codepoint=0x30F3),
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
    st.characters(min_codepoint=0x20000, max_codepoint=0x2A6D6),
    st.characters(min_codepoint=0x0E01, max_codepoint=0x0E30),
)
TEXTS = st.text(
    st.one_of(UNSPACED, st.characters(), st.sampled_from('"*^():-+ \x00\ud83d\u0301%_\n')), max_size=60
)


def index_of(*texts: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE t USING fts5(body, tokenize="{TOKENIZER}")')
    connection.executemany("INSERT INTO t(body) VALUES(?)", [(fold(text) or text,) for text in texts])
    return connection


def finds(connection: sqlite3.Connection, query: str) -> bool:
    plan = match_query(query)
    assert plan.match is not None
    return bool(connection.execute("SELECT 1 FROM t WHERE t MATCH ?", (plan.match,)).fetchall())


@given(TEXTS)
def test_FT_05_no_text_makes_folding_raise_and_every_plan_is_valid(text: str) -> None:
    fold(text)
    plan = match_query(text)
    if plan.match is not None:
        index_of("a row").execute("SELECT 1 FROM t WHERE t MATCH ?", (plan.match,)).fetchall()
    for part in plan.contains:
        part.encode()


@given(
    st.data(), st.text(UNSPACED, min_size=1, max_size=30), st.text(st.characters(codec="ascii"), max_size=10)
)
def test_FT_06_every_piece_of_a_row_without_spaces_is_found(
    data: st.DataObject, run: str, around: str
) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    connection = index_of(f"{around}{run}{around}")
    assert finds(connection, run[start:end])


@given(st.text(UNSPACED, min_size=2, max_size=12), st.text(UNSPACED, min_size=2, max_size=4))
def test_FT_06_what_is_not_in_a_row_is_not_found(run: str, query: str) -> None:
    if unicodedata.normalize("NFKC", query) not in unicodedata.normalize("NFKC", run):
        assert not finds(index_of(run), query)


@given(
    st.lists(
        st.text(st.characters(categories=["Ll", "Nd"], max_codepoint=0x24F), min_size=1),
        min_size=1,
        max_size=8,
    )
)
def test_every_word_of_a_row_is_found(words: list[str]) -> None:
    connection = index_of(" ".join(words))
    assert all(finds(connection, word) for word in words)


# --- the store against a model ---------------------------------------------------------------------

NOTES = SchemaPart(
    "notes", ("CREATE TABLE notes(write INTEGER, job INTEGER, PRIMARY KEY(write, job)) STRICT",)
)


class Refused(Exception):
    pass


def job(write: int, number: int, *, fails: bool) -> Job:
    def run(connection: sqlite3.Connection) -> tuple[int, int]:
        connection.execute("INSERT INTO notes VALUES(?, ?)", (write, number))
        if fails:
            raise Refused
        return write, number

    return run


async def run_writes(path: Path, writes: Sequence[tuple[list[bool], bool]]) -> None:
    store = await SqliteStore.open(path, [NOTES])
    tasks = []
    for write, (fails, _) in enumerate(writes):
        jobs = [job(write, number, fails=f) for number, f in enumerate(fails)]
        tasks.append(asyncio.create_task(store.write(*jobs)))
    await asyncio.sleep(0)  # every call is queued now
    for task, (_, is_cancelled) in zip(tasks, writes, strict=True):
        if is_cancelled:
            task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await store.write()
    kept = {tuple(row) for row in await store.read("SELECT write, job FROM notes")}
    await store.aclose()
    expected = {(w, n) for w, (fails, _) in enumerate(writes) if not any(fails) for n in range(len(fails))}
    assert kept == expected
    for write, ((fails, is_cancelled), outcome) in enumerate(zip(writes, outcomes, strict=True)):
        if is_cancelled:
            assert isinstance(outcome, asyncio.CancelledError)
        elif any(fails):
            assert isinstance(outcome, Refused)
        else:
            assert outcome == [(write, n) for n in range(len(fails))]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.lists(st.booleans(), max_size=4), st.booleans()), max_size=40))
def test_each_of_many_writes_at_once_happens_whole_or_not_at_all(
    writes: list[tuple[list[bool], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run_writes(Path(folder) / "state.db", writes))
