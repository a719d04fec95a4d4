"""Messages over all platforms at once while one in twenty meets a fault: what is lost, doubled, out of order.

    python -m bench.storm [--messages N] [--mode resend|drop] [--seed N] [--write]

People on Telegram, Discord, Slack and by e-mail (a real Dovecot), programs at the API, and webhooks whose answers go to each
of these; all peers stand in this process. A fault: a call that is cut, answered with 429, 5xx or nonsense, carried out
and not answered, or slow; a message that comes twice; a connection that breaks; a caller that hangs up. Without --mode
both modes run, one after the other. With `--write` the figures go to bench/storm.json, from which bench/results.md
shows them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, Literal, get_args

from bench.daemon import API_KEY, HERMES, SECRET, Daemon, daemon, environment
from bench.machine import OthersCores, describe, rss_mb
from bench.reckoning import Books, Talk, token_in, tokens
from bench.results import write_storm
from bench.wire import Wire
from bench.writers import HOOK_CHATS, Person, Program, System, Writer
from tests.peers.journal import Changes
from tests.peers.model import ModelPeer
from tests.peers.town import Town, opened

__all__ = ["Load", "Mode", "Sample", "Storm", "storm"]

Mode = Literal["resend", "drop"]
_SHARES = {"telegram": 0.3, "discord": 0.25, "slack": 0.2, "email": 0.08, "api": 0.1, "webhook": 0.07}
_MOST_CHATS = {"telegram": 40, "discord": 40, "slack": 40, "email": 24, "api": 24}
_AT_ONCE = 32
_LOOK_EVERY = 0.1
_HELD = 2.0  # seconds for which a writer that waits keeps others from writing
_REST = ("sessions_busy", "turns_running", "outbox_waiting", "inbox_waiting")


@dataclass(frozen=True, slots=True)
class Load:
    """How much. faults: the part of the messages that meet one. seconds: after which a message counts as lost."""

    messages: int = 10_000
    mode: Mode = "resend"
    seed: int = 0
    faults: float = 0.05
    every: int = 500
    seconds: float = 180.0
    slow_retries: bool = True


@dataclass(frozen=True, slots=True)
class Sample:
    """So many messages were settled after so many seconds; memory in MB."""

    settled: int
    seconds: float
    rss: float


@dataclass(slots=True)
class Storm:
    """What a run came to.

    asked: messages by kind. troubles: how many met which. unheard: calls that were carried out without our hearing of it.
    marked, doubled, lost: answers that say that they may be a second one; messages with more than one answer; with none.
    """

    load: Load
    samples: list[Sample] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    troubles: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    lost: int = 0
    doubled: int = 0
    marked: int = 0
    unheard: int = 0
    unreported: int = 0
    others_cores: float = 0.0

    def record(self) -> dict[str, Any]:
        """As plain JSON; `asdict` takes counters apart."""
        return {**asdict(self), "asked": dict(self.asked), "troubles": dict(self.troubles)}


def storm(load: Load, told: Callable[[Sample], None] = lambda _: None) -> Storm:
    """Run it. `told` is called with each sample."""
    return asyncio.run(_storm(load, told))


async def _storm(load: Load, told: Callable[[Sample], None]) -> Storm:
    others = OthersCores()
    async with _scene(load) as (town, running), Wire(running.port) as wire:
        done = await _Run(load, town, running, wire, told).run()
    done.others_cores = round(others.so_far(), 2)
    return done


@asynccontextmanager
async def _scene(load: Load) -> AsyncIterator[tuple[Town, Daemon]]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelPeer(checks="off", keep_bodies=False))
        town = await stack.enter_async_context(opened())
        scene = daemon(json.dumps(_config(load, town, model.url)))
        running = await asyncio.to_thread(scene.__enter__)
        try:
            yield town, running
        finally:
            await asyncio.to_thread(scene.__exit__, None, None, None)


def _config(load: Load, town: Town, model: str) -> dict[str, Any]:
    """JSON is YAML."""
    routes = {
        street.name: {
            "secret": SECRET,
            "prompt": "{{ payload.text }}",
            "session": "route",
            "deliver": f"{street.name}:{street.target(HOOK_CHATS)}",
        }
        for street in town
    }
    llm = {"provider": "custom", "model": "peer-model", "context_length": 131_072}
    return {
        "llm": {**llm, "custom": {"base_url": model, "api_key": "storm-model-key"}},
        "gateway": {
            "http": {"port": 0},
            "limits": {"rate": "off"},
            "delivery": {"on_unknown": load.mode},
        },
        "platforms": {
            **town.platforms(allow_from=["*"]),
            "api": {"key": API_KEY},
            "webhook": {"routes": routes},
        },
    }


class _Run:
    def __init__(
        self, load: Load, town: Town, running: Daemon, wire: Wire, told: Callable[[Sample], None]
    ) -> None:
        self._load = load
        self._town = town
        self._daemon = running
        self._wire = wire
        self._told = told
        self._numbers = count(1)
        self._asked: dict[Writer, list[str]] = {}
        self._settled: set[str] = set()
        self._changes = Changes()
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._began = time.monotonic()
        self._done = Storm(load)

    async def run(self) -> Storm:
        """All messages, and the judgement."""
        plan = list(self._plan())
        watch = asyncio.create_task(self._watch(), name="watch")
        try:
            # What came before a first message, Discord does not keep: the faults begin after it.
            await asyncio.gather(*(self._burst(writer, 1, None) for writer, _ in plan))
            await asyncio.gather(*(self._write(n, writer, quota) for n, (writer, quota) in enumerate(plan)))
            await self._at_rest()
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        self._take_sample()
        await self._judge()
        return self._done

    def _plan(self) -> Sequence[tuple[Writer, int]]:
        """Everybody who writes, and how many messages after the first."""
        load, writers = self._load, dict[str, list[Writer]]()
        for street in self._town:
            chats = self._chats(street.name)
            writers[street.name] = [
                Person(
                    street, n, random.Random(f"{load.seed} {street.name} {n}"), slow_retries=load.slow_retries
                )
                for n in range(1, chats + 1)
            ]
        writers["api"] = [Program(self._wire, f"s-{n}") for n in range(self._chats("api"))]
        writers["webhook"] = [System(self._wire, street, load.slow_retries) for street in self._town]
        return [
            (writer, max(0, round(load.messages * _SHARES[name] / len(group)) - 1))
            for name, group in writers.items()
            for writer in group
        ]

    def _chats(self, name: str) -> int:
        return max(2, min(_MOST_CHATS[name], int(self._load.messages * _SHARES[name] / 5)))

    # -- writing -----------------------------------------------------------------------------------

    async def _write(self, number: int, writer: Writer, quota: int) -> None:
        dice = random.Random(f"{self._load.seed} {number}")
        while quota > 0:
            burst = min(quota, dice.randint(1, writer.at_once))
            await self._burst(writer, burst, dice)
            quota -= burst

    async def _burst(self, writer: Writer, size: int, dice: random.Random | None) -> None:
        """Some messages, one after the other, to the answers of all; `dice`: they may meet faults."""
        asked = self._asked.setdefault(writer, [])
        wanted: list[str] = []
        async with self._gate:
            for _ in range(size):
                token = f"m-{writer.name}-{next(self._numbers)}"
                trouble = None
                if dice is not None and dice.random() < self._load.faults:
                    trouble = dice.choice(writer.troubles)
                    self._done.troubles[f"{writer.name} {trouble}"] += 1
                asked.append(token)
                wanted.append(token)
                await writer.say(_text(token, dice), trouble)
            await self._until_settled(wanted, _HELD)
        await self._until_settled(wanted, self._load.seconds)

    async def _until_settled(self, wanted: Sequence[str], seconds: float) -> None:
        try:
            await self._changes.wait_for(lambda: self._settled.issuperset(wanted), seconds)
        except TimeoutError:  # the judgement says what became of it
            return

    # -- watching ----------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """See what is answered or given up, and take samples."""
        while True:
            shown = {token for writer in self._asked for text in writer.shown() if (token := token_in(text))}
            self._settled = shown | await asyncio.to_thread(self._given_up)
            self._changes.notify()
            if len(self._settled) >= self._load.every * (len(self._done.samples) + 1):
                self._take_sample()
            await asyncio.sleep(_LOOK_EVERY)

    def _given_up(self) -> set[str]:
        sql = "SELECT text FROM outbox WHERE state IN ('dropped', 'dead') AND kind <> 'live'"
        return {token for (text,) in self._rows(sql) if (token := token_in(text))}

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the database, read beside the daemon."""
        path = self._daemon.home / "state.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()

    def _take_sample(self) -> None:
        seconds = round(time.monotonic() - self._began, 1)
        sample = Sample(len(self._settled), seconds, round(rss_mb(self._daemon.pid), 1))
        self._done.samples.append(sample)
        self._told(sample)

    async def _at_rest(self) -> None:
        """Return when nothing runs and nothing waits any more."""
        deadline = time.monotonic() + self._load.seconds
        while True:
            figures = await self._figures()
            if not any(figures[name] for name in _REST):
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"the daemon does not come to rest: {figures}")
            await asyncio.sleep(_LOOK_EVERY)

    async def _figures(self) -> dict[str, float]:
        head = f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {API_KEY}\r\n\r\n"
        status, body = await self._wire.ask(head.encode())
        if status != 200:
            raise RuntimeError(f"/metrics answered {status}")
        lines = (line.rpartition(" ") for line in body.decode().splitlines() if line.startswith("hermes_"))
        return {name.removeprefix("hermes_"): float(value) for name, _, value in lines if "{" not in name}

    # -- the judgement -----------------------------------------------------------------------------

    async def _judge(self) -> None:
        unheard = tokens(text for street in self._town for text in street.unheard())
        letters = await asyncio.to_thread(self._letters)
        books = Books(self._load.mode, unheard, letters)
        for writer, asked in self._asked.items():
            books.add(Talk(writer.name, writer.deduplicates, asked, writer.shown()))
            self._done.asked[writer.name] += len(asked)
        books.close()
        done = self._done
        inbox = dict(await asyncio.to_thread(self._rows, "SELECT state, count(*) FROM inbox GROUP BY state"))
        if inbox != {"answered": done.asked.total()}:
            books.wrong["- inbox"] = f"{inbox} of {done.asked.total()}"
        for violation in self._town.violations():
            books.wrong[f"- {violation}"] = "no correct client does that"
        done.wrong, done.marked, done.unheard = books.wrong, books.marked, unheard.total()
        done.lost, done.doubled, done.unreported = len(books.lost), len(books.doubled), books.unreported

    def _letters(self) -> set[str]:
        """What `hermes deadletters list` reports."""
        command = [HERMES, "deadletters", "list", "--json", "--limit", "1000"]
        home = self._daemon.home
        told = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(home))
        return {token for letter in json.loads(told.stdout) if (token := token_in(letter["text"]))}


