"""What may not be asked yet, from what the server's answers told: buckets, global pauses, too many refusals. Pure.

Source: https://discord.com/developers/docs/topics/rate-limits. Times are monotonic seconds.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping

from adapters.discord.failures import is_global, pause_of

__all__ = ["Limits"]

_BUCKETS = 1024
_INVALID_SECONDS = 600.0
_MOST_INVALID = 8_000
"""Discord bans an address after 10,000 answers of 401, 403 or 429 in ten minutes."""


class Limits:
    """One bot's limits. A bucket is a kind of call and its channel ("message 5")."""

    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()
        self._all_until = 0.0
        self._invalid: deque[float] = deque(maxlen=_MOST_INVALID)

    def wait(self, bucket: str, now: float) -> float:
        """Seconds until a call may be made; 0 when it may be now."""
        return max(0.0, self._until.get(bucket, 0.0) - now, self._all_until - now, self._banned_until() - now)

    def note(self, bucket: str, status: int, headers: Mapping[str, str], body: bytes, now: float) -> None:
        """Learn from an answer."""
        if status in (401, 403) or (status == 429 and headers.get("X-RateLimit-Scope") != "shared"):
            self._invalid.append(now)
        if status == 429:
            until = now + pause_of(headers, body)
            if is_global(headers, body):
                self._all_until = max(self._all_until, until)
            else:
                self._hold(bucket, until)
        elif headers.get("X-RateLimit-Remaining") == "0":
            self._hold(bucket, now + _seconds(headers.get("X-RateLimit-Reset-After")))

    def _hold(self, bucket: str, until: float) -> None:
        self._until[bucket] = until
        self._until.move_to_end(bucket)
        if len(self._until) > _BUCKETS:
            self._until.popitem(last=False)

    def _banned_until(self) -> float:
        """When so many were refused that the next ones would get us banned: until the oldest is forgotten."""
        return self._invalid[0] + _INVALID_SECONDS if len(self._invalid) == _MOST_INVALID else 0.0


def _seconds(told: str | None) -> float:
    try:
        return min(60.0, max(0.0, float(told or 0)))
    except ValueError:
        return 0.0
