"""Putting prepared files in the place of a home's own: all of them or none, whatever is killed when.

What is to come lies in `.restoring/new`. Once `.restoring/plan.json` is on disk the change is decided; every holder
of the home's lock finishes it before anything else. Until then the home is as it was. The home itself is not renamed:
it may be a mount point, and its lock stays held.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from hermes.errors import HomeError
from hermes.failpoint import reached

__all__ = ["STAGE", "begin", "commit", "finish", "is_decided", "mounted", "sync", "sync_tree"]

STAGE = ".restoring"
_PLAN = "plan.json"


def begin(root: Path) -> Path:
    """An empty folder for what is to come; an older one that was not decided is removed. The lock must be held."""
    stage = root / STAGE
    shutil.rmtree(stage, ignore_errors=True)
    fresh = stage / "new"
    fresh.mkdir(mode=0o700, parents=True)
    stage.chmod(0o700)
    return fresh


def commit(root: Path, aside: str, old: Sequence[str], new: Sequence[str]) -> None:
    """Move the entries `old` of the home into its folder `aside`, and `new` from the stage into the home."""
    stage = root / STAGE
    sync_tree(stage)
    unfinished = stage / f"{_PLAN}.tmp"
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump({"aside": aside, "old": list(old), "new": list(new)}, file)
        file.flush()
        os.fsync(file.fileno())
    reached("restore.staged")
    unfinished.replace(stage / _PLAN)
    sync(stage)
    reached("restore.decided")
    finish(root)


def mounted(root: Path, names: Sequence[str]) -> list[str]:
    """Which of the home's entries are mounts of their own: rename(2) moves none of them (EBUSY)."""
    try:
        table = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:  # not Linux
        table = ""
    places = {
        re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), line.split()[4]) for line in table.splitlines()
    }
    here = root.resolve()
    return [name for name in names if str(here / name) in places or os.path.ismount(here / name)]


def is_decided(root: Path) -> bool:
    """Whether a change is to be finished; its stage must be left alone."""
    return (root / STAGE / _PLAN).exists()


def finish(root: Path) -> bool:
    """Carry out a decided change to its end; says whether there was one. Safe to repeat. The lock must be held.

    Raises `HomeError` when files cannot be moved.
    """
    stage = root / STAGE
    plan = stage / _PLAN
    if not plan.exists():
        return False
    try:
        wanted = json.loads(plan.read_text("utf-8"))
        aside = root / wanted["aside"]
        aside.mkdir(mode=0o700, exist_ok=True)
        for name in wanted["old"]:
            if os.path.lexists(root / name) and not os.path.lexists(aside / name):
                (root / name).rename(aside / name)
                reached("restore.moved_aside")
        for name in wanted["new"]:
            if os.path.lexists(stage / "new" / name):
                (stage / "new" / name).rename(root / name)
                reached("restore.moved_in")
        for folder in (aside, root):
            sync(folder)
        plan.unlink()
        sync(stage)
    except OSError as error:
        raise HomeError(
            f"A restore could not be finished in {root}: {error.strerror}. It goes on at the next try."
        ) from error
    shutil.rmtree(stage, ignore_errors=True)
    return True


def sync_tree(folder: Path) -> None:
    """Have everything under the folder on disk."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            sync(path)


def sync(path: Path) -> None:
    """Have a file or folder on disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
