"""Running a coroutine to its end, on uvloop where it is installed."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

__all__ = ["end_if_busy", "run", "run_daemon"]

T = TypeVar("T")

_WORKERS = "hermes-worker"
_PATIENCE = 3.0
"""Seconds for what still works in threads when everything else has ended."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result."""
    with asyncio.Runner() as runner:
        return runner.run(main)


def run_daemon(main: Coroutine[Any, Any, int]) -> int:
    """The daemon's exit code. Work in threads that does not end is left to `end_if_busy`: nobody can stop a thread."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if find_spec("uvloop") is not None:
        factory = import_module("uvloop").new_event_loop
    runner = asyncio.Runner(loop_factory=factory)
    pool = ThreadPoolExecutor(thread_name_prefix=_WORKERS)
    runner.get_loop().set_default_executor(pool)
    try:
        return runner.run(main)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if not _busy(_PATIENCE):
            runner.close()


def end_if_busy(code: int) -> None:
    """Leave the process with this exit code if threads still work, which it would wait for; else do nothing.

    To be called when everything is closed and committed.
    """
    if not _busy(0.0):
        return
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _busy(patience: float) -> bool:
    """Whether a worker still works after so many seconds."""
    until = time.monotonic() + patience
    workers = [t for t in threading.enumerate() if t.name.startswith(_WORKERS)]
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
    return any(worker.is_alive() for worker in workers)
