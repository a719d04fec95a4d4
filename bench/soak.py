"""Many turns over many sessions at the real daemon: what grows, and whether each message has its one answer.

    python -m bench.soak [--turns N] [--sessions N] [--write]

Most turns come by the API, some by Telegram, and some by a webhook whose answers go to a Telegram chat. Every
session is visited once in each round, so that agents are closed as idle and built again all the time. With
`--write` the figures go to bench/soak.json, from which bench/results.md shows them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
import psutil

from bench.daemon import API_KEY, SECRET, Daemon, daemon
from bench.machine import OthersCores, describe
from bench.results import write_soak
from bench.wire import Wire, api_turn, hook
from tests.peers.programs import peer_program
from tests.peers.telegram.control import TelegramPeerControl
from tests.peers.telegram.server import TOKEN

__all__ = ["Load", "Sample", "Soak", "soak"]

HOOK_CHAT = 777_000
_AT_ONCE = 24
_MARK = re.compile(r"\b(n-\d+) is what")


@dataclass(frozen=True, slots=True)
class Load:
    """How much. idle_ttl: seconds after which an idle agent is closed. seconds: no new turn begins after them."""

    turns: int = 20_000
    sessions: int = 2_000
    idle_ttl: float = 5.0
    cache: int = 128
    every: int = 1_000
    seconds: float = 900.0

    @property
    def chats(self) -> int:
        """How many of the sessions are Telegram chats; one is the webhook's, the others are the API's."""
        return self.sessions // 10


@dataclass(frozen=True, slots=True)
class Sample:
    """The daemon at rest after so many turns. Memory in MB, files in bytes."""

    turns: int
    seconds: float
    rss: float
    fds: int
    threads: int
    tasks: int
    children: int
    agents: int
    database: int
    wal: int
    transcripts: int
    index: int
    logs: int


@dataclass(slots=True)
class Soak:
    """What a run came to. `wrong`: messages without an answer, or with more than one."""

    load: Load
    samples: list[Sample] = field(default_factory=list)
    wrong: dict[str, int] = field(default_factory=dict)
    others_cores: float = 0.0

    def at(self, turns: int) -> Sample:
        """The first sample with at least so many turns, else the last one."""
        return next((s for s in self.samples if s.turns >= turns), self.samples[-1])

    @property
    def growth(self) -> float:
        """Memory at the end over memory after each session was visited once."""
        return self.samples[-1].rss / self.at(self.load.sessions).rss


def soak(load: Load, told: Callable[[Sample], None] = lambda _: None) -> Soak:
    """Run it. `told` is called with each sample."""
    others = OthersCores()
    with _scene(load) as (running, telegram):
        done = asyncio.run(_Run(load, running, telegram, told).run())
    done.others_cores = round(others.so_far(), 2)
    return done


@contextmanager
def _scene(load: Load) -> Iterator[tuple[Daemon, TelegramPeerControl]]:
    with ExitStack() as stack:
        model = stack.enter_context(peer_program("model", "--checks", "off", "--no-bodies"))
        telegram = stack.enter_context(peer_program("telegram"))
        peer = TelegramPeerControl(telegram)
        peer.add_chat(HOOK_CHAT)
        yield stack.enter_context(daemon(_config(load, model, telegram))), peer


def _config(load: Load, model: str, telegram: str) -> str:
    return f"""
llm:
  provider: custom
  model: peer-model
  context_length: 131072
  custom: {{base_url: "{model}/v1", api_key: "bench-model-key"}}
gateway:
  http: {{port: 0}}
  limits: {{rate: "off"}}
  agent_cache: {{size: {load.cache}, idle_ttl: {load.idle_ttl}s}}
platforms:
  api: {{key: "{API_KEY}"}}
  telegram: {{token: "{TOKEN}", base_url: "{telegram}/bot", allow_from: ["*"], rate: "off"}}
  webhook:
    routes:
      one:
        {{secret: "{SECRET}", prompt: "{{{{ payload.text }}}}", session: route, deliver: "telegram:{HOOK_CHAT}"}}
