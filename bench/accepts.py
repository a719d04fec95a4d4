"""Durable accepts over HTTP: signed webhooks, 128 waiting, beside a bare server that does only what it must."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator

from bench.bare_accepts import bare_accepts
from bench.daemon import config, daemon
from bench.figure import Figure
from bench.machine import OthersCores
from bench.wire import Wire, hook
from tests.peers.programs import peer_program

__all__ = ["measure_accepts"]

_WAITING = 128


def measure_accepts(*, quick: bool) -> Iterator[Figure]:
    """All deliveries share a session whose first turn hangs, so that only the accepting is measured."""
    count, rounds = (1000, 2) if quick else (5000, 5)
    others = OthersCores()
    runs, floors = [], []
    with (
        peer_program("model", "--checks", "off", "--no-bodies") as model,
        bare_accepts() as bare,
        daemon(config(model, api=False, silence=3600.0), kill=True) as running,
    ):
        for number in range(rounds + 1):
            floor = asyncio.run(_rate(bare, "/", f"bare {number}", count))
            rate = asyncio.run(_rate(running.port, "/webhooks/one", f"[[hang]] {number}", count))
            if number:  # the first round warms up
                runs.append(rate)
                floors.append(floor)
    floor = statistics.median(floors)
    yield Figure(
        name="http-accepts",
        what="durable accepts over HTTP, 128 waiting",
        unit="1/s",
        runs=runs,
        bound=0.5 * floor,
        rule="0.5 x a bare server",
        others_cores=others.so_far(),
        at_most=False,
        floor=floor,
        floor_what="bare aiohttp + HMAC + group commit",
        more={"ratio": round(statistics.median(runs) / floor, 2)},
    )


async def _rate(port: int, path: str, text: str, count: int) -> float:
    """Accepts a second."""
    waiting = iter([hook(path, f"{text} {n} {'x' * 400}") for n in range(count)])
    async with Wire(port) as wire:

        async def worker() -> None:
            for request in waiting:
                await wire.all_at_once([request], want=202)

        began = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(_WAITING)))
        return count / (time.perf_counter() - began)
