"""The agent's tables: numbered steps beside this file, never changed once released."""

from __future__ import annotations

from pathlib import Path

from hermes.store import SchemaPart

__all__ = ["INDEX", "PART"]

_FOLDER = Path(__file__).parent

PART = SchemaPart("agent", tuple(step.read_text("utf-8") for step in sorted(_FOLDER.glob("*.sql"))))

INDEX: str = (_FOLDER / "0002_index.sql").read_text("utf-8")
"""The statements that declare the full-text index as it is now."""