"""


class _Run:
    def __init__(
        self, load: Load, running: Daemon, telegram: TelegramPeerControl, told: Callable[[Sample], None]
    ) -> None:
        self._load = load
        self._daemon = running
        self._process = psutil.Process(running.pid)
        self._telegram = telegram
        self._told = told
        self._answers: Counter[str] = Counter()
        self._asked: list[str] = []
        self._began = time.monotonic()

    async def run(self) -> Soak:
        done = Soak(self._load)
        async with Wire(self._daemon.port) as wire:
            turns = enumerate(_visits(self._load))
            while len(self._asked) < self._load.turns and self._seconds() < self._load.seconds:
                await self._stretch(wire, turns, self._load.every)
                done.samples.append(await self._sample())
                self._told(done.samples[-1])
        self._answers += Counter(await self._shown())
        done.wrong = {t: self._answers[t] for t in self._asked if self._answers[t] != 1}
        return done

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    async def _stretch(self, wire: Wire, turns: Iterator[tuple[int, int]], count: int) -> None:
        """So many turns, a few at once, to the answer of each."""
        left = iter(range(min(count, self._load.turns - len(self._asked))))

        async def worker() -> None:
            for _ in left:
                number, session = next(turns)
                self._asked.append(f"n-{number}")
                await self._turn(wire, f"n-{number}", session)

        await asyncio.gather(*(worker() for _ in range(_AT_ONCE)))

    async def _turn(self, wire: Wire, token: str, session: int) -> None:
        text = f"{token} is what I would like to hear from you, once and no more than that, please."
        if session == 0:
            await self._expect(wire, hook("/webhooks/one", text), 202)
        elif session <= self._load.chats:
            await self._telegram.apush("text", text=text, chat=session)
            await self._telegram.await_text(session, token, timeout=120)
        else:
            found = _MARK.search(await self._expect(wire, api_turn(text, f"s-{session}"), 200))
            self._answers[found[1] if found else "nothing"] += 1

    async def _expect(self, wire: Wire, request: bytes, status: int) -> str:
        got, body = await wire.ask(request)
        if got != status:
            raise RuntimeError(f"answered {got}: {body[:300]!r}")
        return body.decode()

    async def _shown(self) -> list[str]:
        chats = await self._telegram.achats()
        texts = (str(m.get("text")) for shown in chats.values() for m in shown if m.get("from_bot", True))
        return [found[1] for text in texts if (found := _MARK.search(text))]

    async def _sample(self) -> Sample:
        figures = await self._at_rest()
        home = self._daemon.home
        return Sample(
            turns=len(self._asked),
            seconds=round(self._seconds(), 1),
            rss=round(self._process.memory_info().rss / 2**20, 1),
            fds=self._process.num_fds(),
            threads=self._process.num_threads(),
            tasks=int(figures["asyncio_tasks"]),
            children=len(self._process.children(recursive=True)),
            agents=int(figures["agents_live"]),
            database=_size(home, "state.db"),
            wal=_size(home, "state.db-wal"),
            transcripts=_size(home, "agents/*/sessions/*.jsonl"),
            index=_size(home, "agents/*/sessions/sessions.json"),
            logs=_size(home, "logs/*"),
        )

    async def _at_rest(self) -> dict[str, float]:
        """The daemon's own figures once nothing runs and nothing waits, and idle agents are gone."""
        deadline = time.monotonic() + 60 + 4 * self._load.idle_ttl
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            while True:
                answer = await client.get(
                    f"{self._daemon.url}/metrics", headers={"Authorization": f"Bearer {API_KEY}"}
                )
                figures = _figures(answer.text)
                busy = ("sessions_busy", "turns_running", "outbox_waiting", "agents_live")
                if not any(figures[name] for name in busy):
                    return figures
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the daemon does not come to rest: {figures}")
                await asyncio.sleep(0.25)


def _visits(load: Load) -> Iterator[int]:
    """Sessions for ever, each once a round, in another order every time."""
    order, dice = list(range(load.sessions)), random.Random(7)
    while True:
        dice.shuffle(order)
        yield from order


def _figures(text: str) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in text.splitlines() if line.startswith("hermes_"))
    return {name.removeprefix("hermes_"): float(value) for name, _, value in lines if "{" not in name}


def _size(home: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in home.glob(pattern))


def main() -> int:
    """Run it and show the samples."""
    usual = Load()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=usual.turns)
    parser.add_argument("--sessions", type=int, default=usual.sessions)
    parser.add_argument("--every", type=int, default=usual.every)
    parser.add_argument("--cache", type=int, default=usual.cache)
    parser.add_argument("--write", action="store_true", help="keep the figures for bench/results.md")
    options = parser.parse_args()
    load = Load(options.turns, options.sessions, every=options.every, cache=options.cache)
    done = soak(load, lambda sample: print(json.dumps(asdict(sample)), flush=True))
    print(f"memory x {done.growth:.3f}, {len(done.wrong)} wrong, others {done.others_cores}", file=sys.stderr)
    if options.write:
        record = {"machine": describe([]), "growth": round(done.growth, 3), **asdict(done)}
        write_soak(record)
    return int(bool(done.wrong))


if __name__ == "__main__":
    sys.exit(main())
