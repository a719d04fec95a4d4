"""A gateway in this process: the real store, host, mailboxes and delivery.

The platform and the model are the product's own stand-ins.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway import books, wiring
from gateway.config.live import LiveSettings
from gateway.config.loading import load
from gateway.core import Core, Platforms, join
from gateway.media.folder import MediaFolder
from gateway.media.outgoing import OutgoingFiles
from gateway.recovery import Plan, ResumeRules, recover
from hermes.adapter import Adapter
from hermes.agent import TurnEnded
from hermes.clock import Clock, SystemClock
from hermes.config import Schema
from hermes.events import Event, Sender, Target, Verdict
from hermes.home import Home
from hermes.testing import FakeAdapter, ScriptedModel

__all__ = ["Rig", "message", "rig", "until"]

SCHEMA = Schema(wiring.SCHEMA.sections, {"telegram": "hermes.config:PlatformSettings"})

_ids = itertools.count(1000)

OPEN = """
platforms:
  telegram: {allow_from: ["*"], rate: "off"}
gateway:
  limits: {rate: "off"}
"""


def message(text: str, chat: str = "5", **fields: Any) -> Event:
    """A message in a direct chat, unless `fields` say otherwise."""
    number = str(next(_ids))
    given: dict[str, Any] = {
        "platform": "telegram",
        "instance": "telegram",
        "account": "42",
        "kind": "direct",
        "chat": chat,
        "sender": Sender(chat, "Ana"),
        "text": text,
        "dedupe_key": f"{chat}:{number}",
        "message_id": number,
        "reply_to": (Target("telegram", chat),),
        "private_notice": True,
    }
    return Event(**{**given, **fields})


@dataclass
class Rig:
    """One process's worth of gateway over a home that may have seen others before."""

    core: Core
    adapter: FakeAdapter
    model: ScriptedModel
    home: Home
    recovered: Plan | None = None
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def send(self, text: str, chat: str = "5", **fields: Any) -> Verdict:
        """A message arrives."""
        return await self.deliver(message(text, chat, **fields))

    async def deliver(self, event: Event) -> Verdict:
        """An event arrives."""
        return (await self.core.intake(event.instance).take([event]))[0]

    async def ended(self, ticket: str) -> TurnEnded:
        """Wait for the end of an event's turn."""
        async for update in self.core.intake("telegram").follow(ticket):
            if isinstance(update, TurnEnded):
                return update
        raise AssertionError("a feed ended without its end")

    async def answered(self, count: int) -> list[str]:
        """The texts sent, once there are at least `count`."""
        async with asyncio.timeout(10):
            await self.adapter.wait_sent(count)
        return self.texts

    @property
    def texts(self) -> list[str]:
        return [text for _, text, _ in self.adapter.sent]

    async def quiet(self) -> None:
        """Wait until nothing is under way."""
        async with asyncio.timeout(10):
            while self.core.sessions.busy or self.core.delivery.waiting:
                await asyncio.sleep(0.01)

    async def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What the store holds."""
        return [tuple(r) for r in await self.core.store.read(sql, parameters)]


@asynccontextmanager
async def rig(
    root: Path,
    *,
    config: str = OPEN,
    model: ScriptedModel | None = None,
    adapter: FakeAdapter | None = None,
    clock: Clock | None = None,
    rules: ResumeRules | None = None,
    platform: Adapter | None = None,
    instance: str = "telegram",
    as_configured: bool = False,
    beside: Mapping[str, Adapter] | None = None,
) -> AsyncIterator[Rig]:
    """Start a gateway over `root`. `platform`: a real adapter in place of the stand-in; `instance`: its name.

    beside: other instances.

    as_configured: the models that `config` chooses answer, and `model` nothing.

    At the end of the block it ends as a kill would end it: nothing is drained.
    """
    clock = clock or SystemClock()
    model = model or ScriptedModel()
    adapter = adapter or FakeAdapter()
    home = Home(root)
    await asyncio.to_thread(root.mkdir, mode=0o700, parents=True, exist_ok=True)
    await asyncio.to_thread(home.config.write_text, config)
    snapshot = await asyncio.to_thread(load, home, SCHEMA, {})
    # Taken down also when the start itself fails: the store's threads would keep the run from ending.
    async with AsyncExitStack() as stack:
        store = await books.open_store(home)
        stack.push_async_callback(store.aclose)
        settings = LiveSettings(home, SCHEMA, snapshot, environ={})
        fixed = None if as_configured else model
        media = MediaFolder(home, wiring.kind_of)
        adapter.stored = media.path
        thinking = await wiring.build_host(store, settings, home, clock, fixed, files=OutgoingFiles(media))
        stack.push_async_callback(thinking.models.aclose)
        stack.push_async_callback(thinking.behind.aclose)
        stack.push_async_callback(thinking.titles.aclose)
        adapters: dict[str, Adapter] = {instance: platform or adapter, **(beside or {})}
        core = await join(settings, store, clock, thinking, Platforms(adapters, media=media))
        for part in (core.agents, core.delivery, core.sessions):
            stack.push_async_callback(part.aclose)
        thinking.behind.start()
        found = await recover(core.parts, core.sessions, rules or ResumeRules())
        yield Rig(core, adapter, model, home, found)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what tells nobody of its changes; a test in which it never comes ends."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)
