"""A small disk that fills up under load, a start on a full one, a database that a stranger holds."""

import asyncio
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.house import House, answer_of, eventually, fill, on_small_disk, opened
from tests.peers.model import ModelPeer
from tests.peers.model.script import says
from tests.peers.telegram import TelegramPeer


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system of 24 MB."""
    with on_small_disk(tmp_path / "disk", 24) as folder:
        yield folder


@pytest.fixture
async def small_house(disk: Path, model_peer: ModelPeer, telegram_peer: TelegramPeer) -> AsyncIterator[House]:
    """Return a house on it."""
    async with opened(disk, model_peer, telegram_peer) as house:
        yield house


async def _hooks(house: House, accepted: dict[str, bool], stop: asyncio.Event) -> None:
    """Deliver one after the other; what was not taken is not delivered again."""
    number = 0
    while not stop.is_set():
        number += 1
        token = f"h-{number}-"
        answer = await house.hook({"text": f"{token} {'x' * 2000} [[text=done {token}]]"}, delivery=token)
        assert answer.status_code in (202, 503), answer.text
        accepted[token] = answer.status_code == 202


async def test_D16_a_disk_that_fills_up_under_load_loses_nothing_that_was_taken(
    small_house: House, disk: Path
) -> None:
    house, telegram = small_house, small_house.telegram
    await house.start()
    accepted: dict[str, bool] = {}
    stop = asyncio.Event()
    load = asyncio.create_task(_hooks(house, accepted, stop))
    said = 0
    for _ in range(3):
        for _ in range(10):
            telegram.push_text(f"t-{said}- [[text=done t-{said}-]]", chat=1 + said % 5)
            said += 1
        filler = await asyncio.to_thread(fill, disk)

        async def refused() -> bool:
            return (await house.client.get("/ready")).status_code == 503

        await eventually(refused, 30)
        taken = sum(accepted.values())
        signs = len(telegram.calls("sendChatAction"))
        telegram.push_text(f"t-{said}- [[text=done t-{said}-]]", chat=1 + said % 5)
        said += 1
        tried = len(accepted)
        await eventually(lambda tried=tried: _more(accepted, tried), 30)  # type: ignore[misc]  # bound now
        assert sum(accepted.values()) == taken
        assert len(telegram.calls("sendChatAction")) <= signs + 5  # those under way in the five chats
        await asyncio.to_thread(filler.unlink)

        async def ready() -> bool:
            return not await refused()

        await eventually(ready, 30)
    stop.set()
    await load
    wanted = [token for token, is_taken in accepted.items() if is_taken] + [f"t-{n}-" for n in range(said)]
    assert len(wanted) < len(accepted) + said  # some were refused

    def shown() -> list[str]:
        return [text for chat in telegram.chats for text in house.texts(chat)]

    await telegram.wait_for(lambda: len(shown()) >= len(wanted), 90)
    await house.stop()
    assert sorted(shown()) == sorted(f"done {token}" for token in wanted)
    assert house.rows("SELECT DISTINCT state FROM inbox") == [("answered",)]


async def _more(accepted: dict[str, bool], than: int) -> bool:
    return len(accepted) >= than + 5


async def test_D16_a_start_on_a_full_disk_may_be_tried_again_and_touches_nothing(
    small_house: House, disk: Path
) -> None:
    house = small_house
    await house.start()
    house.telegram.push_text("before", chat=1)
    await house.telegram.wait_text(1, "echo: before")
    await house.stop()
    rows = house.rows("SELECT count(*) FROM messages")
    filler = await asyncio.to_thread(fill, disk)
    code, told = await house.refused()
    assert (
        code == 1
    )  # which a service manager tries again, as docs/operations.md says; 78 would end its tries
    assert "full" in told.lower() or "no space" in told.lower()
    filler.unlink()
    assert house.rows("SELECT count(*) FROM messages") == rows
    await house.start()
    house.telegram.push_text("after", chat=1)
    await house.telegram.wait_text(1, "echo: after")
    await house.stop()


async def test_D16_a_disk_that_reports_errors_takes_nothing_and_loses_nothing(house: House) -> None:
    """Writing beyond the process's limit of a file's size fails, which SQLite reports as an I/O error."""
    telegram, endless = house.telegram, resource.RLIM_INFINITY
    await house.start()
    telegram.push_text("before", chat=1)
    await telegram.wait_text(1, "echo: before")
    pid = house.daemon.process.pid
    house.model.script.add(says("thought meanwhile", first=2))
    telegram.push_text("think", chat=2)
    await house.model_busy()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, endless))

    async def told() -> str:
        ready = await house.client.get("/ready")
        return str(ready.json()["reason"]) if ready.status_code == 503 else ""

    assert "disk reports an error" in await eventually(told, 30)
    assert (await house.hook({"text": "by webhook"}, delivery="d-1")).status_code == 503
    assert (await house.ask("by api")).status_code == 503
    assert "disk reports an error" in (await house.status())["reason"]
    telegram.push_text("came meanwhile", chat=3)
    await house.model_idle()
    assert house.texts(2) == house.texts(3) == []
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (endless, endless))
    await telegram.wait_text(2, "thought meanwhile", 30)
    await telegram.wait_text(3, "echo: came meanwhile", 30)
    assert (await house.hook({"text": "by webhook"}, delivery="d-1")).status_code == 202
    await telegram.wait_text(777, "by webhook")
    await house.stop()
    assert [len(house.texts(chat)) for chat in (1, 2, 3, 777)] == [1, 1, 1, 1]
    assert house.rows("PRAGMA integrity_check") == [("ok",)]


async def test_FT_10_ten_seconds_of_a_strangers_lock_delay_and_lose_nothing(house: House) -> None:
    telegram = house.telegram
    await house.start()
    telegram.push_text("before", chat=1)
    await telegram.wait_text(1, "echo: before")
    with closing(sqlite3.connect(house.home / "state.db", isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        for n in range(5):
            telegram.push_text(f"meanwhile {n}", chat=10 + n)
        hook = asyncio.create_task(house.hook({"text": "by webhook"}, delivery="d-1"))
        asked = asyncio.create_task(house.ask("by api"))
        done, _ = await asyncio.wait((hook, asked), timeout=10)
        assert not done
        assert all(house.texts(10 + n) == [] for n in range(5))
        assert (await house.client.get("/health")).status_code == 200
        stranger.execute("ROLLBACK")
    assert (await hook).status_code == 202
    assert answer_of(await asked) == "echo: by api"
    for n in range(5):
        await telegram.wait_text(10 + n, f"echo: meanwhile {n}")
    await telegram.wait_text(777, "by webhook")
    assert (await house.status())["loop_lag"]["worst"] < 2
    await house.stop()
    assert all(house.texts(10 + n) == [f"echo: meanwhile {n}"] for n in range(5))
    assert house.rows("SELECT DISTINCT state FROM inbox") == [("answered",)]
