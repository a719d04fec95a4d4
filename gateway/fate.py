"""What becomes of a message whose sending failed. Pure.

certainly not taken          -> queued again (after `retry_after`, or with growing pauses)
platform not reached         -> queued again with growing pauses, which end when the platform shows that it is there
unknown outcome              -> sent again where the platform de-duplicates or `on_unknown: resend`, else dropped
refused, or failed too often -> dead letter
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.outbox import OutboxRow, WaitsFor
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Unauthorized, Unreachable

__all__ = ["DeliveryRules", "Fate", "Sign", "decide", "is_over"]

Sign = Literal["taken", "connected"]
"""What shows that a platform is there: it has taken a message, or its adapter has just connected."""


@dataclass(frozen=True, slots=True)
class DeliveryRules:
    """on_unknown: what to do when nobody knows whether a message arrived.

    attempts: failures until a dead letter. max_age: seconds.
    """

    on_unknown: Literal["resend", "drop"] = "resend"
    attempts: int = 8
    max_age: float = 86_400.0


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a row after a failure.

    delay: seconds until it is tried again (`state` "queued"). waits_for: what ends the wait before. away: see `OutboxRow`.
    """

    state: Literal["queued", "dead", "dropped"]
    delay: float = 0.0
    again: bool = False
    attempts: int = 0
    waits_for: WaitsFor = "time"
    away: int = 0


def decide(
    row: OutboxRow,
    error: AdapterError,
    rules: DeliveryRules,
    *,
    deduplicates: bool,
    now: float,
    jitter: float,
) -> Fate:
    """Pure: the fate of a row whose send failed with `error`. `jitter` in 0..1."""
    old = now - row.created_at > rules.max_age
    attempts, away = row.attempts + 1, row.away + 1
    pause = _pause(attempts, jitter)
    match error:
        case OutcomeUnknown():
            if not deduplicates and rules.on_unknown == "drop":
                return Fate("dropped")
            return (
                Fate("dead")
                if attempts >= rules.attempts
                else Fate("queued", pause, again=True, attempts=attempts)
            )
        case NotTaken(retry_after=float() | int() as told):
            return Fate("dead") if old else Fate("queued", float(told), attempts=row.attempts)
        case NotTaken():
            return Fate("dead") if attempts >= rules.attempts else Fate("queued", pause, attempts=attempts)
        case Unreachable() | Unauthorized():
            waits_for: WaitsFor = "road" if isinstance(error, Unreachable) else "login"
            pause = _pause(away, jitter)  # an outage is no fault of the row: it does not count as an attempt
            return (
                Fate("dead")
                if old
                else Fate("queued", pause, attempts=row.attempts, waits_for=waits_for, away=away)
            )
        case _:
            return Fate("dead")


def _pause(failures: int, jitter: float) -> float:
    return min(60.0, 0.5 * 2.0 ** min(failures, 8)) * (0.75 + 0.5 * jitter)


def is_over(waits_for: WaitsFor, sign: Sign) -> bool:
    """Pure: whether a wait ends with what its platform shows. A pause that the platform asked for ends by time alone."""
    return waits_for == "road" or (waits_for == "login" and sign == "connected")
