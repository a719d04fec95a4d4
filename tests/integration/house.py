"""The HTTP adapters on the real server, behind them an intake in memory that keeps the contract."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from gateway.http import HttpServer, Probes
from hermes.adapter import AdapterContext, AdapterState, BuildAdapter, HttpAdapter, HttpLimits
from hermes.agent import TextDelta, TurnEnded, TurnUpdate
from hermes.clock import Clock
from hermes.config import Network, PlatformSettings
from hermes.errors import ConfigError, StoreUnavailable
from hermes.events import Event, Parsed, Role, Target, Verdict, Watermark
from hermes.messages import Usage
from hermes.testing import FakeClock

Emit = Callable[[TurnUpdate], None]
Think = Callable[[Event, Emit], Awaitable[None]]


async def echo(event: Event, emit: Emit) -> None:
    """Answer with the text, in three pieces."""
    text = f"echo: {event.text}"
    for start in range(0, len(text), 7):
        emit(TextDelta(text[start : start + 7]))
        await asyncio.sleep(0)
    emit(TurnEnded("answered", text, Usage(11, 3)))


@dataclass
class Turn:
    """One accepted event and everything its turn has shown so far."""

    event: Event
    ticket: str
    at: float
    updates: list[TurnUpdate] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    task: asyncio.Task[None] | None = None
    cancelled: bool = False

    async def show(self, update: TurnUpdate) -> None:
        async with self.news:
            self.updates.append(update)
            self.news.notify_all()


class MemoryIntake:
    """Takes, de-duplicates, runs `think` for each new event, and lets anybody follow.

    `fault`, `refusal`: what the store or door says.
    """

    def __init__(self, clock: Clock, think: Think = echo) -> None:
        self.clock = clock
        self.think = think
        self.turns: dict[str, Turn] = {}
        self.fault = False
        self.refusal: str | None = None
        self.gate: asyncio.Event | None = None  # a commit waits for it
        self.taking = asyncio.Event()
        self.states: list[AdapterState] = []
        self.changed = asyncio.Condition()
        self._tickets = itertools.count(1)

    @property
    def events(self) -> list[Event]:
        return [turn.event for turn in self.turns.values()]

    async def take(self, items: Sequence[Parsed], watermark: Watermark | None = None) -> Sequence[Verdict]:
        self.taking.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.fault:
            raise StoreUnavailable
        verdicts = [self._judge(item) for item in items]
        async with self.changed:
            self.changed.notify_all()
        return verdicts

    def _judge(self, item: Parsed) -> Verdict:
        assert isinstance(item, Event)
        if self.refusal is not None:
            return Verdict("refused", reason=self.refusal)
        for turn in self.turns.values():
            if self._is_same(turn, item):
                return Verdict("duplicate", turn.ticket, None, turn.event.message_id, turn.at)
        turn = Turn(item, f"t{next(self._tickets)}", self.clock.time())
        self.turns[turn.ticket] = turn
        turn.task = asyncio.create_task(self._run(turn))
        return Verdict("accepted", turn.ticket)

    def _is_same(self, turn: Turn, event: Event) -> bool:
        if turn.event.instance != event.instance:
            return False
        fresh = turn.at > self.clock.time() - event.replay_window
        replayed = event.replay_key is not None and event.replay_key == turn.event.replay_key and fresh
        return replayed or turn.event.dedupe_key == event.dedupe_key

    async def _run(self, turn: Turn) -> None:
        shown: asyncio.Queue[TurnUpdate] = asyncio.Queue()
        thinking = asyncio.create_task(self._think(turn.event, shown.put_nowait))
        try:
            while not (turn.updates and isinstance(turn.updates[-1], TurnEnded)):
                await turn.show(await shown.get())
        finally:
            thinking.cancel()
            await asyncio.wait((thinking,))

    async def _think(self, event: Event, emit: Emit) -> None:
        await self.think(event, emit)

    async def read_watermark(self, name: str) -> str | None:
        return None

    def role(self, event: Event) -> Role | None:
        return "member"

    def state(self, state: AdapterState, reason: str | None = None) -> None:
        self.states.append(state)

    def alive(self) -> None:
        pass

    async def follow(self, ticket: str) -> AsyncIterator[TurnUpdate]:
        turn = self.turns[ticket]
        seen = 0
        while True:
            async with turn.news:
                while len(turn.updates) <= seen:
                    await turn.news.wait()
                update = turn.updates[seen]
            seen += 1
            yield update
            if isinstance(update, TurnEnded):
                return

    async def abandon(self, ticket: str) -> None:
        turn = self.turns[ticket]
        assert turn.event.volatile
        turn.cancelled = True
        if turn.task is not None:
            turn.task.cancel()
            await asyncio.wait((turn.task,))
        async with self.changed:
            self.changed.notify_all()

    async def until(self, predicate: Callable[[], bool]) -> None:
        """Wait until something taken or abandoned makes `predicate` true."""
        async with self.changed:
            await self.changed.wait_for(predicate)

    async def aclose(self) -> None:
        tasks = [turn.task for turn in self.turns.values() if turn.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def parse_target(text: str) -> Target:
    instance, _, rest = text.partition(":")
    if instance != "telegram" or not rest:
        raise ConfigError(f"{text!r} is no target; known platforms: telegram.")
    chat, _, thread = rest.partition(":")
    return Target(instance, chat, thread or None)


def context(clock: Clock, instance: str, limits: HttpLimits | None = None) -> AdapterContext:
    return AdapterContext(
        instance=instance,
        clock=clock,
        network=Network(),
        http=limits or HttpLimits(),
        files=Path("/nonexistent"),
        commands=(),
        targets=parse_target,
    )


@dataclass
class House:
    """A running server with one adapter."""

    server: HttpServer
    intake: MemoryIntake
    clock: FakeClock
    ready: tuple[bool, str | None] = (True, None)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def send(self, raw: bytes) -> bytes:
        """Send bytes on a new connection and return everything until the server closes it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(raw)
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def open_house(
    build: BuildAdapter, settings: PlatformSettings, limits: HttpLimits | None = None, think: Think = echo
) -> AsyncIterator[House]:
    clock = FakeClock()
    limits = limits or HttpLimits()
    intake = MemoryIntake(clock, think)
    adapter = build(settings, context(clock, settings.type, limits))
    assert isinstance(adapter, HttpAdapter)
    probes = Probes(readiness=lambda: house.ready, is_key=lambda key: key == "secret")
    server = HttpServer("127.0.0.1", 0, limits, probes)
    house = House(server, intake, clock)
    adapter.mount(server.router, intake)
    await server.start()
    try:
        yield house
    finally:
        await server.aclose(0.5)
        await adapter.aclose()
        await intake.aclose()
