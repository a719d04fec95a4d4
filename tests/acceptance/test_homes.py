"""Homes: ours, another program's, narrow and wide ones."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.house import House, root_only


def _unchanged(house: House, before: dict[Path, bytes]) -> None:
    assert house.files() == before


async def test_D17_the_home_of_hermes_agent_is_left_as_it_is(house: House) -> None:
    text = "_config_version: 12\nmodel:\n  default: x/y\n  provider: auto\nterminal:\n  backend: local\n"
    (house.home / "config.yaml").write_text(text)
    house.home.chmod(0o755)
    before = house.files()
    code, said = await house.refused()
    assert code == 78
    assert "hermes-agent" in said
    assert "HERMES_HOME" in said
    _unchanged(house, before)
    assert stat.S_IMODE(house.home.stat().st_mode) == 0o755
    assert (await house.hermes("chat", "-q", "hello")).code == 78
    _unchanged(house, before)


async def test_D17_the_database_of_another_program_is_left_as_it_is(house: House) -> None:
    with closing(sqlite3.connect(house.home / "state.db")) as other:
        other.execute("CREATE TABLE sessions (id TEXT, mine TEXT)")
        other.execute("INSERT INTO sessions VALUES ('a', 'b')")
        other.commit()
    before = house.files()
    code, said = await house.refused()
    assert code == 78
    assert "state.db" in said
    assert "HERMES_HOME" in said
    _unchanged(house, before)


async def test_a_newer_schema_than_ours_is_78(house: House) -> None:
    await house.start()
    await house.stop()
    with closing(sqlite3.connect(house.home / "state.db")) as state:
        tables = [t for (t,) in state.execute("SELECT name FROM sqlite_master WHERE name LIKE '%version%'")]
        for table in tables:
            state.execute(f"UPDATE {table} SET version = 999")
        state.commit()
    assert tables
    before = (house.home / "state.db").read_bytes()
    code, said = await house.refused()
    assert code == 78
    assert "999" in said
    assert (house.home / "state.db").read_bytes() == before


async def test_a_wide_home_is_narrowed_and_said(house: House) -> None:
    house.home.chmod(0o755)
    await house.start()
    assert stat.S_IMODE(house.home.stat().st_mode) == 0o700
    assert "0755" in house.daemon.stderr
    modes = {
        stat.S_IMODE(p.stat().st_mode)
        for p in house.home.rglob("*")
        if p.is_file() and p.name != "config.yaml"
    }
    assert modes == {0o600}


async def test_the_home_of_another_user_is_78(house: House) -> None:
    if not root_only():
        pytest.skip("only root can give a folder away")
    import os

    os.chown(house.home, 12345, 12345)
    before = house.files()
    code, said = await house.refused()
    assert code == 78
    assert "12345" in said
    _unchanged(house, before)
