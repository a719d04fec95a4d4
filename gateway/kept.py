"""Which files in a home may still hold what was said earlier."""

from __future__ import annotations

from pathlib import Path

from hermes.home import Home

__all__ = ["copies"]


def copies(home: Home) -> list[Path]:
    """Backups, and what a restore moved aside; copies from before upgrades are the store's to name. Blocks."""
    found = (*(home.root / "backups").glob("hermes-*.tar.gz"), *home.root.glob("before-restore-*"))
    return sorted(found)
