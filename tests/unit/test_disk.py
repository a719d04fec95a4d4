"""What a home takes of the disk, and errors that a full one makes."""

import errno
import sqlite3
from pathlib import Path

import pytest

from gateway.cli.status import describe
from gateway.disk import Disk, DiskUse, is_full, low, measure
from gateway.versions import schemas
from hermes.errors import HomeError
from hermes.home import Home


def test_each_kind_is_counted_where_it_lies(tmp_path: Path) -> None:
    for name, size in {
        "state.db": 10,
        "state.db-wal": 20,
        "agents/main/sessions/a.jsonl": 30,
        "spills/x/y": 40,
        "media/ab/cd": 45,
        "logs/hermes.log": 50,
        "backups/b.tar": 60,
        "state.db.v1.bak": 5,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    kinds = measure(Home(tmp_path))["kinds"]
    assert kinds == {
        "database": 10,
        "wal": 20,
        "transcripts": 30,
        "spills": 40,
        "media": 45,
        "logs": 50,
        "backups": 65,
        "models": 0,
    }


def test_a_measurement_is_used_again_for_some_seconds(tmp_path: Path) -> None:
    use = DiskUse(Home(tmp_path))
    first = use.now()
    (tmp_path / "state.db").write_bytes(b"x")
    assert use.now() is first


@pytest.mark.parametrize(("free", "warned"), [(100, False), (99, True), (0, True)])
def test_less_than_a_tenth_free_is_warned_of(free: int, warned: bool) -> None:
    assert (low(Disk(kinds={}, free=free, total=1000)) is not None) is warned


def test_a_full_disk_is_seen_behind_an_error_of_ours() -> None:
    def made(cause: BaseException, *, shown: bool) -> HomeError:
        try:
            try:
                raise cause
            except type(cause):
                raise HomeError("no") from (cause if shown else None)
        except HomeError as error:
            return error

    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    assert is_full(made(OSError(errno.ENOSPC, "full"), shown=False))
    assert is_full(made(full, shown=True))
    assert not is_full(made(OSError(errno.EACCES, "no"), shown=True))
    assert not is_full(HomeError("no"))


def test_a_database_that_is_none_has_no_schema(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"this is no database" * 100)
    assert schemas(tmp_path / "state.db") == {}
    assert schemas(tmp_path / "absent") == {}


def test_status_fits_eighty_columns() -> None:
    status = {
        "pid": 1234567,
        "version": "0.1.0",
        "uptime": 90_000,
        "disk": {"kinds": dict.fromkeys(("database", "wal", "transcripts", "spills", "logs"), 123_456_789)}
        | {"free": 5 * 10**10, "total": 10**12},
        "versions": dict.fromkeys(
            ("hermes", "python", "sqlite", "python-telegram-bot", "aiohttp"), "12.345.67"
        ),
        "schema": {"agent": 7, "gateway": 9},
        "loop_lag": {"last": 0.001, "worst": 0.2},
    }
    lines = describe(status)
    assert max(map(len, lines)) < 80
    assert "database 123.5 MB" in " ".join(lines)
    assert "50 GB of 1 TB" in " ".join(lines)
    assert "schema gateway 9." in " ".join(lines)
