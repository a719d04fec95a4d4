"""Measure the figures of docs/design.md against the real daemon.

    python -m bench.run                 all figures, one line of JSON each
    python -m bench.run --only burst    the groups whose name holds this
    python -m bench.run --quick         under a minute; fails when a figure is beyond twice its bound
    python -m bench.run --all --write   all of them, and bench/results.md anew

Exit code 1 when a bound is broken (with --quick: by more than a factor of two).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from bench.accepts import measure_accepts
from bench.chats import measure_default_pace, measure_unpaced
from bench.figure import Figure
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
    "prompt": measure_prompt,
    "cpu": measure_cpu,
    "burst": measure_burst,
    "latency": measure_latency,
    "telegram": measure_unpaced,
    "pace": measure_default_pace,
    "accepts": measure_accepts,
    "agents": measure_agents,
    "store": measure_store,
}
_QUICK_SLACK = 2.0


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
    figures = []
    for name in chosen:
        for figure in GROUPS[name](quick=options.quick):
            print(figure.line(), flush=True)
            figures.append(figure)
    print(table(figures), file=sys.stderr)
    if options.write:
        write(figures)
    slack = _QUICK_SLACK if options.quick else 1.0
    return int(not all(figure.holds(slack) for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
