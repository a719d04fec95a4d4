"""What tokens cost, in US dollars: the owner's own prices before those that genai-prices knows.

As a program (`python -m agent_core.models.prices`) it reads rows as JSON on stdin and writes them with their `cost`: the
library and its table take 14 MB and a quarter of a second, which a daemon need not keep.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes.messages import JSONObject

__all__ = ["Price", "cost_at", "cost_of", "is_free", "main", "priced"]

_FREE = frozenset({"ollama", "local"})
_MILLION = 1_000_000.0


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens. cached: of the prompt's tokens that came from the provider's cache; absent: as others."""

    input: float
    output: float
    cached: float | None = None


def cost_of(row: Mapping[str, Any], own: Mapping[str, Price]) -> float | None:
    """What the calls of a row (its `model`, `calls`, `prompt`, `completion`, `cached`) cost; `None` where no price is known."""
    name = str(row["model"])
    if (price := own.get(name)) is not None:
        return cost_at(row, price)
    return 0.0 if is_free(name) else _looked_up(name, row)


def is_free(name: str) -> bool:
    """Whether `provider/model` runs on the owner's own machine, which costs nothing by the token."""
    return name.partition("/")[0] in _FREE


def cost_at(row: Mapping[str, Any], price: Price) -> float:
    """What the tokens of a row cost at a price."""
    cached = min(int(row["cached"]), int(row["prompt"]))
    rate = price.input if price.cached is None else price.cached
    spent = (
        (int(row["prompt"]) - cached) * price.input + cached * rate + int(row["completion"]) * price.output
    )
    return spent / _MILLION


def _looked_up(name: str, row: Mapping[str, Any]) -> float | None:
    from genai_prices import Usage, calc_price  # noqa: PLC0415  heavy: only for who asks for costs

    # Some models cost more from a length of the request on: that is asked of a call, never of the sum of many.
    calls = max(int(row.get("calls", 1)), 1)
    usage = Usage(
        input_tokens=int(row["prompt"]) / calls,
        cache_read_tokens=min(int(row["cached"]), int(row["prompt"])) / calls,
        output_tokens=int(row["completion"]) / calls,
    )
    provider, _, model = name.partition("/")
    known = None if provider == "custom" else provider
    try:
        return calls * float(calc_price(usage, model_ref=model, provider_id=known).total_price)
    except (LookupError, ValueError):
        return None


def priced(rows: Sequence[JSONObject], own: Mapping[str, Price]) -> list[JSONObject]:
    """The rows, each with its `cost`: dollars, or `None` where no price is known."""
    return [{**row, "cost": cost_of(row, own)} for row in rows]


def main() -> None:
    """Price what stdin holds: `{"rows": [...], "own": {MODEL: [input, output, cached]}}`."""
    request = json.load(sys.stdin)
    own = {name: Price(*price) for name, price in request["own"].items()}
    json.dump(priced(request["rows"], own), sys.stdout)


if __name__ == "__main__":
    main()
