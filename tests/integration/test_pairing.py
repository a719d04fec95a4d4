"""Admitting and revoking while nothing can be stored: what was refused is not so, and can be done again."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.handlers.pairing import operations
from gateway.people import Account
from tests.gatewayrig import OPEN, rig

CONFIG = OPEN.replace('allow_from: ["*"], ', "")


def refusing(connection: sqlite3.Connection) -> None:
    """The table takes no change."""
    for change in ("INSERT", "DELETE"):
        connection.execute(
            f"CREATE TRIGGER full_{change} BEFORE {change} ON pairings BEGIN SELECT RAISE(ABORT, 'full'); END"
        )


def taking(connection: sqlite3.Connection) -> None:
    for change in ("INSERT", "DELETE"):
        connection.execute(f"DROP TRIGGER full_{change}")


async def test_who_could_not_be_admitted_or_revoked_can_be_a_second_time(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", config=CONFIG) as g:
        ask = operations(cast("Any", SimpleNamespace(core=g.core)))
        approve, revoke = ask["pairing.approve"], ask["pairing.revoke"]
        await g.send("hello", chat="7")
        (told,) = await g.answered(1)
        code = {"code": told.split("code to my owner: ")[1][:8]}

        await g.core.store.write(refusing)
        with pytest.raises(sqlite3.Error):
            await approve(code)
        assert (await g.send("am I in?", chat="7")).kind == "refused"
        await g.core.store.write(taking)
        await approve(code)
        people = g.core.linking.people
        joined = people.join(Account("telegram", "7", "", None), Account("telegram", "8", "", None), 1.0)
        await g.core.store.write(joined, refusing)
        who = {"instance": "telegram", "sender": "7"}
        with pytest.raises(sqlite3.Error):
            await revoke(who)
        assert (await g.send("still in", chat="7")).kind == "accepted"
        assert (await g.send("and the other", chat="8")).kind == "accepted"
        await g.core.store.write(taking)
        await revoke(who)
        assert (await g.send("out", chat="7")).kind == "refused"
        assert (await g.send("with me", chat="8")).kind == "refused"
    async with rig(tmp_path / "home", config=CONFIG) as g:
        assert (await g.send("out", chat="7")).kind == "refused"
