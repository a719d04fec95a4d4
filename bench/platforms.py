"""All platforms in one daemon: memory at rest, and 100 chats of each platform that write at once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bench.daemon import API_KEY, HERMES, SECRET, Daemon, daemon, environment
from bench.figure import Figure
from bench.machine import OthersCores, cpu_seconds, rss_mb
from bench.start import imports
from tests.peers.programs import peer_program
from tests.peers.town import Street, Town, opened

__all__ = ["measure_crowds", "measure_rest"]

_CHATS = 100
_ANSWER = "hello"
_SETTLING = 2.0  # seconds after all are connected in which caches and threads come to rest
_CONNECTING, _PATIENCE = 60.0, 120.0
_MODULES = [
    *("adapters.api.adapter", "adapters.discord.adapter", "adapters.email.adapter"),
    *("adapters.slack.adapter", "adapters.telegram.adapter", "adapters.webhook.adapter", "discord"),
]
_BOUNDS = {"telegram": (2.5, 20.0), "discord": (2.5, 20.0), "slack": (2.5, 20.0), "email": (6.0, 40.0)}
"""Seconds to the last answer, ms of CPU per turn."""


def measure_rest(*, quick: bool) -> Iterator[Figure]:
    """Resident memory of a daemon at rest that has Telegram, Discord, Slack, e-mail, webhook and API."""
    others = OthersCores()
    runs = asyncio.run(_at_rest(1 if quick else 3))
    yield Figure(
        name="idle-platforms",
        what="memory at rest, webhook, API, Telegram, Discord, Slack and e-mail",
        unit="MB",
        runs=runs,
        bound=100,
        rule="100 MB",
        others_cores=others.so_far(),
        floor=imports(_MODULES)[1],
        floor_what="the imports alone",
    )


async def _at_rest(rounds: int) -> list[float]:
    runs = []
    for _ in range(rounds):
        async with _scene() as (_, running):
            await asyncio.sleep(_SETTLING)
            runs.append(rss_mb(running.pid))
    return runs


@dataclass(frozen=True, slots=True)
class _Burst:
    """100 chats wrote: seconds until the last was answered, and the daemon's CPU per turn, ms."""

    seconds: float
    cpu: float


def measure_crowds(*, quick: bool) -> Iterator[Figure]:
    """100 chats at once on each platform, `rate: off`, instant model."""
    others = OthersCores()
    found = asyncio.run(_crowds(2 if quick else 6))
    for name, bursts in found.items():
        seconds, cpu = _BOUNDS[name]
        yield Figure(
            name=f"crowd-{name}",
            what=f"100 chats at once on {name}, all platforms on, instant model, `rate: off`: the last answer",
            unit="s",
            runs=[burst.seconds for burst in bursts[1:]],
            bound=seconds,
            rule=f"{seconds:g} s",
            others_cores=others.so_far(),
            more={"first_burst": round(bursts[0].seconds, 2)},
        )
        yield Figure(
            name=f"crowd-{name}-cpu",
            what=f"the daemon's CPU per turn of these ({name})",
            unit="ms",
            runs=[burst.cpu for burst in bursts[1:]],
            bound=cpu,
            rule=f"{cpu:g} ms",
            others_cores=others.so_far(),
        )


async def _crowds(rounds: int) -> dict[str, list[_Burst]]:
    async with _scene() as (town, running):
        return {
            street.name: [await _burst(street, 1 + n * _CHATS, running) for n in range(rounds)]
            for street in town
        }


async def _burst(street: Street, first: int, running: Daemon) -> _Burst:
    """New chats in every burst."""
    chats = range(first, first + _CHATS)
    before, began = cpu_seconds(running.pid), time.monotonic()
    await asyncio.gather(*(street.say(chat, "hello") for chat in chats))
    for chat in chats:
        await street.wait_shown(chat, _ANSWER, _PATIENCE)
    seconds = time.monotonic() - began
    if any(len(street.shown(chat)) != 1 for chat in chats):
        raise RuntimeError("a chat was not answered exactly once")
    return _Burst(seconds, (cpu_seconds(running.pid) - before) * 1000 / _CHATS)


@asynccontextmanager
async def _scene() -> AsyncIterator[tuple[Town, Daemon]]:
    """The daemon with everything on, and connected to everything; the model is a program of its own."""
    async with AsyncExitStack() as stack:
        model = stack.enter_context(peer_program("model", "--checks", "off", "--no-bodies"))
        town = await stack.enter_async_context(opened())
        scene = daemon(json.dumps(_settings(town, model)))
        running = await asyncio.to_thread(scene.__enter__)
        try:
            await asyncio.to_thread(_wait_connected, running)
            yield town, running
        finally:
            await asyncio.to_thread(scene.__exit__, None, None, None)


def _settings(town: Town, model: str) -> dict[str, object]:
    """JSON is YAML."""
    llm = {"provider": "custom", "model": "peer-model", "context_length": 131_072}
    route = {"secret": SECRET, "prompt": "{{ payload.text }}"}
    return {
        "llm": {**llm, "custom": {"base_url": f"{model}/v1", "api_key": "bench-model-key"}},
        "gateway": {"http": {"port": 0}, "limits": {"rate": "off"}, "drain_timeout": 5},
        "platforms": {
            **town.platforms(allow_from=["*"]),
            "api": {"key": API_KEY},
            "webhook": {"routes": {"each": route}},
        },
    }


def _wait_connected(running: Daemon) -> None:
    command = [HERMES, "status", "--json"]
    deadline = time.monotonic() + _CONNECTING
    while True:
        told = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment(running.home)
        )
        states = {name: seen["state"] for name, seen in json.loads(told.stdout)["platforms"].items()}
        if set(states.values()) == {"connected"}:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"not everything is connected: {states}")
