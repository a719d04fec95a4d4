"""Making a backup: which files of a home go into it, where it lies, how many are kept. Blocks."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from gateway import books, wiring
from gateway.archive import FORMAT, SCOPE, SPARE_BYTES, Manifest, is_holdable, pack
from gateway.config.environment import parse_env
from gateway.config.loading import load
from gateway.home import file_lock
from gateway.kept import BACKUPS, DATABASE_COPIES, SUFFIX, unused
from gateway.swap import sync
from hermes.errors import HermesError
from hermes.home import Home
from hermes.messages import scrub_surrogates

__all__ = ["KEPT", "Made", "Wish", "make"]

KEPT = 5
_STATE = "state.db"


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted. `place`: a file, or a folder that is there; absent: the home's own folder.

    keep: how many of the folder's backups stay; absent: 5 in the home's own folder, elsewhere all.
    """

    place: Path | None = None
    secrets: bool = True
    workspace: bool = False
    keep: int | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What was made. `skipped`: links to folders, which no backup holds. `removed`: older backups."""

    path: Path
    size: int
    manifest: Manifest
    skipped: tuple[str, ...]
    removed: tuple[Path, ...]


def make(home: Home, wish: Wish, copy: Callable[[], Path | None], told: Callable[[int, int], None]) -> Made:
    """Make one. `copy` gives a fresh copy of the database, which is removed at the end, or `None` where there is none.

    `told` hears of bytes done and of all. Raises `HermesError`, `OSError`; then nothing is left.
    """
    if not wish.secrets:
        _refuse_secrets_in_config(home)
    home.backups.mkdir(mode=0o700, exist_ok=True)
    with file_lock(home.backups / "backup"):
        _sweep(home)
        target = _target(home, wish)
        skipped: list[str] = []
        # The files are listed before the database is copied and read after that: a transcript may be ahead of the
        # copy, and a restore writes it anew from the rows.
        entries = list(_entries(home, wish, skipped))
        state = home.state.stat().st_size if home.state.exists() else 0
        total = state + sum(path.stat().st_size for _, path in entries if path.exists())
        _check_room(target.parent, home.backups, total, state)
        database = copy()
        try:
            whole, size = _write(home, wish, target, database, (entries, total, told))
        finally:
            if database is not None:
                database.unlink(missing_ok=True)
        return Made(target, size, whole, tuple(skipped), tuple(_thin_out(wish, target)))


def _refuse_secrets_in_config(home: Home) -> None:
    plain = load(home, wiring.SCHEMA, os.environ).warnings
    if plain:
        raise HermesError("A backup without secrets cannot be made yet. " + " ".join(plain))


def _sweep(home: Home) -> None:
    for left in (*home.backups.glob(DATABASE_COPIES), *home.backups.glob(".*.tmp")):
        left.unlink(missing_ok=True)


def _target(home: Home, wish: Wish) -> Path:
    name = time.strftime(f"hermes-%Y%m%d-%H%M%S{SUFFIX}")
    if wish.place is None:
        return unused(home.backups, name)
    place = wish.place.expanduser().absolute()
    if place.is_dir():
        return unused(place, name)
    if place.exists():
        raise HermesError(f"{place} is there already; choose another name.")
    if not place.parent.is_dir():
        raise HermesError(f"There is no folder {place.parent}.")
    return place


def _entries(home: Home, wish: Wish, skipped: list[str]) -> Iterator[tuple[str, Path]]:
    left_out = {_STATE, *(() if wish.secrets else (".env",)), *(() if wish.workspace else ("workspace",))}
    for name in SCOPE:
        path = home.root / name
        if name in left_out or not path.exists():
            continue
        if path.is_file():
            yield name, path
        elif path.is_dir():
            yield from _walk(path, name, skipped)


def _walk(top: Path, name: str, skipped: list[str]) -> Iterator[tuple[str, Path]]:
    for here, folders, files in os.walk(top):
        prefix = f"{name}/{Path(here).relative_to(top).as_posix()}".removesuffix("/.")
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        skipped += [_shown(prefix, f) for f in folders if not is_holdable(f) or (Path(here) / f).is_symlink()]
        folders[:] = [f for f in folders if is_holdable(f)]
        for file in sorted(files):
            path = Path(here) / file
            if file.endswith(".tmp") and file.startswith("."):
                continue
            if not is_holdable(file) or not path.is_file():  # also sockets and broken links
                skipped.append(_shown(prefix, file))
            else:
                yield f"{prefix}/{file}", path


def _shown(prefix: str, name: str) -> str:
    return scrub_surrogates(f"{prefix}/{name}")


def _check_room(target: Path, inner: Path, total: int, state: int) -> None:
    same = target.stat().st_dev == inner.stat().st_dev
    for place, needed in ((target, total + state * same), (inner, state)):
        free = shutil.disk_usage(place).free
        if free < needed + SPARE_BYTES:
            raise HermesError(
                f"There is no room for a backup in {place}: up to {needed + SPARE_BYTES:,} bytes are needed, "
                f"{free:,} are free."
            )


def _write(
    home: Home,
    wish: Wish,
    target: Path,
    database: Path | None,
    job: tuple[Sequence[tuple[str, Path]], int, Callable[[int, int], None]],
) -> tuple[Manifest, int]:
    entries, total, told = job
    done = 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        told(done, total)

    manifest = Manifest(
        format=FORMAT,
        hermes=version("hermes-gateway"),
        at=time.time(),
        schemas={} if database is None else books.look_at_copy(database),
        left_out=() if wish.secrets else tuple(_names_of_secrets(home)),
    )
    unfinished = target.with_name(f".{target.name}.tmp")
    unfinished.unlink(missing_ok=True)
    try:
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123  a descriptor
            first = [] if database is None else [(_STATE, database)]
            whole = pack(file, [*first, *entries], manifest, count)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)  # which is there after a failure alone
    sync(target.parent)
    return whole, size


def _names_of_secrets(home: Home) -> list[str]:
    return sorted(parse_env(home.env.read_text("utf-8-sig"))) if home.env.exists() else []


def _thin_out(wish: Wish, made: Path) -> Iterator[Path]:
    keep = wish.keep if wish.keep is not None else (KEPT if wish.place is None else None)
    if keep is None:
        return
    found = sorted(made.parent.glob(BACKUPS), key=lambda p: p.stat().st_mtime_ns, reverse=True)
    for old in [p for p in found if p != made][max(keep - 1, 0) :]:
        old.unlink()
        yield old
