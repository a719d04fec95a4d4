"""From a model's failure to the outcome of the turn.

Pure. The sentences belong to the gateway's table; here are only their keys.
"""

from __future__ import annotations

from dataclasses import replace

from hermes.agent import TurnOutcome
from hermes.errors import ModelError

__all__ = ["KEYS", "failed"]

KEYS = {
    "auth": "model_auth",
    "rate_limit": "model_rate_limit",
    "overload": "model_overload",
    "overflow": "overflow",
    "bad_request": "model_bad_request",
    "network": "model_down",
    "timeout": "model_timeout",
    "malformed": "model_malformed",
    "config": "model_config",
}


def failed(error: ModelError, outcome: TurnOutcome) -> TurnOutcome:
    """The outcome with its key; fields: `reason` (a sentence), where known `status`, `retry_after` (s)."""
    fields = {"reason": str(error), "status": error.status, "retry_after": error.retry_after}
    known = {k: v for k, v in fields.items() if v is not None}
    return replace(outcome, state="failed", error=KEYS[error.kind], error_fields=known)
