"""Turns through the API of the real daemon: CPU per turn, many sessions at once, added latency, memory per agent."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator

from bench.bare_calls import Bare, bare_calls
from bench.daemon import Daemon, config, daemon
from bench.figure import Figure
from bench.machine import OthersCores, cpu_seconds, rss_mb
from bench.wire import Wire, api_turn
from tests.peers.model.control import ModelPeerControl
from tests.peers.programs import peer_program

__all__ = ["measure_agents", "measure_burst", "measure_cpu", "measure_latency"]

_QUIET = ("model", "--checks", "off", "--no-bodies")
_TEXT = "Tell me about the deployment of the staging server, please; it failed again this morning."


def measure_cpu(*, quick: bool) -> Iterator[Figure]:
    """CPU of the daemon per turn, one turn after the other, and of the same calls over bare httpx.

    The sessions have 40 messages when it begins. Each round of ours is followed by the bare calls with the
    very bodies that the model has just got.
    """
    sessions, turns, rounds = (5, 8, 2) if quick else (20, 10, 5)
    others = OthersCores()
    runs, floors = [], []
    with peer_program("model", "--checks", "off") as model, daemon(config(model)) as running:
        control = ModelPeerControl(model)
        asyncio.run(_fill(running, range(sessions)))
        for _ in range(rounds):
            control.reset()
            before = cpu_seconds(running.pid)
            asyncio.run(_one_by_one(running, sessions, turns))
            spent = (cpu_seconds(running.pid) - before) * 1000 / (sessions * turns)
            bodies = [entry["body"] for entry in control.journal()]
            if len(bodies) != sessions * turns:
                raise RuntimeError(f"{len(bodies)} model calls in {sessions * turns} turns")
            runs.append(spent)
            floors.append(bare_calls(model, bodies).cpu_ms)
    bare = statistics.median(floors)
    yield Figure(
        name="cpu-per-turn",
        what="CPU per turn, one by one, from 40 messages on; with ledger, transcript and index",
        unit="ms",
        runs=runs,
        bound=3 * bare,
        rule="3 x bare httpx",
        guard=5 * bare,
        others_cores=others.so_far(),
        floor=bare,
        floor_what="the same calls over a bare httpx stream",
        more={"ratio": round(statistics.median(runs) / bare, 2)},
    )


async def _one_by_one(running: Daemon, sessions: int, turns: int) -> None:
    async with Wire(running.port) as wire:
        for turn in range(turns):
            for session in range(sessions):
                await wire.all_at_once([api_turn(f"{_TEXT} ({turn})", f"m-{session}")])


def measure_burst(*, quick: bool) -> Iterator[Figure]:
    """128 sessions at once; the model answers instantly. The first burst meets a cold daemon."""
    count, rounds = 128, 3 if quick else 8
    others = OthersCores()
    with peer_program(*_QUIET) as model, daemon(config(model)) as running:
        rates = [
            count / asyncio.run(_burst(running, f"b{number}", count, _TEXT))[1] for number in range(rounds)
        ]
        floor = _bare_burst(model, count, _TEXT).per_second
    yield Figure(
        name="burst-128",
        what="128 sessions at once, instant model",
        unit="turns/s",
        runs=rates[1:],
        bound=100,
        rule="100 turns/s",
        others_cores=others.so_far(),
        at_most=False,
        floor=floor,
        floor_what="the same calls over bare httpx",
        note="new sessions in every burst",
        more={"first_burst": round(rates[0])},
    )


def measure_latency(*, quick: bool) -> Iterator[Figure]:
    """What a turn takes beyond the model's 200 ms, with 64 sessions at once."""
    count, rounds = 64, 2 if quick else 8
    text = f"[[delay=200]] {_TEXT}"
    others = OthersCores()
    with peer_program(*_QUIET) as model, daemon(config(model)) as running:
        added = []
        for number in range(rounds + 1):
            seconds, _ = asyncio.run(_burst(running, f"l{number}", count, text))
            added.append(_p95(seconds) * 1000 - 200)
        floor = _p95(_bare_burst(model, count, text).seconds) * 1000 - 200
    yield Figure(
        name="added-latency",
        what="added latency, p95, 64 sessions at once, a model that answers in 200 ms",
        unit="ms",
        runs=added[1:],
        bound=100,
        rule="100 ms",
        guard=3 * floor,
        others_cores=others.so_far(),
        floor=floor,
        floor_what="the same calls over bare httpx",
        note="new sessions in every burst",
    )


def measure_agents(*, quick: bool) -> Iterator[Figure]:
    """Memory that one more live agent with 40 messages takes: the slope between few agents and many."""
    few, many, rounds = (10, 40, 1) if quick else (20, 120, 2)
    others = OthersCores()
    runs = []
    for _ in range(rounds):
        with peer_program(*_QUIET) as model, daemon(config(model)) as running:
            asyncio.run(_fill(running, range(few)))
            before = rss_mb(running.pid)
            asyncio.run(_fill(running, range(few, many)))
            runs.append((rss_mb(running.pid) - before) * 1024 / (many - few))
    yield Figure(
        name="agent-memory",
        what="memory per live agent with 40 messages",
        unit="kB",
        runs=runs,
        bound=150,
        rule="150 kB",
        others_cores=others.so_far(),
        floor=40 * len(_TEXT) / 1000,
        floor_what="its text",
    )


async def _fill(running: Daemon, sessions: range) -> None:
    async with Wire(running.port) as wire:
        for turn in range(20):
            for start in range(sessions.start, sessions.stop, 10):
                group = range(start, min(start + 10, sessions.stop))
                await wire.all_at_once([api_turn(f"{_TEXT} ({turn})", f"m-{n}") for n in group])


async def _burst(running: Daemon, name: str, count: int, text: str) -> tuple[list[float], float]:
    """The seconds of each turn, and of the slowest."""
    async with Wire(running.port) as wire:
        seconds = await wire.all_at_once([api_turn(f"{text} {n}", f"{name}-{n}") for n in range(count)])
    return seconds, max(seconds)


def _bare_burst(model: str, count: int, text: str) -> Bare:
    """As many calls at once; the prompt is only the message, so this floor is a low one."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}
    return bare_calls(model, [body] * count, at_once=count)


def _p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]
