"""What a home keeps of its own past: backups, copies of the database under way, what a restore moved aside.

Everything here blocks; copies of the database from before upgrades are the store's to name.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from hermes.home import Home

__all__ = ["ASIDE", "BACKUPS", "DATABASE_COPIES", "SUFFIX", "copies", "database_copy", "unused"]

SUFFIX = ".tar.gz"
BACKUPS = f"hermes-*{SUFFIX}"
ASIDE = "before-restore-"
_COPY = ".state-"
DATABASE_COPIES = f"{_COPY}*"


def copies(home: Home) -> list[Path]:
    """Everything that may still hold what was said earlier."""
    return sorted((*home.backups.glob(BACKUPS), *home.root.glob(f"{ASIDE}*")))


def database_copy(home: Home) -> Path:
    """Where the next copy of the database goes while a backup is made of it."""
    return home.backups / f"{_COPY}{secrets.token_hex(8)}"


def unused(folder: Path, name: str) -> Path:
    """A path in the folder that nothing has: the name, else with a number before its suffix."""
    stem, suffix = (name.removesuffix(SUFFIX), SUFFIX) if name.endswith(SUFFIX) else (name, "")
    number, fresh = 1, folder / name
    while os.path.lexists(fresh):
        number += 1
        fresh = folder / f"{stem}-{number}{suffix}"
    return fresh
