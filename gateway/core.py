"""The daemon's parts, joined in the order in which they stand on each other; started and stopped by `app`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from gateway import books, wiring
from gateway.agents import Agents
from gateway.codes import Codes
from gateway.commands import menu
from gateway.config.live import LiveSettings
from gateway.config.loading import receivers
from gateway.current import Current, media_rules
from gateway.delivery import Delivery, Places
from gateway.directory import Directory
from gateway.door import RateBook
from gateway.feeds import Feeds
from gateway.intake import InstanceIntake, IntakeParts
from gateway.linking import Linking
from gateway.media.fetching import Fetching
from gateway.media.folder import MediaFolder
from gateway.media.keeping import Keeping
from gateway.media.outgoing import OutgoingFiles, keep_answer
from gateway.media.readers import ChosenReaders
from gateway.media.rules import Room, keep_in
from gateway.media.telling import Readers, Telling
from gateway.modes import Modes
from gateway.outbound import Outbound
from gateway.pairing import Pairings
from gateway.parts import Parts
from gateway.people import People
from gateway.rights import Rights
from gateway.router import HOME, ORIGIN, parse_target
from gateway.sessions import Sessions
from gateway.settings import GatewaySettings
from gateway.supervisor import Supervisor
from gateway.turns import Turns
from hermes.adapter import Adapter, AdapterContext, FetchingAdapter, HttpLimits
from hermes.clock import Clock
from hermes.config import PlatformSettings, Snapshot
from hermes.errors import ConfigError
from hermes.events import Target
from hermes.home import Home
from hermes.store import Store

__all__ = ["Core", "Platforms", "build_core", "enabled", "join"]


@dataclass(frozen=True, slots=True)
class Platforms:
    """The adapters by instance. targets: reads where something is sent to. unheard: those that are only sent to.

    media: the folder that they read files from; absent: the home's.
    """

    adapters: dict[str, Adapter]
    targets: Callable[[str], Target] = parse_target
    unheard: frozenset[str] = frozenset()
    media: MediaFolder | None = None


@dataclass(frozen=True, slots=True)
class Core:
    """Everything that a running gateway has."""

    store: Store
    settings: LiveSettings
    thinking: wiring.Thinking
    agents: Agents
    adapters: dict[str, Adapter]
    delivery: Delivery
    feeds: Feeds
    turns: Turns
    sessions: Sessions
    pairings: Pairings
    linking: Linking
    supervisor: Supervisor
    intakes: dict[str, InstanceIntake]
    parts: Parts
    outbound: Outbound
    directory: Directory
    media: MediaFolder
    keeping: Keeping
    readers: Readers

    def say(self, key: str, /, **fields: Any) -> str:
        """A sentence of the system in the language of the settings."""
        return str(self.parts.say(key, **fields))

    def intake(self, instance: str) -> InstanceIntake:
        """The way in for one instance."""
        return self.intakes[instance]


def enabled(
    snapshot: Snapshot, only: str | None, *, platforms: bool, sends: str | None = None
) -> dict[str, PlatformSettings]:
    """The instances to build: what is switched on (only `only`, when given), `sends`, and the terminal always.

    Raises `ConfigError`.
    """
    found = {name: p for name, p in snapshot.platforms.items() if p.enabled and p.type != "terminal"}
    for wanted in {only, sends} - {None}:
        if wanted not in found:
            known = ", ".join(sorted(found)) or "none"
            raise ConfigError(f"platforms.{wanted} is not set up or not enabled; enabled are: {known}.")
    chosen = {n: p for n, p in found.items() if n == sends or (platforms and only in (None, n))}
    terminal = next((p for p in snapshot.platforms.values() if p.type == "terminal"), None)
    chosen["terminal"] = terminal or PlatformSettings(type="terminal")
    return chosen


async def build_core(
    home: Home,
    settings: LiveSettings,
    store: Store,
    clock: Clock,
    chosen: dict[str, PlatformSettings],
    *,
    unheard: Collection[str] = (),
) -> Core:
    """Build all parts; nothing runs yet. Raises `ConfigError` and what adapters raise when they are built.

    unheard: instances of `chosen` that are only sent to.
    """
    snapshot = settings.current()
    targets = _target_reader(chosen)
    media = MediaFolder(home, wiring.kind_of)
    contexts = {name: _context(name, home, snapshot, clock, targets) for name in chosen}
    keep = keep_in(media, lambda: media_rules(settings.current()))
    adapters = {
        name: wiring.build_adapter(p, replace(contexts[name], stored=media.path, keep=keep))
        for name, p in chosen.items()
    }
    thinking = await wiring.build_host(store, settings, home, clock, files=OutgoingFiles(media))
    platforms = Platforms(adapters, targets, frozenset(unheard), media)
    return await join(settings, store, clock, thinking, platforms)


async def join(
    settings: LiveSettings, store: Store, clock: Clock, thinking: wiring.Thinking, platforms: Platforms
) -> Core:
    """Join the gateway's own parts to a thinking side and adapters."""
    ground = await _ground(settings, store, clock, thinking, platforms)
    delivery, directory = _delivery(ground), ground.directory
    pairings = await Pairings.load(store)
    linking = await _linking(ground, pairings, delivery)
    readers, keeping = ChosenReaders(settings), _keeping(ground)
    parts = _parts(ground, delivery, linking, _fetching(ground, keeping, readers))
    turns = Turns(parts)
    sessions = Sessions(parts, turns, await Modes.load(store))
    heard = {name: a for name, a in platforms.adapters.items() if delivery.hears(name)}
    supervisor = Supervisor(heard, clock, delivery.connected)
    way_in = _way_in(ground, parts, sessions, pairings, supervisor)
    outbound = Outbound(
        store, delivery, clock, lambda text, origin: directory.resolve(platforms.targets(text), origin)
    )
    thinking.errands.join(outbound, directory)
    return Core(
        store=store,
        settings=settings,
        thinking=thinking,
        agents=parts.agents,
        adapters=platforms.adapters,
        delivery=delivery,
        feeds=parts.feeds,
        turns=turns,
        sessions=sessions,
        pairings=pairings,
        linking=linking,
        supervisor=supervisor,
        intakes={name: InstanceIntake(name, way_in) for name in platforms.adapters},
        parts=parts,
        outbound=outbound,
        directory=directory,
        media=ground.media,
        keeping=keeping,
        readers=readers,
    )


