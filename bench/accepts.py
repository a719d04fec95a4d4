"""Durable accepts with 128 waiting: at the ledger, and over HTTP beside a bare server that does what it must."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.bare_accepts import bare_accepts
from bench.daemon import config, daemon
from bench.figure import Figure
from bench.machine import OthersCores
from bench.wire import Wire, hook
from gateway import books, ledger
from hermes.events import Event, Sender
from hermes.home import Home
from tests.peers.programs import peer_program

__all__ = ["measure_accepts", "measure_ledger"]

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


def measure_ledger(*, quick: bool) -> Iterator[Figure]:
    """The ledger's own transaction over the store of the daemon, without HTTP."""
    count, rounds = (2_000, 2) if quick else (10_000, 5)
    others = OthersCores()
    runs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(asyncio.run(_ledger_rate(Path(folder), count, _WAITING)))
    with tempfile.TemporaryDirectory() as folder:
        alone = asyncio.run(_ledger_rate(Path(folder), 200, 1))
    yield Figure(
        name="ledger-accepts",
        what="durable accepts at the ledger, 128 waiting",
        unit="1/s",
        runs=runs,
        bound=2000,
        rule="2,000 1/s",
        others_cores=others.so_far(),
        at_most=False,
        floor=alone,
        floor_what="one waiting",
    )


async def _ledger_rate(folder: Path, count: int, waiting: int) -> float:
    store = await books.open_store(Home(folder))
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            taken = (await store.write(ledger.accept([_judged(number)], None, time.time())))[0]
            if taken.verdicts[0].kind != "accepted":
                raise RuntimeError(f"not accepted: {taken.verdicts[0]}")

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(waiting)))
    rate = count / (time.perf_counter() - began)
    await store.aclose()
    return rate


def _judged(number: int) -> ledger.Judged:
    event = Event(
        platform="telegram",
        instance="telegram",
        account="1",
        kind="direct",
        chat=str(number % 500),
        sender=Sender(id=str(number % 500), name="Ana"),
        text=f"message {number} {'x' * 400}",
        dedupe_key=f"chat:{number}",
    )
    return ledger.Judged(
        "accepted",
        "telegram",
        event=event,
        ticket=f"ticket-{number}",
        session_key=f"agent:main:1:telegram:direct:{number % 500}",
        agent_id="main",
        admission="listed",
    )
