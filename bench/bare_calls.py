"""The floor under a turn: the same model calls over a bare httpx stream, in a process of its own.

`python -m bench.bare_calls URL FILE [--at-once N]`: FILE holds one request body a line. Prints one line of
JSON: CPU milliseconds per call, calls a second, and the seconds each call took.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import uvloop

__all__ = ["Bare", "bare_calls"]


@dataclass(frozen=True, slots=True)
class Bare:
    """What the bare calls took."""

    cpu_ms: float
    per_second: float
    seconds: list[float]


def bare_calls(model: str, bodies: Sequence[dict[str, Any]], at_once: int = 1) -> Bare:
    """Make the calls in a process of their own; `model` is the peer's address."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bodies"
        file.write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
        command = [sys.executable, "-m", "bench.bare_calls", f"{model}/v1/chat/completions", str(file)]
        done = subprocess.run(
            [*command, "--at-once", str(at_once)], check=True, capture_output=True, text=True
        )
    return Bare(**json.loads(done.stdout))


async def _run(url: str, bodies: list[Any], at_once: int) -> dict[str, object]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=at_once)
    waiting = iter(bodies)
    seconds: list[float] = []
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:

        async def call(body: Any) -> None:  # noqa: ANN401  JSON
            began = time.perf_counter()
            async with client.stream("POST", url, json=body) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: {"):
                        json.loads(line[6:])
            seconds.append(time.perf_counter() - began)

        async def worker() -> None:
            for body in waiting:
                await call(body)

        await call(bodies[0])
        seconds.clear()
        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "cpu_ms": cpu * 1000 / len(bodies),
        "per_second": len(bodies) / wall,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    parser.add_argument("--at-once", type=int, default=1)
    options = parser.parse_args()
    bodies = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines()]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(_run(options.url, bodies, options.at_once))))


if __name__ == "__main__":
    main()
