"""What a service manager sees and does: notices, watchdog, signals, exit codes."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from tests.acceptance.house import House, eventually
from tests.clirig import HERMES
from tests.peers.model.script import says

# A tool that does what no tool may: it blocks the event loop.
BLOCKING_TOOL = """
import time

from hermes.tools import Tool, ToolResult


async def block(arguments, context):
    time.sleep(3)
    return ToolResult("blocked")


TOOLS = (Tool(name="block", description="Block.", parameters={"type": "object", "properties": {}}, handler=block),)
"""


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0", 1) if address.startswith("@") else address)
        self.socket.setblocking(False)
        self.heard: list[tuple[float, str]] = []

    async def hear(self, part: str, times: int = 1) -> None:
        """Wait until `part` was heard so often."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(20):
            while sum(part in text for _, text in self.heard) < times:
                text = (await loop.sock_recv(self.socket, 4096)).decode()
                self.heard.append((time.monotonic(), text))

    def pings(self) -> list[float]:
        """When the watchdog was fed."""
        return [at for at, text in self.heard if "WATCHDOG=1" in text]

    def rest(self) -> list[str]:
        """Everything that was heard, with what still waits."""
        with suppress(BlockingIOError):
            while True:
                self.heard.append((time.monotonic(), self.socket.recv(4096).decode()))
        return [text for _, text in self.heard]


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return an address for NOTIFY_SOCKET."""
    return str(tmp_path / "notify") if request.param == "path" else f"@hermes-{uuid4().hex}"


@pytest.fixture
def manager(address: str) -> Iterator[Manager]:
    """Return who listens there."""
    manager = Manager(address)
    yield manager
    manager.socket.close()


async def test_PR_13_PR_14_ready_after_the_adapters_then_pings_then_stopping(
    house: House, manager: Manager, address: str
) -> None:
    daemon = await house.start({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "2000000"})
    await manager.hear("READY=1")
    assert house.telegram.calls("getMe")[0].outcome == "ok"
    assert (await house.status())["platforms"]["telegram"]["state"] == "connected"
    await manager.hear("WATCHDOG=1", 5)
    assert await daemon.stop() == 0
    heard = manager.rest()
    assert sum("READY=1" in text for text in heard) == 1
    assert sum("STOPPING=1" in text for text in heard) == 1
    pings = manager.pings()[:5]
    assert max(b - a for a, b in pairwise(pings)) <= 1.0 + 0.1  # we hear of it a little later, when busy


@pytest.mark.parametrize("address", ["path"], indirect=True)
async def test_PR_14_no_pings_for_another_process_or_without_a_number(
    house: House, manager: Manager, address: str
) -> None:
    for odd in ({"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "abc"}):
        manager.heard.clear()
        daemon = await house.start({"NOTIFY_SOCKET": address, **odd})
        await manager.hear("READY=1")
        assert await daemon.stop() == 0
        assert not any("WATCHDOG=1" in text for text in manager.rest())
        assert "Traceback" not in daemon.stderr


@pytest.mark.parametrize("address", ["path"], indirect=True)
async def test_PR_14_a_blocked_loop_is_silent_and_then_pings_again(
    house: House, manager: Manager, address: str
) -> None:
    (house.home / "tools").mkdir(mode=0o700)
    (house.home / "tools" / "block.py").write_text(BLOCKING_TOOL)
    await house.start({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "2000000"})
    listening = asyncio.create_task(manager.hear("STOPPING=1"))
    house.telegram.push_text("stand still [[tool=block]] [[text=moves again]]", chat=1)
    await house.telegram.wait_text(1, "moves again", 20)
    assert (await house.status())["loop_lag"]["worst"] >= 2.5
    pings = manager.pings()
    longest = max(b - a for a, b in pairwise(pings))
    assert longest >= 2.5

    async def goes_on() -> bool:
        return len(manager.pings()) >= len(pings) + 3

    await eventually(goes_on)
    await house.stop()
    await listening


@pytest.mark.parametrize("address", ["path"], indirect=True)
async def test_a_restart_under_a_service_manager_is_its_own_business(
    house: House, manager: Manager, address: str
) -> None:
    daemon = await house.start({"NOTIFY_SOCKET": address})
    await manager.hear("READY=1")
    asked = asyncio.create_task(house.hermes("gateway", "restart"))
    assert await daemon.wait() == 75
    second = await house.start({"NOTIFY_SOCKET": address})  # as the service manager does
    done = await asked
    assert done.code == 0, done.err
    assert str(second.process.pid) in done.out
    await house.stop()


async def test_PR_01_a_stop_lets_the_turn_end_and_leaves_what_comes_late(house: House) -> None:
    """SIGTERM in an 8 s turn with a 30 s drain: the turn ends, exit 0; a later message waits for the next start."""
    await house.start()
    house.model.script.add(says("finished before the end", first=8))
    house.telegram.push_text("eight seconds", chat=1)
    await house.model_busy()
    began = time.monotonic()
    house.daemon.signal(signal.SIGTERM)
    await house.said("stopping")
    house.telegram.push_text("too late", chat=1)
    house.telegram.push_text("too late as well", chat=2)
    assert await house.daemon.wait(40) == 0
    assert 5 < time.monotonic() - began < 20
    assert house.texts(1) == ["finished before the end"]
    assert house.texts(2) == []
    assert "Traceback" not in house.daemon.stderr
    await house.start()
    await house.telegram.wait_text(1, "echo: too late")
    await house.telegram.wait_text(2, "echo: too late as well")
    assert [len(house.texts(1)), len(house.texts(2))] == [2, 1]
    await house.stop()


async def test_PR_01_a_second_signal_ends_it_at_once_and_the_turn_goes_on_later(house: House) -> None:
    await house.start()
    house.model.script.add(says("never told", first=60))
    house.telegram.push_text("cut short", chat=1)
    await house.model_busy()
    house.daemon.signal(signal.SIGTERM)
    await house.said("stopping")
    began = time.monotonic()
    house.daemon.signal(signal.SIGTERM)
    assert await house.daemon.wait() == 1
    assert time.monotonic() - began < 5
    assert "Traceback" not in house.daemon.stderr
    assert house.texts(1) == []
    await house.start()
    await house.telegram.wait_text(1, "echo: cut short")
    await house.stop()


async def test_a_daemon_whose_standard_streams_are_closed_works(house: House) -> None:
    words = f"exec {HERMES} gateway run 0<&- 1>&- 2>&-"
    environ = {**os.environ, "HERMES_HOME": str(house.home)}
    daemon = await asyncio.create_subprocess_exec("sh", "-c", words, env=environ)
    try:

        async def is_up() -> bool:
            return bool((await house.status()).get("ready"))

        await eventually(is_up, 30)
        house.telegram.push_text("hello in there", chat=1)
        await house.telegram.wait_text(1, "echo: hello in there")
        daemon.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(daemon.wait(), 20) == 0
    finally:
        with suppress(ProcessLookupError):
            daemon.kill()
        await daemon.wait()
