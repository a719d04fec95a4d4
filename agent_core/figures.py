"""What the models have used, for whoever watches the daemon: counted since it began, and of a day.

Both are cheap to ask for again and again: what was counted is not read twice, and a model's price is looked up once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import structlog

from agent_core.models.prices import Price, cost_at, is_free
from agent_core.settings import LLM
from agent_core.store.calls import sums
from agent_core.usage import looked_up, own_prices
from hermes.clock import Clock
from hermes.config import SettingsSource
from hermes.errors import StoreError
from hermes.messages import JSONObject
from hermes.store import Store

__all__ = ["COUNTED", "Figures", "Rates"]

log = structlog.get_logger(__name__)

COUNTED = ("calls", "prompt", "completion", "cached")
_OTHER = "other"
_MOST_GROUPS = 100
"""Tasks and models that are counted by name; a person may choose any name with /model."""
_MOST_PRICES = 256
_AGAIN = 600.0
"""Seconds after which a price that was not found is asked for again: the look-up may have failed."""
_PATIENCE = 1.0
"""Seconds that a look-up is waited for. It goes on, and the next who asks has the price."""


class Rates:
    """Prices of models as the table of another process says, kept in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[Price | None, float]] = {}
        self._task: asyncio.Task[None] | None = None

    async def costs(
        self, rows: Sequence[JSONObject], own: Mapping[str, Price], patience: float = _PATIENCE
    ) -> list[float | None]:
        """Dollars for each row (its `model` and tokens), by the price of a short call; `None` where it is not known (yet)."""
        models = {str(row["model"]) for row in rows}
        if wanted := [m for m in sorted(models) if m not in own and not is_free(m) and self._is_due(m)]:
            if self._task is None:
                self._task = asyncio.create_task(self._look_up(wanted), name="prices")
            await asyncio.wait({self._task}, timeout=patience)
        return [self._cost(row, own) for row in rows]

    async def aclose(self) -> None:
        """End a look-up that is under way."""
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait({task})

    def _is_due(self, model: str) -> bool:
        price, at = self._known.get(model, (None, float("-inf")))
        return price is None and self._clock.monotonic() - at >= _AGAIN

    async def _look_up(self, models: Sequence[str]) -> None:
        try:
            found = await looked_up(models)
            if len(self._known) + len(models) > _MOST_PRICES:
                self._known.clear()
            now = self._clock.monotonic()
            self._known.update((model, (found.get(model), now)) for model in models)
        finally:
            self._task = None

    def _cost(self, row: JSONObject, own: Mapping[str, Price]) -> float | None:
        model = str(row["model"])
        price = own.get(model)
        if price is None and is_free(model):
            return 0.0
        price = price or self._known.get(model, (None, 0.0))[0]
        return None if price is None else cost_at(row, price)


class Figures:
    """Reads the rows of calls. `begin` before anything is counted."""

    def __init__(self, store: Store, settings: SettingsSource, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._rates = Rates(clock)
        self._last: int | None = None
        self._counted: dict[tuple[str, str], dict[str, int]] = {}
        self._looking = asyncio.Lock()

    async def begin(self) -> None:
        """Count from here on; where the rows cannot be read, from when they can be: a start does not fail for figures."""
        try:
            self._last = await self._newest()
        except StoreError as error:
            log.warning("figures.unreadable", reason=str(error))

    async def counted(self) -> list[JSONObject]:
        """What was used since `begin`, by `task` and `model`: `COUNTED`, and `cost` in dollars or `None`.

        They only grow, but for a cost whose price was changed. Raises `StoreError`.
        """
        async with self._looking:
            await self._count()
        rows = [{"task": t, "model": m, **figures} for (t, m), figures in self._counted.items()]
        return await self._priced(rows)

    async def used(self, since: float) -> JSONObject:
        """What was used since `since` (epoch seconds): `COUNTED`, and `cost` in dollars or `None`. Raises `StoreError`."""
        rows = await self._priced(await sums(self._store, since, ["model"]))
        costs = [row["cost"] for row in rows]
        return {
            **{name: sum(row[name] for row in rows) for name in COUNTED},
            "cost": None if None in costs else round(sum(costs), 6),
        }

    async def aclose(self) -> None:
        """End what is under way."""
        await self._rates.aclose()

    async def _newest(self) -> int:
        [row] = await self._store.read("SELECT coalesce(max(id), 0) AS last FROM calls")
        last: int = row["last"]
        return last

    async def _count(self) -> None:
        if self._last is None:
            self._last = await self._newest()
        rows = await self._store.read(
            "SELECT task, model, max(id) AS last, sum(calls) AS calls, sum(prompt) AS prompt,"
            " sum(completion) AS completion, sum(cached) AS cached FROM calls WHERE id > ? GROUP BY task, model",
            (self._last,),
        )
        for row in rows:
            self._last = max(self._last, row["last"])
            group = (row["task"], row["model"])
            if group not in self._counted and len(self._counted) >= _MOST_GROUPS:
                group = (_OTHER, _OTHER)
            figures = self._counted.setdefault(group, dict.fromkeys(COUNTED, 0))
            for name in COUNTED:
                figures[name] += row[name]

    async def _priced(self, rows: Sequence[JSONObject]) -> list[JSONObject]:
        own = own_prices(self._settings.current().get("llm", LLM))
        costs = await self._rates.costs(rows, own)
        return [{**row, "cost": cost} for row, cost in zip(rows, costs, strict=True)]
