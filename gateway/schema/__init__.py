"""The gateway's tables: what was taken, what is to be sent, who may write."""

from __future__ import annotations

from importlib.resources import files

from hermes.store import SchemaPart

__all__ = ["PART"]


def _steps() -> tuple[str, ...]:
    folder = files(__package__)
    names = sorted(f.name for f in folder.iterdir() if f.name.endswith(".sql"))
    return tuple(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


PART = SchemaPart("gateway", _steps())
