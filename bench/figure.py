"""What a measurement gives: a figure, its bound, the floor measured beside it, and how they are shown."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field

__all__ = ["Figure"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. Its value is the median of `runs`.

    `floor`: what cannot be undercut, measured in the same run; `floor_what` says what that is. `bound` is in
    `unit`, and `rule` is its text (ratios are turned into a bound with the floor of this run).
    `guard`: what the quick run measures a regression by, where the bound itself is out of reach.
    `others_cores`: how many cores other programs took meanwhile.
    """

    name: str
    what: str
    unit: str
    runs: list[float]
    bound: float
    rule: str
    others_cores: float
    at_most: bool = True
    floor: float | None = None
    floor_what: str = ""
    guard: float | None = None
    note: str = ""
    more: dict[str, float | str] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.runs)

    def holds(self, slack: float = 1.0) -> bool:
        """Whether the bound is kept; `slack` 2 allows twice as much (or half as much) as the guard, or the bound."""
        bound = self.bound if slack == 1.0 or self.guard is None else self.guard
        return self.value <= bound * slack if self.at_most else self.value >= bound / slack

    def line(self) -> str:
        """One line of JSON."""
        return json.dumps(self.record(), ensure_ascii=False)

    def record(self) -> dict[str, object]:
        """As plain JSON."""
        return {
            "figure": self.name,
            "value": _short(self.value),
            "unit": self.unit,
            "bound": _short(self.bound),
            "rule": self.rule,
            "holds": self.holds(),
            "runs": [_short(run) for run in self.runs],
            "floor": None if self.floor is None else _short(self.floor),
            "floor_what": self.floor_what,
            "others_cores": round(self.others_cores, 2),
            "what": self.what,
            "note": self.note,
            **({"more": self.more} if self.more else {}),
        }


def _short(value: float) -> float:
    return round(value, 3) if abs(value) < 100 else round(value)
