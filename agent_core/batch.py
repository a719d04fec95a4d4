"""Which tool calls of one answer may run beside each other. Pure.

never: alone. read: beside everything that is not "never". path: beside others whose paths do not overlap.
Groups run one after the other in call order; a call never overtakes one that it must wait for.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hermes.tools import Parallel

__all__ = ["MOST_AT_ONCE", "Planned", "normalised", "overlap", "plan"]

MOST_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Planned:
    """What planning needs to know of a call. `paths`: absolute and normalised (`normalised`)."""

    parallel: Parallel
    paths: tuple[str, ...] = ()


def normalised(workspace: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The paths absolute (relative ones lie in `workspace`), without `.`, `..` and doubled slashes.

    Case does not tell them apart.
    """
    # Some file systems fold case; two names that differ only in case are taken for one, which costs nothing
    # but time.
    return tuple(os.path.normpath(os.path.join(workspace, p)).casefold() for p in paths)  # noqa: PTH118  pure text


def overlap(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether a path of `a` is, contains or lies in one of `b`."""
    return any(_meets(x, y) for x in a for y in b)


def _meets(x: str, y: str) -> bool:
    return x == y or x.startswith(y.rstrip("/") + "/") or y.startswith(x.rstrip("/") + "/")


def plan(calls: Sequence[Planned], most: int = MOST_AT_ONCE) -> list[list[int]]:
    """Indexes of `calls` in groups of at most `most` that may run at once."""
    groups: list[list[int]] = []
    for index, call in enumerate(calls):
        group = groups[-1] if groups else []
        if group and len(group) < most and all(_beside(calls[i], call) for i in group):
            group.append(index)
        else:
            groups.append([index])
    return groups


def _beside(a: Planned, b: Planned) -> bool:
    if "never" in (a.parallel, b.parallel):
        return False
    if a.parallel == b.parallel == "path":
        # A call that names no path may touch any.
        return bool(a.paths) and bool(b.paths) and not overlap(a.paths, b.paths)
    return True
