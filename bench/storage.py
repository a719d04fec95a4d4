"""The figures of `bench.store`, run as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from bench.figure import Figure
from bench.machine import OthersCores

__all__ = ["measure_store"]

_KINDS = {
    "store.size_over_text": ("store-size", "`state.db` over its text (messages and index)", "x", True),
    "store.search_p95_ms": ("search", "search, p95 of 20 mixed queries", "ms", True),
    "store.append_per_s": ("append", "indexed appends in batches", "1/s", False),
    "store.append_stall_ms": ("append-stall", "the longest stall of an append", "ms", True),
}


def measure_store(*, quick: bool) -> Iterator[Figure]:
    """Search, append and size at 100,000 messages in 2,000 sessions (quick: a tenth)."""
    found: dict[str, list[dict[str, float]]] = {}
    others = OthersCores()
    for _ in range(1 if quick else 2):
        command = [sys.executable, "-m", "bench.store", *(["--quick"] if quick else [])]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            entry = json.loads(line)
            found.setdefault(entry["bench"], []).append(entry)
    for name in _KINDS:
        yield _figure(name, found[name], others.so_far(), quick=quick)


def _figure(name: str, entries: list[dict[str, float]], others: float, *, quick: bool) -> Figure:
    label, what, unit, at_most = _KINDS[name]
    bound = entries[0]["bound"]
    return Figure(
        name=label,
        what=what,
        unit=unit,
        runs=[entry["value"] for entry in entries],
        bound=bound,
        rule=f"{bound:,.0f} {unit}",
        others_cores=others,
        at_most=at_most,
        note="10,000 messages" if quick else "100,000 messages, 2,000 sessions",
    )
