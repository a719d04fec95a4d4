"""The agent's tables: numbered steps beside this file, never changed once released."""

from __future__ import annotations

from importlib.resources import files

from hermes.store import SchemaPart

__all__ = ["INDEX", "PART"]

_STEPS = sorted(f.name for f in files(__name__).iterdir() if f.name.endswith(".sql"))

PART = SchemaPart("agent", tuple(files(__name__).joinpath(name).read_text("utf-8") for name in _STEPS))

INDEX: str = files(__name__).joinpath("0002_index.sql").read_text("utf-8")
"""The statements that declare the full-text index as it is now."""
