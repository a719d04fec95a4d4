"""Start to READY beside the imports alone, `hermes status` beside an empty Python, and resting memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.daemon import HERMES, config, daemon, environment
from bench.figure import Figure
from bench.machine import OthersCores, rss_mb
from tests.peers.programs import peer_program

__all__ = ["imports", "measure_memory", "measure_start", "measure_status"]

_COMMON = [
    *("asyncio", "uvloop", "aiohttp.web", "aiosqlite", "pydantic"),
    *("ruamel.yaml", "structlog", "gateway.cli.serving", "gateway.app", "agent_core.models.transport"),
    *("adapters.terminal.adapter", "adapters.webhook.adapter"),
]
_ALL = [*_COMMON, "adapters.api.adapter", "telegram", "adapters.telegram.adapter"]
_UNUSED = ("rich", "httpx._main", "frozenlist._frozenlist")
_SETTLING = 2.0  # seconds after READY in which caches and threads come to rest


def imports(modules: list[str]) -> tuple[float, float]:
    """Seconds and MB that a process takes to import these, with what the daemon leaves out left out."""
    code = (
        f"import mimetypes, sys; mimetypes.inited = True; sys.modules.update(dict.fromkeys({_UNUSED!r}))\n"
        f"import {', '.join(modules)}\n"
        "print(open('/proc/self/statm').read().split()[1])"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return time.monotonic() - began, int(done.stdout) * 4096 / 2**20


def measure_start(*, quick: bool) -> Iterator[Figure]:
    """Start with webhook, API and Telegram."""
    others = OthersCores()
    runs, floors = [], []
    with peer_program("model", "--checks", "off") as model, peer_program("telegram") as telegram:
        for _ in range(3 if quick else 9):
            floors.append(imports(_ALL)[0])
            with daemon(config(model, telegram=telegram)) as running:
                runs.append(running.ready_seconds)
    floor = statistics.median(floors)
    yield Figure(
        name="start",
        what="start to READY, with webhook, API and Telegram",
        unit="s",
        runs=runs,
        bound=1.3 * floor + 0.3,
        rule="1.3 x imports + 0.3 s",
        others_cores=others.so_far(),
        floor=floor,
        floor_what="the imports alone",
    )


def measure_status(*, quick: bool) -> Iterator[Figure]:
    """`hermes status --json` against a running daemon."""
    others = OthersCores()
    runs, floors = [], []
    with daemon(config()) as running:
        for _ in range(5 if quick else 25):
            floors.append(_seconds([sys.executable, "-c", "pass"], running.home)[0])
            seconds, out = _seconds([HERMES, "status", "--json"], running.home)
            if json.loads(out)["ready"] is not True:
                raise RuntimeError(f"the daemon is not ready: {out}")
            runs.append(seconds * 1000)
    floor = statistics.median(floors) * 1000
    yield Figure(
        name="status",
        what="`hermes status --json`",
        unit="ms",
        runs=runs,
        bound=10 * floor,
        rule="10 x `python -c pass`",
        others_cores=others.so_far(),
        floor=floor,
        floor_what="`python -c pass`",
    )


def _seconds(command: list[str], home: Path) -> tuple[float, str]:
    began = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(home))
    return time.monotonic() - began, done.stdout


def measure_memory(*, quick: bool) -> Iterator[Figure]:
    """Resident memory of a daemon at rest."""
    repeats = 1 if quick else 3
    with peer_program("model", "--checks", "off") as model, peer_program("telegram") as telegram:
        yield _memory("idle-webhook", "webhook only", config(model, api=False), (_COMMON, 60.0, repeats))
        yield _memory(
            "idle-all",
            "webhook, API and Telegram",
            config(model, telegram=telegram),
            (_ALL, 100.0, repeats),
        )


def _memory(name: str, what: str, settings: str, rest: tuple[list[str], float, int]) -> Figure:
    modules, bound, repeats = rest
    others = OthersCores()
    runs = []
    for _ in range(repeats):
        with daemon(settings) as running:
            time.sleep(_SETTLING)
            runs.append(rss_mb(running.pid))
    return Figure(
        name=name,
        what=f"memory at rest, {what}",
        unit="MB",
        runs=runs,
        bound=bound,
        rule=f"{bound:.0f} MB",
        others_cores=others.so_far(),
        floor=imports(modules)[1],
        floor_what="the imports alone",
    )