def _text(token: str, dice: random.Random | None) -> str:
    """A message; some are answered late, in growing pieces, or by a model that fails at first."""
    more, words = "", ""
    luck = 1.0 if dice is None else dice.random()
    if luck < 0.02:
        more, words = "[[chunks=20]] [[every=120]] ", f"about {token} " * 12
    elif luck < 0.05:
        more = "[[delay=500]] "
    elif luck < 0.06:
        more = f"[[error=503 times=1 for={token}]] "
    return f"{token} {more}[[text={words}done {token}.]]"


def main() -> int:
    """Run it and show the samples."""
    usual = Load()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=usual.messages)
    parser.add_argument("--mode", choices=get_args(Mode), action="append")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--every", type=int, default=usual.every)
    parser.add_argument("--write", action="store_true", help="keep the figures for bench/results.md")
    options = parser.parse_args()
    logging.getLogger("mail.log").setLevel(logging.ERROR)  # aiosmtpd speaks of its own future
    runs = []
    for mode in options.mode or get_args(Mode):
        load = Load(options.messages, mode, options.seed, every=options.every)
        print(f"{mode}, --seed {load.seed}", file=sys.stderr)
        done = storm(load, lambda sample: print(json.dumps(asdict(sample)), flush=True))
        runs.append(done.record())
        for token, reason in list(done.wrong.items())[:50]:
            print(f"{token}: {reason}", file=sys.stderr)
        counts = {
            n: getattr(done, n)
            for n in ("asked", "troubles", "lost", "doubled", "marked", "unheard", "unreported")
        }
        print(json.dumps({**counts, "others_cores": done.others_cores}), file=sys.stderr)
    if options.write:
        write_storm({"machine": describe([]), "runs": runs})
    return int(any(run["wrong"] for run in runs))


if __name__ == "__main__":
    sys.exit(main())
