"""What the machine does meanwhile: memory and CPU of a process, and the cores that other programs take."""

from __future__ import annotations

import datetime
import os
import platform
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

__all__ = ["OthersCores", "cpu_seconds", "describe", "rss_mb"]

_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")


def rss_mb(pid: int) -> float:
    """Resident memory in MB (of 2^20 bytes, as `ps` and `top` count)."""
    return float(psutil.Process(pid).memory_info().rss) / 2**20


def cpu_seconds(pid: int) -> float:
    """CPU that a process has used so far, all threads."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


class OthersCores:
    """Counts from its making on: the cores busy with anything but this process and its children."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._busy = _busy_seconds()
        self._own = _own_seconds()

    def so_far(self) -> float:
        """Cores that others took on average."""
        busy = _busy_seconds() - self._busy
        own = _own_seconds() - self._own
        return max(0.0, (busy - own) / max(1e-3, time.monotonic() - self._began))


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return float(sum(getattr(times, name, 0.0) for name in _BUSY))


def _own_seconds() -> float:
    """CPU of this process, of the children that have ended, and of those that live."""
    mine = os.times()
    total = mine.user + mine.system + mine.children_user + mine.children_system
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def describe(packages: Sequence[str]) -> dict[str, str]:
    """The machine, in words that name nobody's machine."""
    memory = psutil.virtual_memory().total / 1e9
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": (
            f"{os.cpu_count()} cores ({_processor()}; ten million additions in a loop take {_additions():.2g} s),"
            f" {memory:.0f} GB, {platform.system()}"
        ),
        "python": f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        "packages": ", ".join(packages),
    }


def _additions() -> float:
    """Seconds of processor that a plain loop takes: how fast the machine is just now, whatever its name."""
    times = []
    for _ in range(3):
        began, total = time.process_time(), 0
        for number in range(10_000_000):
            total += number
        times.append(time.process_time() - began)
    return min(times)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
