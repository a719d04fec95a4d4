"""Reports of what was used: sums of calls with their cost."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from agent_core.models.prices import Price
from agent_core.settings import LLM
from agent_core.store.calls import Current, Group, Person, sums, sums_of
from hermes.messages import JSONObject
from hermes.store import Store

__all__ = ["folded", "looked_up", "own_prices", "report", "spent"]

log = logging.getLogger(__name__)

_SECONDS = 20.0
_ADDED = ("calls", "prompt", "completion", "cached", "reasoning")
_PROBE = 1000
"""Tokens of a call that no model asks more for than for a shorter one."""


async def report(
    store: Store, since: float, by: Sequence[Group], own: Mapping[str, Price]
) -> list[JSONObject]:
    """What was used since `since` (epoch seconds), for each combination of `by`, with `cost` in dollars.

    A cost is `None` where the price of one of its models is not known; `unpriced` names those models. A turn that several
    models or persons took part in counts in each of their rows.
    """
    groups: list[Group] = [*by] if "model" in by else [*by, "model"]
    rows = await _priced(await sums(store, since, groups), own)
    return folded(rows, by)


def own_prices(llm: LLM) -> dict[str, Price]:
    """The owner's own prices by `provider/model`."""
    return {name: Price(entry.input, entry.output, entry.cached) for name, entry in llm.prices.items()}


async def spent(
    store: Store, own: Mapping[str, Price], *, session_key: str, accounts: Sequence[str], since: float
) -> tuple[JSONObject, JSONObject]:
    """What the key's current session has used, and what the accounts have used since `since`; each as `report` says."""
    here = await sums_of(store, Current(session_key))
    today = [row for account in accounts for row in await sums_of(store, Person(account, since))]
    both = await _priced([*here, *today], own)
    return _sum(both[: len(here)], ()), _sum(both[len(here) :], ())


async def looked_up(models: Sequence[str]) -> dict[str, Price]:
    """The public prices of models for calls that are not long, as far as they are known."""
    nothing = {"calls": 1, "prompt": 0, "completion": 0, "cached": 0}
    probes = ({"prompt": _PROBE}, {"completion": _PROBE}, {"prompt": _PROBE, "cached": _PROBE})
    rows = [{**nothing, "model": model, **probe} for model in models for probe in probes]
    costs = [row["cost"] for row in await _priced(rows, {})]
    found = {}
    for n, model in enumerate(models):
        rates = [None if cost is None else cost * 1_000_000 / _PROBE for cost in costs[3 * n : 3 * n + 3]]
        if rates[0] is not None and rates[1] is not None:
            found[model] = Price(rates[0], rates[1], rates[2])
    return found


def folded(rows: Iterable[JSONObject], by: Sequence[str]) -> list[JSONObject]:
    """Rows of groups and models as rows of groups. Pure."""

    def group(row: JSONObject) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in by)

    return [_sum(list(members), by) for _, members in groupby(sorted(rows, key=group), key=group)]


def _sum(rows: list[JSONObject], by: Sequence[str]) -> JSONObject:
    unknown = sorted({str(row["model"]) for row in rows if row["cost"] is None})
    return {
        **{name: rows[0][name] for name in by},
        "turns": sum(int(row["turns"]) for row in rows),
        **{name: sum(int(row[name]) for row in rows) for name in _ADDED},
        "estimated": any(row["estimated"] for row in rows),
        "cost": None if unknown else round(sum(float(row["cost"]) for row in rows), 6),
        "unpriced": unknown,
    }


async def _priced(rows: list[JSONObject], own: Mapping[str, Price]) -> list[JSONObject]:
    """The rows with their cost, from a process of its own; without costs where that fails."""
    if not rows:
        return []
    request = {"rows": rows, "own": {name: [p.input, p.output, p.cached] for name, p in own.items()}}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent_core.models.prices"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TZ", "LANG") if name in os.environ},
    )
    try:
        async with asyncio.timeout(_SECONDS):
            out, err = await child.communicate(json.dumps(request).encode())
    except TimeoutError:
        log.warning("usage.not_priced", extra={"error": f"no answer within {_SECONDS:g} s"})
        return [{**row, "cost": None} for row in rows]
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        log.warning("usage.not_priced", extra={"error": err.decode(errors="replace")[-300:]})
        return [{**row, "cost": None} for row in rows]
    found: list[dict[str, Any]] = json.loads(out)
    return found
