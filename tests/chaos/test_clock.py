"""The installed daemon under a wall clock that jumps an hour; the monotonic clock goes on.

The clock is libfaketime's: the daemon reads its offset from a file at every look.
"""

import hashlib
import hmac
import json
import time
from pathlib import Path

import httpx
import pytest

from tests.acceptance.house import SECRET, House, answer_of
from tests.peers.faults import too_many

_HOUR = 3600


def _library() -> str:
    for folder in (Path("/usr/lib"), Path("/usr/local/lib")):
        for path in folder.glob("**/faketime/libfaketimeMT.so.1"):
            return str(path)
    pytest.skip("libfaketime is not installed")


class FakeWall:
    """The daemon's wall clock: this machine's, and so many seconds."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.offset = 0
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Move it. Replaced at once, so that no half offset is read."""
        self.offset += seconds
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{self.offset:+d}s\n")
        fresh.replace(self._file)

    def time(self) -> int:
        """What the daemon's clock says."""
        return int(time.time()) + self.offset

    def environ(self) -> dict[str, str]:
        """What the daemon is started with."""
        return {
            "LD_PRELOAD": _library(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }


@pytest.fixture
async def wall(house: House, tmp_path: Path) -> FakeWall:
    """Return the clock of a daemon that runs; its webhook route `stamped` signs the time."""
    wall = FakeWall(tmp_path / "offset")
    route = {"secret": SECRET, "scheme": "hmac", "prompt": "{{ payload.text }}", "deliver": "telegram:777"}
    house.config["platforms"]["webhook"]["routes"]["stamped"] = route
    house.config["gateway"]["limits"] = {"rate": "3/min"}
    house.write()
    await house.start(wall.environ())
    return wall


async def _stamped(house: House, text: str, at: int) -> httpx.Response:
    body = json.dumps({"text": text}).encode()
    signature = hmac.digest(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hex()
    headers = {"X-Timestamp": str(at), "X-Signature": f"sha256={signature}"}
    return await house.client.post("/webhooks/stamped", content=body, headers=headers)


@pytest.mark.parametrize("jump", [_HOUR, -_HOUR], ids=["ahead", "back"])
async def test_D6_D8_an_hour_there_or_back_makes_nobody_wait_and_answers_nothing_twice(
    house: House, wall: FakeWall, jump: int
) -> None:
    telegram = house.telegram
    telegram.push_text("before", chat=1)
    await telegram.wait_text(1, "echo: before")
    assert (await _stamped(house, "now", wall.time())).status_code == 202
    first = await house.ask("asked", idempotency="key-1")

    telegram.faults.add("sendMessage", too_many(4, chat_id=2))
    telegram.push_text("has to wait", chat=2)
    await telegram.wait_for(lambda: bool(telegram.calls("sendMessage", chat_id=2)))
    wall.jump(jump)
    began = time.monotonic()
    await telegram.wait_text(2, "echo: has to wait", 30)
    assert time.monotonic() - began < 25

    # What was signed by the true time is refused or taken by the daemon's own clock, and by nothing else.
    assert (await _stamped(house, "stale", wall.time() - jump)).status_code == 401
    assert (await _stamped(house, "fresh", wall.time())).status_code == 202
    again = await house.ask("asked", idempotency="key-1")
    assert (answer_of(again), again.json()["id"]) == (answer_of(first), first.json()["id"])
    for n in range(2):
        telegram.push_text(f"after {n}", chat=1)
        await telegram.wait_text(1, f"echo: after {n}", 30)
    status = await house.status()
    assert status["platforms"]["telegram"]["restarts"] == 0
    assert 0 <= status["uptime"] < 600
    await house.stop()

    # A start by the new clock finds nothing to do again.
    await house.start(wall.environ())
    telegram.push_text("a new life", chat=1)
    await telegram.wait_text(1, "echo: a new life")
    await house.stop()
    assert [len(house.texts(chat)) for chat in (1, 2)] == [4, 1]
    assert sorted("fresh" in text for text in house.texts(777)) == [False, True]
    assert house.rows("SELECT DISTINCT state FROM inbox") == [("answered",)]
