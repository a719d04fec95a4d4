"""Admitting and revoking while nothing can be stored: what was refused is not so, and can be done again."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.handlers import people as who_is_who
from gateway.handlers.pairing import operations
from gateway.people import Account
from hermes.errors import HermesError
from tests.gatewayrig import OPEN, rig

CONFIG = OPEN.replace('allow_from: ["*"], ', "")


def refusing(connection: sqlite3.Connection, table: str = "pairings") -> None:
    """The table takes no change."""
    for change in ("INSERT", "DELETE"):
        connection.execute(
            f"CREATE TRIGGER full_{change} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, 'full'); END"
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


async def test_a_role_or_a_joining_that_could_not_be_stored_is_not_there(tmp_path: Path) -> None:
    async with rig(tmp_path / "home", config=CONFIG) as g:
        ask = who_is_who.operations(cast("Any", SimpleNamespace(core=g.core)))
        await g.core.store.write(partial(refusing, table="people"))
        for name, request in (
            ("people.role", {"account": "telegram:7", "role": "member"}),
            ("people.link", {"first": "telegram:7", "other": "telegram:8"}),
        ):
            with pytest.raises(sqlite3.Error):
                await ask[name](request)
            with pytest.raises(HermesError, match="is nobody"):
                await ask["people.show"]({"person": "telegram:7"})
        await g.core.store.write(taking)
        await ask["people.role"]({"account": "telegram:7", "role": "member"})
        assert (await ask["people.show"]({"person": "telegram:7"}))["person"]["role"] == "member"
