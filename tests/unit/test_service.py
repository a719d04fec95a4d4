"""sd_notify over a real datagram socket."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.service import Notifier, watchdog_interval


class Manager:
    """What systemd is to a service: somebody who reads datagrams."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.setblocking(False)

    def heard(self) -> list[str]:
        out = []
        while True:
            try:
                out.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return out

    async def next(self) -> str:
        return (await asyncio.get_running_loop().sock_recv(self.socket, 4096)).decode()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.socket.close()


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(tmp_path / "notify"), **more}


async def test_PR_13_ready_status_and_stopping_are_told(manager: Manager, tmp_path: Path) -> None:
    notifier = Notifier.from_environ(environ(tmp_path))
    notifier.extend(90)
    notifier.ready("2 platforms\nconnected")
    notifier.status("busy")
    notifier.reloading()
    notifier.stopping()
    await notifier.aclose()
    extend, ready, status, reloading, stopping = manager.heard()
    assert extend == "EXTEND_TIMEOUT_USEC=90000000"
    assert ready == "READY=1\nSTATUS=2 platforms connected"
    assert status == "STATUS=busy"
    assert reloading.startswith("RELOADING=1\nMONOTONIC_USEC=")
    assert stopping == "STOPPING=1"


async def test_PR_13_pings_come_within_half_the_interval(manager: Manager, tmp_path: Path) -> None:
    notifier = Notifier.from_environ(
        environ(tmp_path, WATCHDOG_USEC="1000000", WATCHDOG_PID=str(os.getpid()))
    )
    notifier.feed()
    times = []
    for _ in range(5):
        assert await asyncio.wait_for(manager.next(), 2) == "WATCHDOG=1"
        times.append(time.monotonic())
    await notifier.aclose()
    gaps = [b - a for a, b in pairwise(times)]
    assert sorted(gaps)[2] <= 0.5  # the middle one: a busy machine may delay one
    manager.heard()
    await asyncio.sleep(0.6)
    assert manager.heard() == []  # and none after the end


async def test_PR_13_without_a_manager_nothing_happens() -> None:
    notifier = Notifier.from_environ({"WATCHDOG_USEC": "1000"})
    assert not notifier.enabled
    notifier.ready()
    notifier.feed()
    notifier.stopping()
    await notifier.aclose()


async def test_PR_13_a_manager_that_is_gone_hurts_nobody(tmp_path: Path) -> None:
    notifier = Notifier.from_environ(environ(tmp_path, WATCHDOG_USEC="20000"))
    notifier.ready()
    notifier.feed()
    await asyncio.sleep(0.03)
    await notifier.aclose()


async def test_PR_14_a_blocked_loop_is_silent_and_goes_on_after(manager: Manager, tmp_path: Path) -> None:
    notifier = Notifier.from_environ(environ(tmp_path, WATCHDOG_USEC="40000"))
    notifier.feed()
    await manager.next()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:  # the loop is blocked
        pass
    assert manager.heard() == []
    assert await asyncio.wait_for(manager.next(), 2) == "WATCHDOG=1"
    assert await asyncio.wait_for(manager.next(), 2) == "WATCHDOG=1"
    await notifier.aclose()


async def test_PR_14_an_abstract_socket_works() -> None:
    name = f"hermes-test-{os.getpid()}"
    manager = Manager("\0" + name)
    notifier = Notifier.from_environ({"NOTIFY_SOCKET": "@" + name})
    notifier.ready()
    await notifier.aclose()
    assert manager.heard() == ["READY=1"]
    manager.socket.close()


@pytest.mark.parametrize(
    ("variables", "interval"),
    [
        ({"WATCHDOG_USEC": "2000000"}, 1.0),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"}, 1.0),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "abc"}, None),
        ({"WATCHDOG_USEC": "-1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({}, None),
    ],
)
def test_PR_14_what_the_environment_asks_for(variables: dict[str, str], interval: float | None) -> None:
    assert watchdog_interval(variables, pid=7) == interval


async def test_PR_14_pings_for_another_process_are_not_ours(manager: Manager, tmp_path: Path) -> None:
    notifier = Notifier.from_environ(environ(tmp_path, WATCHDOG_USEC="1000", WATCHDOG_PID="1"))
    notifier.feed()
    await asyncio.sleep(0.02)
    notifier.ready()
    await notifier.aclose()
    assert manager.heard() == ["READY=1"]
