"""The store cannot commit, cannot be read, or is locked: nothing is lost, nothing new is taken (D16)."""

import asyncio
import json
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.house import House, eventually, fill, on_small_disk, opened
from tests.peers.model import ModelPeer
from tests.peers.model.script import says
from tests.peers.telegram import TelegramPeer


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a small file system of its own."""
    with on_small_disk(tmp_path / "disk", 12) as folder:
        yield folder


@pytest.fixture
async def small_house(
    small_disk: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer
) -> AsyncIterator[House]:
    """Return a house on it."""
    async with opened(small_disk, model_peer, telegram_peer) as house:
        yield house


def _confirmed(house: House) -> int:
    """The highest update id that a poll has confirmed."""
    return max(int(c.params.get("offset", 0)) for c in house.telegram.calls("getUpdates")) - 1


async def test_D16_FT_14_a_full_disk_loses_nothing_and_takes_nothing(
    small_house: House, small_disk: Path
) -> None:
    house, telegram, script = small_house, small_house.telegram, small_house.model.script
    await house.start()
    telegram.push_text("before", chat=1)
    await telegram.wait_text(1, "echo: before")

    script.add(says("answer in need", first=2), text="ends on a full disk")
    script.add(says("a long one", first=9), text="thinks on")
    telegram.push_text("ends on a full disk", chat=2)
    thinking = telegram.push_text("thinks on", chat=4)
    await house.model_busy(2)
    filler = await asyncio.to_thread(fill, small_disk)

    async def unready() -> bool:
        return (await house.client.get("/ready")).status_code == 503

    await eventually(unready)
    assert "disk is full" in (await house.client.get("/ready")).json()["reason"].lower()
    signs = len(telegram.calls("sendChatAction"))
    hook = await house.hook({"text": "by webhook"}, delivery="d-2")
    assert hook.status_code == 503
    assert int(hook.headers["Retry-After"]) > 0
    assert (await house.ask("by api")).status_code == 503
    waiting = telegram.push_text("came meanwhile", chat=3)
    status = await house.status()
    assert status["ready"] is False
    assert "full" in status["reason"].lower()

    async def thought() -> bool:
        return house.model.in_flight.total() == 0

    await eventually(thought, 25)  # that turn ends too while nothing can be committed
    assert len(telegram.calls("sendChatAction")) <= signs + 1
    assert _confirmed(house) <= thinking["update_id"] < waiting["update_id"]
    assert house.texts(2) == house.texts(3) == house.texts(4) == []

    filler.unlink()
    for chat, text in ((2, "answer in need"), (4, "a long one"), (3, "echo: came meanwhile")):
        await telegram.wait_text(chat, text, 30)
    assert not await unready()
    again = await house.hook({"text": "by webhook"}, delivery="d-2")  # WH-08
    assert again.status_code == 202
    await telegram.wait_text(777, "by webhook")
    telegram.push_text("and on", chat=2)
    await telegram.wait_text(2, "echo: and on")
    assert "answer in need" in str(house.asked())
    await house.stop()
    assert [len(house.texts(chat)) for chat in (1, 2, 3, 4, 777)] == [1, 2, 1, 1, 1]
    assert house.rows("SELECT DISTINCT state FROM inbox") == [("answered",)]
    assert "store.fault" in house.daemon.stderr
    transcripts = list(house.home.glob("agents/*/sessions/*.jsonl"))
    assert len(transcripts) == 5
    written = [json.loads(line) for path in transcripts for line in path.read_text().splitlines()]
    stored = house.rows("SELECT id FROM messages ORDER BY id")
    assert sorted((m["id"],) for m in written if "id" in m) == stored


async def test_D16_a_stop_on_a_full_disk_ends_in_time_and_loses_nothing(
    small_house: House, small_disk: Path
) -> None:
    house, telegram = small_house, small_house.telegram
    house.config["gateway"]["drain_timeout"] = "2s"
    house.write()
    await house.start()
    telegram.push_text("before", chat=1)
    await telegram.wait_text(1, "echo: before")
    house.model.script.add(says("cannot be committed", first=1))
    telegram.push_text("go on", chat=1)
    await house.model_busy()
    filler = await asyncio.to_thread(fill, small_disk)
    await house.model_idle()
    await house.said("store.fault")
    telegram.push_text("came meanwhile", chat=2)
    asked = await house.hermes("chat", "-q", "hello")
    assert asked.code == 1
    assert "disk is full" in asked.err
    began = time.monotonic()
    await house.stop()
    assert time.monotonic() - began < 12
    code, said = await house.refused()
    assert code == 1  # which a service manager tries again
    assert "No space left" in said or "full" in said
    filler.unlink()
    await house.start()
    await telegram.wait_text(1, "echo: go on")
    await telegram.wait_text(2, "echo: came meanwhile")
    await house.stop()
    assert [len(house.texts(chat)) for chat in (1, 2)] == [2, 1]


async def test_a_read_only_home_is_78(small_house: House, small_disk: Path) -> None:
    house = small_house
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    code, said = await house.refused()
    assert code == 78
    assert str(house.home) in said
    assert [p.name for p in house.home.iterdir()] == ["config.yaml"]


async def test_FT_10_an_outside_write_lock_delays_the_answer_only(house: House) -> None:
    await house.start()
    house.telegram.push_text("first", chat=1)
    await house.telegram.wait_text(1, "echo: first")
    house.model.script.add(says("held back", first=0.5))
    house.telegram.push_text("second", chat=1)
    await house.model_busy()
    held, lags = 3.0, []
    with closing(sqlite3.connect(house.home / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        until = asyncio.get_running_loop().time() + held
        while asyncio.get_running_loop().time() < until:
            lags.append((await house.status())["loop_lag"]["last"])
        assert house.texts(1) == ["echo: first"]
        other.execute("ROLLBACK")
    await house.telegram.wait_text(1, "held back")
    assert max(lags) <= 0.2
    rows = house.rows("SELECT role, body FROM messages ORDER BY id")
    assert [role for role, _ in rows] == ["user", "assistant"] * 2
    assert [body for role, body in rows if role == "assistant"] == ["echo: first", "held back"]
    assert house.texts(1) == ["echo: first", "held back"]
    await house.stop()


def _damage_index(state: Path) -> None:
    with closing(sqlite3.connect(state)) as connection:
        connection.execute("UPDATE messages_fts_data SET block = zeroblob(length(block)) WHERE id > 1")
        connection.execute("UPDATE messages_fts_data SET block = x'ffffffffff' WHERE id > 1")
        connection.commit()


async def test_FT_11_a_damaged_index_stops_no_turn_and_is_mended_offline(house: House) -> None:
    search = '[[tool=session_search {"query": "apricot"}]] [[text=it said: {tool}]]'
    await house.start()
    house.telegram.push_text("about apricot jam", chat=1)
    await house.telegram.wait_text(1, "apricot jam")
    await house.stop()
    _damage_index(house.home / "state.db")
    await house.start()
    house.telegram.push_text(f"look {search}", chat=1)
    await house.telegram.wait_text(1, "it said")
    house.telegram.push_text("about cherry cake", chat=1)
    await house.telegram.wait_text(1, "cherry cake")
    assert "damaged" in str(house.texts(1)) or "doctor" in str(house.texts(1)), house.texts(1)
    await house.stop()
    assert (await house.hermes("doctor")).code != 0
    mended = await house.hermes("doctor", "--fix")
    assert mended.code == 0, mended.out + mended.err
    assert (await house.hermes("doctor")).code == 0
    await house.start()
    for word in ("apricot", "cherry"):
        house.telegram.push_text(
            f'again [[tool=session_search {{"query": "{word}"}}]] [[text=found {{tool}}]]', chat=1
        )
        await house.telegram.wait_for(
            lambda word=word: any("found" in t and word in t for t in house.texts(1))  # type: ignore[misc]  # bound now
        )
    await house.stop()


def _damage_rows(state: Path) -> None:
    with closing(sqlite3.connect(state)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [size] = connection.execute("PRAGMA page_size").fetchone()
        [root] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()
    with state.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xee" * size)


async def test_FT_12_history_that_cannot_be_read_is_said_and_no_model_is_asked(house: House) -> None:
    await house.start()
    for n in range(5):
        house.telegram.push_text(f"word {n}", chat=1)
        await house.telegram.wait_text(1, f"echo: word {n}")
    await house.stop()
    _damage_rows(house.home / "state.db")
    asked = len(house.model.requests)
    await house.start()
    house.telegram.push_text("do you know me", chat=1)
    said = await house.telegram.wait_text(1, "cannot be read", 20)
    assert "hermes doctor" in said
    assert len(house.model.requests) == asked
    assert len(house.texts(1)) == 6
    assert (await house.client.get("/health")).status_code == 200
    assert await house.daemon.stop() == 0


async def test_a_start_on_a_full_disk_fails_in_a_way_that_may_pass(small_house: House) -> None:
    filler = fill(small_house.home.parent)
    done = await small_house.hermes("gateway", "run")
    assert done.code == 1, done  # 78 would keep a service manager from trying again
    assert "disk is full" in done.err
    assert "Traceback" not in done.err
    filler.unlink()
    await small_house.start()


async def test_under_a_service_manager_a_start_on_a_full_disk_waits_before_it_ends(
    small_house: House,
) -> None:
    fill(small_house.home.parent)
    small_house.environ["NOTIFY_SOCKET"] = "@nobody-listens-here"
    daemon = await small_house.begin()

    async def waits() -> bool:
        return "The next try is in 35 s" in daemon.stderr

    await eventually(waits, 30.0)
    began = time.monotonic()
    assert await daemon.stop() == 1
    assert time.monotonic() - began < 20
    assert "Traceback" not in daemon.stderr
