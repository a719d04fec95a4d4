"""Measure the figures of docs/design.md against the real daemon.

    python -m bench.run                 all figures, one line of JSON each
    python -m bench.run --only burst    the groups whose name holds this
    python -m bench.run --quick         about a minute; fails when a figure is twice beyond its bound twice
    python -m bench.run --all --write   all of them, and bench/results.md anew

Exit code 1 when a bound is broken (with --quick: by more than a factor of two).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence

from bench.accepts import measure_accepts, measure_ledger
from bench.chats import measure_default_pace, measure_unpaced
from bench.figure import Figure
from bench.platforms import measure_crowds, measure_rest
from bench.prompt import measure_prompt
from bench.results import table, write
from bench.start import measure_memory, measure_start, measure_status
from bench.storage import measure_store
from bench.turns import measure_agents, measure_burst, measure_cpu, measure_latency

__all__ = ["GROUPS", "main"]

GROUPS: dict[str, Callable[..., Iterator[Figure]]] = {
    "start": measure_start,
    "status": measure_status,
    "memory": measure_memory,
    "platforms": measure_rest,
    "prompt": measure_prompt,
    "cpu": measure_cpu,
    "burst": measure_burst,
    "latency": measure_latency,
    "telegram": measure_unpaced,
    "pace": measure_default_pace,
    "crowds": measure_crowds,
    "accepts": measure_accepts,
    "ledger": measure_ledger,
    "agents": measure_agents,
    "store": measure_store,
}
_QUICK_SLACK = 2.0
_STEADY = frozenset({
    *("idle-webhook", "idle-all", "idle-platforms", "prompt", "agent-memory", "store-size", "cpu-per-turn"),
    *("crowd-telegram-cpu", "crowd-discord-cpu", "crowd-slack-cpu", "crowd-email-cpu"),
})  # fmt: skip
"""What does not take longer where others are busy."""


def main() -> int:
    """Run the chosen groups."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small amounts, twice the bounds")
    parser.add_argument("--only", metavar="NAME", action="append", help="groups whose name holds NAME")
    parser.add_argument("--all", action="store_true", help="every group (the default)")
    parser.add_argument("--write", action="store_true", help="write bench/results.md")
    options = parser.parse_args()
    chosen = [n for n in GROUPS if not options.only or any(word in n for word in options.only)]
    if not chosen:
        parser.error(f"there is no such group; there are: {', '.join(GROUPS)}")
    if options.write and (options.only or options.quick):
        parser.error("--write takes all figures: leave --only and --quick out")
    figures: list[Figure] = []
    for name in chosen:
        found = list(GROUPS[name](quick=options.quick))
        if options.quick and not _hold(found):  # once is a hiccup
            found = list(GROUPS[name](quick=True))
        for figure in found:
            print(figure.line(), flush=True)
        figures += found
    print(table(figures), file=sys.stderr)
    if options.write:
        write(figures)
    if options.quick:
        return int(not _hold(figures))
    return int(not all(figure.holds() for figure in figures))


def _hold(figures: Sequence[Figure]) -> bool:
    """Whether no figure is far beyond its bound. What takes time takes more of it where others are busy too."""
    cores = os.cpu_count() or 1
    for figure in figures:
        left = max(0.25, cores - figure.others_cores)
        slack = _QUICK_SLACK * (1.0 if figure.name in _STEADY else cores / left)
        if not figure.holds(slack):
            print(f"{figure.name} is beyond {slack:.1f} times its bound", file=sys.stderr)
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
