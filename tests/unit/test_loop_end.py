"""A daemon ends though a thread of it does not."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BEGIN = """
import asyncio, sys, time
from pathlib import Path
from gateway.cli.loop import end_if_busy, run_daemon

def work(seconds, begun):
    begun()
    time.sleep(seconds)  # what a thread does that nobody can stop
    Path(sys.argv[1]).write_text("done")

async def main():
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    tell = lambda: loop.call_soon_threadsafe(begun.set)
    task = asyncio.ensure_future(asyncio.to_thread(work, float(sys.argv[2]), tell))
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    print("closed")
    return 7

code = run_daemon(main())
"""


FAILING = """
async def fails():
    raise ValueError("no")

try:
    run_daemon(fails())
except ValueError as error:
    print(error)
"""


def ended(tmp_path: Path, words: str, seconds: float) -> tuple[int, str, float, bool]:
    """Exit code, output, seconds, and whether the thread's work was done."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + words, str(tmp_path / "done"), str(seconds)],
        cwd=ROOT, capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, time.monotonic() - began, (tmp_path / "done").exists()


def test_a_thread_that_works_on_and_on_is_left_behind(tmp_path: Path) -> None:
    code, out, took, is_done = ended(tmp_path, "end_if_busy(code)\nprint('not here')", 600)
    assert (code, out, is_done) == (7, "closed\n", False)
    assert took < 45


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_a_thread_that_ends_soon_is_waited_for(tmp_path: Path, seconds: float) -> None:
    code, out, _, is_done = ended(tmp_path, "end_if_busy(code)\nprint('here')\nsys.exit(code)", seconds)
    assert (code, out, is_done) == (7, "closed\nhere\n", True)


def test_an_error_of_the_start_is_raised(tmp_path: Path) -> None:
    code, out, _, _ = ended(tmp_path, FAILING, 0.0)
    assert (code, out) == (0, "closed\nno\n")