@dataclass(frozen=True, slots=True)
class _Ground:
    """What all parts stand on."""

    settings: LiveSettings
    store: Store
    clock: Clock
    thinking: wiring.Thinking
    platforms: Platforms
    current: Current
    media: MediaFolder
    directory: Directory


async def _ground(
    settings: LiveSettings, store: Store, clock: Clock, thinking: wiring.Thinking, platforms: Platforms
) -> _Ground:
    adapters = platforms.adapters
    media = platforms.media or MediaFolder(Home(settings.current().home), wiring.kind_of)
    directory = await Directory.load(
        store, lambda name: name in adapters and adapters[name].capabilities.names
    )
    current = Current(settings, _with_files(platforms, settings.current()))
    return _Ground(settings, store, clock, thinking, platforms, current, media, directory)


def _delivery(g: _Ground) -> Delivery:
    return Delivery(
        g.store,
        g.platforms.adapters,
        g.clock,
        g.current.delivery,
        unheard=g.platforms.unheard,
        places=Places(g.media.path, g.directory.resolve),
    )


async def _linking(g: _Ground, pairings: Pairings, delivery: Delivery) -> Linking:
    rights = Rights(
        pairings,
        await People.load(g.store),
        rules=g.current.door,
        per_person=g.current.is_per_person,
    )
    return Linking(
        rights.people,
        await Codes.load(g.store),
        rights,
        delivery,
        g.clock,
        g.current.say,
        enabled=g.current.may_link,
    )


def _keeping(g: _Ground) -> Keeping:
    return Keeping(
        g.media,
        g.clock,
        g.current.media,
        lambda since: books.files_named(g.store, since),
        lambda digests: books.forget_files(g.store, digests),
    )


def _fetching(g: _Ground, keeping: Keeping, readers: Readers) -> Fetching:
    room = Room(g.media, g.current.media, g.current.say, g.clock)
    telling, fit = Telling(room, readers), g.thinking.host.fitted
    return Fetching(g.store, g.platforms.adapters, room, keeping, telling, fit)


def _parts(g: _Ground, delivery: Delivery, linking: Linking, files: Fetching) -> Parts:
    cache = g.settings.current().get("gateway", GatewaySettings).agent_cache
    return Parts(
        g.store,
        g.thinking.host,
        Agents(g.thinking.host, g.clock, size=cache.size, idle_ttl=cache.idle_ttl),
        delivery,
        Feeds(),
        g.clock,
        g.current.say,
        linking,
        g.current.may,
        g.directory,
        files,
        keep=functools.partial(keep_answer, g.media),
        long_reply=g.current.long_reply,
        live=g.current.live,
        busy=g.current.busy,
    )


def _way_in(
    g: _Ground, parts: Parts, sessions: Sessions, pairings: Pairings, supervisor: Supervisor
) -> IntakeParts:
    return IntakeParts(
        store=g.store,
        sessions=sessions,
        delivery=parts.delivery,
        feeds=parts.feeds,
        pairings=pairings,
        linking=parts.linking,
        rates=RateBook(),
        clock=g.clock,
        rules=g.current.door,
        route=lambda event: g.current.route(event, parts.linking.rights),
        say=g.current.say,
        report=supervisor,
        directory=g.directory,
        edits=g.current.edits,
    )


def _with_files(platforms: Platforms, snapshot: Snapshot) -> frozenset[str]:
    """The instances whose messages may consist of files alone: they can be fetched, or come inside of the request."""
    within = {name for name, p in snapshot.platforms.items() if p.type == "api"}
    return frozenset(
        n for n, a in platforms.adapters.items() if n in within or isinstance(a, FetchingAdapter)
    )


def _target_reader(chosen: dict[str, PlatformSettings]) -> Callable[[str], Target]:
    def read(text: str) -> Target:
        target = parse_target(text)
        if target.instance in (HOME, ORIGIN):
            return target
        if target.instance not in (known := receivers(chosen)):
            there = ", ".join(known) or "none"
            raise ConfigError(
                f"the target {text!r} names no platform that can be sent to; there are: {there}"
            )
        return target

    return read


def _context(
    name: str, home: Home, snapshot: Snapshot, clock: Clock, targets: Callable[[str], Target]
) -> AdapterContext:
    limits = snapshot.get("gateway", GatewaySettings).limits
    return AdapterContext(
        instance=name,
        clock=clock,
        network=wiring.network(snapshot),
        http=HttpLimits(body=limits.http_body),
        files=home.root / "platforms" / name,
        commands=menu(),
        targets=targets,
    )
