"""What calls have cost: rows, sums that agree however they are grouped, prices known and not."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.models.prices import Price, cost_of, priced
from agent_core.store.calls import (
    GROUPS,
    Current,
    Payer,
    Person,
    Spent,
    add_calls,
    prune_calls,
    sums,
    sums_of,
    totals,
)
from agent_core.store.database import SqliteStore
from agent_core.store.migrate import migrate
from agent_core.store.schema import PART
from agent_core.usage import folded, report, spent
from hermes.messages import JSONObject, Usage
from hermes.store import SchemaPart

OWN = {"custom/m": Price(1.0, 2.0, 0.5)}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "state.db", [PART])
    yield opened
    await opened.aclose()


def _payer(person: str = "telegram:1", session: str = "s1", turn: str = "t1") -> Payer:
    return Payer(session, "k", "main", person, turn)


async def test_sums_agree_however_they_are_grouped(store: SqliteStore) -> None:
    for n in range(30):
        payer = _payer(f"telegram:{n % 3}", f"s{n % 5}", f"t{n}")
        call = Spent(f"custom/{n % 2}", Usage(n, 2 * n, cached=1), 1_000_000.0 + n * 20_000)
        await store.write(add_calls(payer, [call, call]))
    whole = await totals(store)
    assert (whole["turns"], whole["calls"], whole["prompt"]) == (30, 60, 2 * sum(range(30)))
    for group in GROUPS:
        rows = await sums(store, 0.0, [group])  # type: ignore[list-item]  # each is a Group
        assert sum(r["calls"] for r in rows) == 60
        assert sum(r["completion"] for r in rows) == whole["completion"]
    assert sum(r["calls"] for r in await sums_of(store, Person("telegram:1", 0.0))) == 20
    assert await sums_of(store, Current("k")) == []  # the key has no session that is open
    assert len(await sums(store, 1_000_000.0 + 29 * 20_000, ["model"])) == 1


async def test_calls_are_pruned_in_bites(store: SqliteStore) -> None:
    await store.write(add_calls(_payer(), [Spent("m", Usage(1, 1), float(n)) for n in range(700)]))
    assert await store.write(prune_calls(600.0)) == [500]
    assert await store.write(prune_calls(600.0)) == [100]
    assert (await totals(store))["calls"] == 100


async def test_a_report_tells_what_it_cost_and_what_has_no_price(store: SqliteStore) -> None:
    known = Spent("custom/m", Usage(1_000_000, 500_000, cached=400_000), 10.0)
    public = Spent("openai/gpt-4o", Usage(1000, 100), 10.0)
    unknown = Spent("custom/nobody-knows", Usage(5, 5), 10.0)
    await store.write(add_calls(_payer(turn="t1"), [known, Spent("ollama/x", Usage(9, 9), 10.0)]))
    await store.write(add_calls(_payer(turn="t2"), [public]))
    await store.write(add_calls(_payer("telegram:2", turn="t3"), [unknown]))
    rows = {row["model"]: row for row in await report(store, 0.0, ["model"], OWN)}
    assert rows["custom/m"]["cost"] == pytest.approx(0.6 * 1.0 + 0.4 * 0.5 + 0.5 * 2.0)
    assert rows["openai/gpt-4o"]["cost"] > 0
    assert rows["ollama/x"]["cost"] == 0.0
    assert rows["custom/nobody-knows"]["cost"] is None
    persons = {row["person"]: row for row in await report(store, 0.0, ["person"], OWN)}
    assert persons["telegram:2"]["unpriced"] == ["custom/nobody-knows"]
    assert persons["telegram:1"]["cost"] == pytest.approx(
        sum(rows[m]["cost"] for m in ("custom/m", "openai/gpt-4o", "ollama/x"))
    )
    here, today = await spent(store, OWN, session_key="k", accounts=["telegram:2"], since=0.0)
    assert (here["calls"], today["calls"], today["cost"]) == (0, 1, None)


def test_a_price_of_the_owner_goes_before_the_public_one() -> None:
    row = {"model": "openai/gpt-4o", "prompt": 1_000_000, "completion": 0, "cached": 0}
    assert cost_of(row, {"openai/gpt-4o": Price(7.0, 0.0)}) == 7.0
    assert cost_of({**row, "model": "ollama/x"}, {"ollama/x": Price(7.0, 0.0)}) == 7.0
    assert priced([row], {})[0]["cost"] != 7.0


def test_many_short_calls_are_not_priced_as_one_long_one() -> None:
    row = {
        "model": "openrouter/google/gemini-2.5-pro",
        "completion": 0,
        "cached": 0,
    }  # dearer from 200,000 on
    short, sum_of_short = {**row, "prompt": 1000, "calls": 1}, {**row, "prompt": 1_000_000, "calls": 1000}
    assert cost_of(sum_of_short, {}) == pytest.approx(1000 * (cost_of(short, {}) or 0.0))
    assert (cost_of({**sum_of_short, "calls": 1}, {}) or 0.0) > 1.5 * (cost_of(sum_of_short, {}) or 0.0)


def test_prices_are_looked_up_in_a_process_of_their_own() -> None:
    request = {"rows": [{"model": "local/x", "prompt": 1, "completion": 1, "cached": 0}], "own": {}}
    done = subprocess.run(
        [sys.executable, "-m", "agent_core.models.prices"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)[0]["cost"] == 0.0


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 99), st.none() | st.just(0.5)),
    max_size=12,
)


@given(ROWS)
def test_folding_loses_no_token_and_no_unknown_price(made: list[tuple[str, str, int, float | None]]) -> None:
    rows: list[JSONObject] = [
        {
            "person": person,
            "model": model,
            "turns": 1,
            "calls": 1,
            "prompt": tokens,
            "completion": 0,
            "cached": 0,
            "reasoning": 0,
            "estimated": 0,
            "cost": cost,
        }
        for person, model, tokens, cost in made
    ]
    found = folded(rows, ["person"])
    assert sum(r["prompt"] for r in found) == sum(tokens for _, _, tokens, _ in made)
    for row in found:
        costs = [cost for person, _, _, cost in made if person == row["person"]]
        assert (row["cost"] is None) == (None in costs)


def test_a_home_from_before_keeps_its_figures(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    migrate(connection, path, [SchemaPart("agent", PART.steps[:2])])
    connection.execute(
        "INSERT INTO sessions(id, key, agent_id, platform, instance, kind, chat, started_at, last_at)"
        " VALUES('s', 'k', 'main', 'telegram', 'telegram', 'direct', '1', 1, 1)"
    )
    connection.execute("INSERT INTO usage VALUES('t', 's', 5, 'm', 10, 4, 0, 0, 0, 3)")
    migrate(connection, path, [PART])
    row = connection.execute("SELECT * FROM calls").fetchone()
    assert (row["turn_id"], row["calls"], row["prompt"], row["completion"], row["model"]) == (
        "t",
        3,
        10,
        4,
        "m",
    )
    connection.close()
