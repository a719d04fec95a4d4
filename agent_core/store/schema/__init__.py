"""The agent's tables: numbered steps beside this file, never changed once released."""

from __future__ import annotations

from importlib.resources import files

from hermes.store import SchemaPart

__all__ = ["PART"]

_STEPS = sorted(f.name for f in files(__name__).iterdir() if f.name.endswith(".sql"))

PART = SchemaPart("agent", tuple(files(__name__).joinpath(name).read_text("utf-8") for name in _STEPS))
