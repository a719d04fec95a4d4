"""Dead orphans that process 1 has got are waited for; children of our own are left to whoever began them."""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from gateway.adopted import bury, is_everybodys_parent, watch
from hermes.testing import FakeClock


def dead_child() -> subprocess.Popen[bytes]:
    """A child that has ended and that nobody has waited for."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_what_stays_dead_is_waited_for_at_the_second_look() -> None:
    child = dead_child()
    first = bury(frozenset())
    assert child.pid in first
    assert is_there(child.pid), "it might be somebody's who is about to wait for it"
    assert child.pid not in bury(first)
    assert not is_there(child.pid)
    child.wait()  # whoever began it after all is not disturbed


def test_a_child_that_lives_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        bury(frozenset({child.pid}))
        assert child.poll() is None
        assert child.stdin is not None
        child.stdin.write(b"\n")
    assert child.returncode == 0


async def test_it_looks_again_and_again() -> None:
    clock, child = FakeClock(), dead_child()
    task = asyncio.create_task(watch(clock))
    while is_there(child.pid):
        await clock.advance(10.0)
        await asyncio.sleep(0.01)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    child.wait()


def test_a_test_is_nobodys_process_1() -> None:
    assert not is_everybodys_parent()
