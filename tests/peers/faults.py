"""Faults that a peer can be told to show, per method, in order."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["status", "delay", "hang", "cut", "lost", "malformed", "refuse"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One planned misbehaviour.

    `status` answers with an error and does nothing; `delay` waits `seconds`, then works as usual; `hang`
    never answers; `cut` drops the connection before the call is read; `lost` does the work and drops it
    instead of answering; `malformed` does the work and answers with broken JSON; `refuse` cuts, and refuses
    connections for `seconds`. `match` limits a fault to calls whose parameters have these values (compared as
    text). A fault is used `times` times.
    """

    kind: Kind
    status: int = 500
    description: str = "Internal Server Error"
    retry_after: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    match: Mapping[str, Any] = field(default_factory=dict)
    times: int = 1


def too_many(retry_after: int, *, times: int = 1, **match: Any) -> Fault:
    """429 with `retry_after` seconds."""
    text = f"Too Many Requests: retry after {retry_after}"
    return Fault("status", 429, text, retry_after=retry_after, match=match, times=times)


def refusal(status: int, description: str, *, times: int = 1, **match: Any) -> Fault:
    """An error answer; nothing is done."""
    return Fault("status", status, description, match=match, times=times)


class FaultPlan:
    """Queues of faults by method name; `*` stands for any method."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[list[Any]]] = defaultdict(list)

    def add(self, method: str, *faults: Fault) -> None:
        """Append faults to the queue of `method`."""
        self._waiting[method] += [[fault, fault.times] for fault in faults]

    def clear(self) -> None:
        """Forget every planned fault."""
        self._waiting.clear()

    def pending(self) -> int:
        """How many faults have not been shown yet."""
        return sum(times for queue in self._waiting.values() for _, times in queue)

    def take(self, method: str, params: Mapping[str, Any] | None) -> Fault | None:
        """The next fault for this call, or None; without `params` only a `cut` that matches any call."""
        for queue in (self._waiting.get(method), self._waiting.get("*")):
            for slot in queue or ():
                fault: Fault = slot[0]
                if params is None and (fault.kind != "cut" or fault.match):
                    break
                if params is None or _matches(fault, params):
                    self._use(queue or [], slot)
                    return fault
        return None

    @staticmethod
    def _use(queue: list[list[Any]], slot: list[Any]) -> None:
        slot[1] -= 1
        if slot[1] <= 0:
            queue.remove(slot)


def _matches(fault: Fault, params: Mapping[str, Any]) -> bool:
    return all(str(params.get(key)) == str(value) for key, value in fault.match.items())
