"""What was used, for whoever watches: each call is counted once, names are bounded, prices are looked up once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_core.figures import Figures, Rates
from agent_core.models.prices import Price
from agent_core.settings import LLM, PriceEntry
from agent_core.store.calls import Payer, Spent, add_calls
from agent_core.store.database import SqliteStore
from agent_core.store.schema import PART
from gateway.metrics import Seen, render
from hermes.errors import StoreCorrupt
from hermes.messages import JSONObject, Usage
from hermes.testing import FakeClock
from tests.agentrig import Settings

OWN = {"custom/m": PriceEntry(input=1.0, output=2.0, cached=0.5)}


class Counted(SqliteStore):
    """A store that notes from which row on its answers were read."""

    asked: tuple[Any, ...] = ()
    is_damaged = False

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        self.asked = tuple(parameters)
        if self.is_damaged:
            raise StoreCorrupt("The store's file is damaged.")
        return await super().read(sql, parameters)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Counted]:
    """Return a store in which one call lies from before."""
    opened = await Counted.open(tmp_path / "state.db", [PART])
    assert isinstance(opened, Counted)
    await use(opened)
    yield opened
    await opened.aclose()


@pytest.fixture
async def figures(store: Counted, tmp_path: Path) -> AsyncIterator[Figures]:
    made = Figures(store, Settings(tmp_path, llm=LLM(prices=OWN)), FakeClock())
    await made.begin()
    yield made
    await made.aclose()


async def use(store: SqliteStore, model: str = "custom/m", task: str = "turn", at: float = 100.0) -> None:
    payer = Payer("s", "k", "main", "telegram:1", "t", task)
    await store.write(add_calls(payer, [Spent(model, Usage(1000, 100, cached=400), at)]))


async def test_calls_are_counted_from_the_start_on_and_each_is_read_once(
    store: Counted, figures: Figures
) -> None:
    assert await figures.counted() == []
    await use(store)
    await use(store, task="title")
    looks = await asyncio.gather(*(figures.counted() for _ in range(5)))
    await use(store)
    title, turn = sorted(await figures.counted(), key=lambda row: str(row["task"]))
    assert store.asked == (3,)
    assert (turn["calls"], turn["prompt"], turn["completion"], turn["cached"]) == (2, 2000, 200, 800)
    assert turn["cost"] == pytest.approx(2 * (600 * 1.0 + 400 * 0.5 + 100 * 2.0) / 1_000_000)
    assert (title["task"], title["calls"]) == ("title", 1)
    assert all(row["calls"] == 1 for look in looks for row in look)


async def test_a_start_does_not_fail_for_figures(store: Counted, tmp_path: Path) -> None:
    figures = Figures(store, Settings(tmp_path), FakeClock())
    store.is_damaged = True
    await figures.begin()
    with pytest.raises(StoreCorrupt):
        await figures.counted()
    store.is_damaged = False
    assert await figures.counted() == []
    await use(store)
    [row] = await figures.counted()
    assert row["calls"] == 1


async def test_names_of_models_are_bounded(store: Counted, figures: Figures) -> None:
    for number in range(150):
        await use(store, f"ollama/{number}")
    rows = await figures.counted()
    assert len(rows) == 101
    assert sum(row["calls"] for row in rows) == 150
    assert next(row for row in rows if row["model"] == "other")["calls"] == 50


async def test_a_day_is_summed_and_what_has_no_price_has_no_cost(store: Counted, figures: Figures) -> None:
    await use(store, "ollama/x", at=200.0)
    today = await figures.used(150.0)
    assert today == {"calls": 1, "prompt": 1000, "completion": 100, "cached": 400, "cost": 0.0}
    both = await figures.used(0.0)
    assert (both["calls"], both["cost"]) == (2, pytest.approx(0.001))
    assert (await figures.used(300.0))["calls"] == 0


async def test_prices_are_looked_up_once_elsewhere_and_asked_again_after_a_while() -> None:
    clock = FakeClock()
    rates = Rates(clock)
    row = {"prompt": 1_000_000, "completion": 0, "cached": 0}
    public: JSONObject = {**row, "model": "openai/gpt-4o"}
    unknown: JSONObject = {**row, "model": "custom/nobody"}
    own = {"custom/mine": Price(3.0, 4.0)}
    rows = [public, unknown, {**row, "model": "custom/mine"}, {**row, "model": "local/x"}]
    assert await rates.costs(rows, own, patience=0.0) == [None, None, 3.0, 0.0]  # nobody waits for the table
    cost, none, *_ = await rates.costs(rows, own, patience=60.0)
    assert none is None
    assert cost is not None
    assert cost > 0
    assert await rates.costs([public], own, patience=0.0) == [cost]
    assert await rates.costs([public], {"openai/gpt-4o": Price(7.0, 0.0)}) == [7.0]
    await rates.costs([unknown], own)
    assert not _is_looking()
    await clock.advance(601)
    await rates.costs([unknown], own, patience=0.0)
    assert _is_looking()
    await rates.aclose()
    assert not _is_looking()


def _is_looking() -> bool:
    return any(task.get_name() == "prices" for task in asyncio.all_tasks())


def test_the_text_for_prometheus_has_counters_by_provider_model_and_task() -> None:
    row: JSONObject = {"task": "turn", "calls": 3, "prompt": 50, "completion": 7, "cached": 20}
    models = [
        {**row, "model": "openrouter/openai/x", "cost": 0.25},
        {**row, "model": 'custom/a"b', "cost": None},
    ]
    text = render(
        Seen({"ready": 1}, {"telegram": True}, {"kinds": {"logs": 5}, "free": 9, "total": 10}, models)
    )
    lines = text.decode().splitlines()
    labels = 'model="openai/x",provider="openrouter",task="turn"'
    assert "# TYPE hermes_model_calls_total counter" in lines
    assert f"hermes_model_calls_total{{{labels}}} 3.0" in lines
    assert f'hermes_model_tokens_total{{kind="cached",{labels}}} 20.0' in lines
    assert f"hermes_model_cost_dollars_total{{{labels}}} 0.25" in lines
    assert 'hermes_model_calls_total{model="a\\"b",provider="custom",task="turn"} 3.0' in lines
    assert sum("cost_dollars_total{" in line for line in lines) == 1
    assert 'hermes_platform_connected{instance="telegram"} 1.0' in lines
    assert "hermes_ready 1.0" in lines
