"""Going on from a backup, or from the copy that was made before an upgrade. The home's lock must be held. Blocks."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gateway import books, swap
from gateway.archive import SCOPE, SPARE_BYTES, Manifest, unpack
from gateway.config.environment import parse_env
from gateway.kept import ASIDE, unused
from hermes.errors import HermesError, StoreTooNew
from hermes.home import Home
from hermes.store import Job

__all__ = ["Restored", "go_back", "restore"]

_SIDE_FILES = ("state.db-wal", "state.db-shm")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done. `aside`: where the home's former files lie, `None` where there were none.

    dropped: replies that waited when the backup was made and are not sent. stopped: messages that were not answered
    then and will not be. left_out: names of secrets that are neither in the backup nor in the home.
    lost: how many sessions, messages and turns the former database had beyond the restored one.
    """

    at: float
    hermes: str | None
    aside: Path | None
    dropped: int = 0
    stopped: int = 0
    left_out: tuple[str, ...] = ()
    lost: Mapping[str, int] = field(default_factory=dict)


def restore(home: Home, archive: Path, *, resend: bool) -> Restored:
    """Put the backup in the place of what the home has; `resend`: what was open then is taken up again.

    Raises `HermesError`, `StoreTooNew`; then the home is as it was.
    """
    with _staged(home) as fresh:
        manifest = unpack(archive, fresh)
        _check_versions(archive, manifest.schemas, manifest.hermes)
        before = books.counts(home.state) if home.state.exists() else {}
        dropped = stopped = 0
        if (fresh / "state.db").exists():
            _check_versions(archive, books.look_at_copy(fresh / "state.db"), manifest.hermes)
            dropped, stopped = _make_fit(Home(fresh), manifest.at, resend=resend)
        after = books.counts(fresh / "state.db") if (fresh / "state.db").exists() else {}
        left_out = _missing_secrets(home, manifest)
        keep = {name for name in (".env",) if manifest.left_out}
        keep |= {"workspace"} if not (fresh / "workspace").exists() else set()
        aside = _put(home, fresh, [n for n in (*SCOPE, *_SIDE_FILES) if n not in keep])
    return Restored(manifest.at, manifest.hermes, aside, dropped, stopped, left_out, _lost(before, after))


def go_back(home: Home, copy: Path) -> Restored:
    """Put a copy of the database in the place of the home's own, which may be of a later version.

    Raises `HermesError`, `StoreTooNew`; then the home is as it was.
    """
    if not copy.is_file():
        raise HermesError(f"There is no {copy}.")
    with _staged(home) as fresh:
        _check_versions(copy, books.look_at_copy(copy), None)
        _check_room(home, copy)
        at = copy.stat().st_mtime
        shutil.copyfile(copy, fresh / "state.db")
        (fresh / "state.db").chmod(0o600)
        if (home.root / "agents").is_dir():
            shutil.copytree(home.root / "agents", fresh / "agents", symlinks=True)
        before = books.counts(home.state) if home.state.exists() else {}
        dropped, stopped = _make_fit(Home(fresh), at, resend=False)
        lost = _lost(before, books.counts(fresh / "state.db"))
        aside = _put(home, fresh, ["state.db", *_SIDE_FILES, "agents"])
    return Restored(at, None, aside, dropped, stopped, (), lost)


@contextmanager
def _staged(home: Home) -> Iterator[Path]:
    fresh = swap.begin(home.root)
    try:
        yield fresh
    finally:
        if not swap.is_decided(home.root):
            shutil.rmtree(fresh.parent, ignore_errors=True)


def _check_versions(source: Path, schemas: Mapping[str, int], hermes: str | None) -> None:
    known = books.known_schemas()
    for part, found in schemas.items():
        if found > known.get(part, 0):
            by = f"Hermes {hermes}, a newer one" if hermes else "a newer Hermes"
            raise StoreTooNew(
                f"{source} was made by {by}: its {part} schema is version {found}, this program knows up to "
                f"{known.get(part, 0)}. Restore it with {f'Hermes {hermes}' if hermes else 'that version'} or a later one."
            )


def _check_room(home: Home, copy: Path) -> None:
    needed, free = 2 * copy.stat().st_size + SPARE_BYTES, shutil.disk_usage(home.root).free
    if free < needed:
        raise HermesError(f"There is no room in {home.root}: {needed:,} bytes are needed, {free:,} are free.")


def _make_fit(fresh: Home, at: float, *, resend: bool) -> tuple[int, int]:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    now = time.time()
    why = f"interrupted by a restore of what was there at {when}"
    jobs = [] if resend else [_close_open(why, now), books.close_turns(why, now)]
    results = asyncio.run(books.make_fit(fresh, *jobs))
    return results[0] if results else (0, 0)


def _close_open(why: str, now: float) -> Job:
    """A job that closes what waits to be sent or answered; its result are both numbers."""

    def job(connection: sqlite3.Connection) -> tuple[int, int]:
        replies = connection.execute(
            "UPDATE outbox SET state = 'dropped', error = ?, closed_at = ? WHERE state IN ('queued', 'sending')",
            (why, now),
        )
        messages = connection.execute(
            "UPDATE inbox SET state = 'stopped', closed_at = ? WHERE state IN ('waiting', 'running')", (now,)
        )
        return replies.rowcount, messages.rowcount

    return job


def _missing_secrets(home: Home, manifest: Manifest) -> tuple[str, ...]:
    here = parse_env(home.env.read_text("utf-8-sig")) if home.env.exists() else {}
    return tuple(n for n in manifest.left_out if not here.get(n) and not os.environ.get(n))


def _put(home: Home, fresh: Path, scope: Sequence[str]) -> Path | None:
    old = [name for name in scope if os.path.lexists(home.root / name)]
    new = [name for name in scope if (fresh / name).exists()]
    if stuck := swap.mounted(home.root, old):
        raise HermesError(
            f"{home.root / stuck[0]} is mounted there by itself, so nothing can be put in its place. "
            "Take the mount away first, or restore with --into DIR and copy from there."
        )
    aside = unused(home.root, time.strftime(f"{ASIDE}%Y%m%d-%H%M%S"))
    swap.commit(home.root, aside.name, old, new)
    if not old:
        aside.rmdir()
        return None
    return aside


def _lost(before: Mapping[str, int], after: Mapping[str, int]) -> Mapping[str, int]:
    return {name: before[name] - after.get(name, 0) for name in before if before[name] > after.get(name, 0)}
