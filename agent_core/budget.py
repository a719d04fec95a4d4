"""What a turn may spend, and what it has spent: model calls, and calls that repeat themselves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes.messages import Usage

__all__ = ["CALLS", "SUMMARY_REQUEST", "RepeatGuard", "Spending"]

CALLS = 90
"""Model calls of a turn, the last one included, which only sums up."""

SUMMARY_REQUEST = (
    "[The limit of model calls for this turn is reached; no more tools can be called. Say clearly and "
    "briefly what was asked, what is done, what is not, and what the next step would be. The user can write "
    "again to go on.]"
)

_WARN_FROM = 2
_STOP_FROM = 4
_GIVE_UP = 3

_WARNING = (
    "\n\n[The same call gave the same result {times} times now. Calling it again will not change that.]"
)
_STOPPED = (
    "This call was not run: it gave the same result {times} times in a row. Use the result that you have, "
    "change the arguments, or say what is in the way."
)


@dataclass(slots=True)
class Spending:
    """Model calls and tokens of one turn."""

    limit: int = CALLS
    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """One answer more."""
        self.calls += 1
        self.usage += usage

    @property
    def is_last(self) -> bool:
        """Whether the next call is the last one."""
        return self.calls + 1 >= self.limit


@dataclass(slots=True)
class RepeatGuard:
    """Knows the calls of one turn.

    The 2nd and 3rd identical result carry a warning, then the call is refused.
    """

    _seen: dict[str, tuple[str, int]] = field(default_factory=dict)
    _refusals: int = 0

    def refusal(self, name: str, arguments: Mapping[str, Any] | None) -> str | None:
        """Why this call must not run; `None`: it may."""
        _, times = self._seen.get(_key(name, arguments), ("", 0))
        if times < _STOP_FROM - 1:
            return None
        self._refusals += 1
        return _STOPPED.format(times=times)

    def warning(self, name: str, arguments: Mapping[str, Any] | None, result: str) -> str:
        """What is appended to this result; "" when it is new."""
        key = _key(name, arguments)
        digest = hashlib.blake2b(result.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        before, times = self._seen.get(key, ("", 0))
        times = times + 1 if before == digest else 1
        self._seen[key] = (digest, times)
        return _WARNING.format(times=times) if times >= _WARN_FROM else ""

    @property
    def is_stuck(self) -> bool:
        """Whether refusals do not help: the turn should be summed up."""
        return self._refusals >= _GIVE_UP


def _key(name: str, arguments: Mapping[str, Any] | None) -> str:
    return name + json.dumps(arguments, sort_keys=True, default=str)
