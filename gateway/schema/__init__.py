"""The gateway's tables: what was taken, what is to be sent, who may write."""

from __future__ import annotations

from pathlib import Path

from hermes.store import SchemaPart

__all__ = ["PART"]


_STEPS = sorted(Path(__file__).parent.glob("*.sql"))

PART = SchemaPart("gateway", tuple(step.read_text("utf-8") for step in _STEPS))
