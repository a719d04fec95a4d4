"""The daemon's parts, joined in the order in which they stand on each other; started and stopped by `app`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from gateway import wiring
from gateway.agents import Agents
from gateway.codes import Codes
from gateway.commands import menu
from gateway.config.live import LiveSettings
from gateway.delivery import Delivery, Places
from gateway.directory import Directory
from gateway.door import DoorRules, RateBook
from gateway.fate import DeliveryRules
from gateway.feeds import Feeds
from gateway.intake import InstanceIntake, IntakeParts
from gateway.linking import Linking
from gateway.live import LiveRules
from gateway.media.fetching import Fetching
from gateway.media.folder import MediaFolder
from gateway.media.keeping import Keeping
from gateway.media.outgoing import OutgoingFiles, keep_answer
from gateway.media.readers import ChosenReaders
from gateway.media.rules import MediaRules, Room, keep_in
from gateway.media.telling import Readers, Telling
from gateway.modes import Modes
from gateway.outbound import Outbound
from gateway.pairing import Pairings
from gateway.parts import Parts
from gateway.people import People
from gateway.replies import LongReply
from gateway.rights import Rights
from gateway.router import HOME, ORIGIN, Route, SharingRules, parse_target, route
from gateway.sentences import say
from gateway.sessions import Sessions
from gateway.settings import (
    Bindings,
    Busy,
    Display,
    GatewaySettings,
    MediaSettings,
    PeopleSettings,
    RoleSettings,
)
from gateway.supervisor import Supervisor
from gateway.turns import Turns
from hermes.adapter import Adapter, AdapterContext, FetchingAdapter, HttpLimits
from hermes.clock import Clock
from hermes.config import PlatformSettings, Snapshot
from hermes.errors import ConfigError
from hermes.events import Event, Role, Target
from hermes.home import Home
from hermes.store import Store

__all__ = ["Core", "Platforms", "build_core", "choose_agent", "enabled", "join"]


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


def choose_agent(event: Event, bindings: Bindings, default: str) -> str:
    """The agent of the first binding that fits, else the default one. Pure."""
    for rule in bindings.rules:
        wanted = (
            (rule.platform, event.instance),
            (rule.account, event.account),
            (rule.chat, event.chat),
            (rule.thread, event.thread),
            (rule.sender, event.sender.id),
        )
        if all(want is None or want == have for want, have in wanted):
            return rule.agent
    return default


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
    keep = keep_in(media, lambda: _media_rules(settings.current()))
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
    adapters = platforms.adapters
    rules = settings.current().get("gateway", GatewaySettings)

    def sentence(key: str, /, **fields: Any) -> str:
        return say(wiring.language(settings.current()), key, **fields)

    feeds = Feeds()
    agents = Agents(thinking.host, clock, size=rules.agent_cache.size, idle_ttl=rules.agent_cache.idle_ttl)
    media = platforms.media or MediaFolder(Home(settings.current().home), wiring.kind_of)
    directory = await Directory.load(
        store, lambda name: name in adapters and adapters[name].capabilities.names
    )
    delivery = Delivery(
        store,
        adapters,
        clock,
        lambda: _delivery_rules(settings.current()),
        unheard=platforms.unheard,
        places=Places(media.path, directory.resolve),
    )

    def live() -> LiveRules:
        return _live_rules(settings.current())

    def busy(instance: str) -> Busy:
        return _busy_mode(settings.current(), instance)

    pairings = await Pairings.load(store)
    has_files = _with_files(platforms, settings.current())

    def door(instance: str) -> DoorRules:
        return _door_rules(settings.current(), instance, fetches=instance in has_files)

    rights = Rights(
        pairings,
        await People.load(store),
        rules=door,
        per_person=lambda: settings.current().get("gateway", GatewaySettings).sessions.dm == "per_person",
    )
    linking = Linking(
        rights.people,
        await Codes.load(store),
        rights,
        delivery,
        clock,
        sentence,
        enabled=lambda: settings.current().get("people", PeopleSettings).link,
    )

    def may(role: Role) -> RoleSettings:
        return settings.current().get("people", PeopleSettings).may(role)

    def media_rules() -> MediaRules:
        return _media_rules(settings.current())

    readers = ChosenReaders(settings)
    room = Room(media, media_rules, sentence, clock)
    keeping = Keeping(
        media,
        clock,
        media_rules,
        lambda since: wiring.files_named(store, since),
        lambda digests: wiring.forget_files(store, digests),
    )
    files = Fetching(store, adapters, room, keeping, Telling(room, readers))
    parts = Parts(
        store,
        thinking.host,
        agents,
        delivery,
        feeds,
        clock,
        sentence,
        linking,
        may,
        directory,
        files,
        keep=functools.partial(keep_answer, media),
        long_reply=lambda: _long_reply(settings.current()),
        live=live,
        busy=busy,
    )
    turns = Turns(parts)
    sessions = Sessions(parts, turns, await Modes.load(store))
    supervisor = Supervisor(
        {n: a for n, a in adapters.items() if delivery.hears(n)}, clock, delivery.connected
    )
    way_in = IntakeParts(
        store=store,
        sessions=sessions,
        delivery=delivery,
        feeds=feeds,
        pairings=pairings,
        linking=linking,
        rates=RateBook(),
        clock=clock,
        rules=door,
        route=lambda event: _route(settings.current(), event, rights),
        say=sentence,
        report=supervisor,
        directory=directory,
        edits=lambda: settings.current().get("gateway", GatewaySettings).edits,
    )
    outbound = Outbound(
        store, delivery, clock, lambda text, origin: directory.resolve(platforms.targets(text), origin)
    )
    thinking.errands.join(outbound, directory)
    return Core(
        store=store,
        settings=settings,
        thinking=thinking,
        agents=agents,
        adapters=adapters,
        delivery=delivery,
        feeds=feeds,
        turns=turns,
        sessions=sessions,
        pairings=pairings,
        linking=linking,
        supervisor=supervisor,
        intakes={name: InstanceIntake(name, way_in) for name in adapters},
        parts=parts,
        outbound=outbound,
        directory=directory,
        media=media,
        keeping=keeping,
        readers=readers,
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
        if target.instance not in chosen or chosen[target.instance].type in ("webhook", "api", "terminal"):
            known = ", ".join(n for n, p in chosen.items() if p.type not in ("webhook", "api", "terminal"))
            raise ConfigError(
                f"the target {text!r} names no platform that can be sent to; there are: {known or 'none'}"
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


def _delivery_rules(snapshot: Snapshot) -> DeliveryRules:
    d = snapshot.get("gateway", GatewaySettings).delivery
    return DeliveryRules(d.on_unknown, d.attempts)


def _busy_mode(snapshot: Snapshot, instance: str) -> Busy:
    platform = snapshot.platforms.get(instance)
    own = platform.busy if platform is not None else None
    return own or snapshot.get("gateway", GatewaySettings).sessions.busy


def _live_rules(snapshot: Snapshot) -> LiveRules:
    display = snapshot.get("display", Display)
    return LiveRules(display.live, display.tool_progress)


def _long_reply(snapshot: Snapshot) -> LongReply:
    display = snapshot.get("display", Display)
    return LongReply(display.long_reply_after if display.long_reply == "file" else None)


def _media_rules(snapshot: Snapshot) -> MediaRules:
    media = snapshot.get("media", MediaSettings)
    return MediaRules(media.largest, media.files, media.documents, media.characters, media.quota, media.keep)


def _door_rules(snapshot: Snapshot, instance: str, *, fetches: bool) -> DoorRules:
    limits = snapshot.get("gateway", GatewaySettings).limits
    platform = snapshot.platforms.get(instance)
    free = platform is not None and platform.type in ("webhook", "api", "terminal")
    return DoorRules(
        allow_from=None if platform is None else platform.allow_from,
        rate=None if free else limits.rate,
        backlog=limits.backlog,
        chars=limits.message_chars if not free else max(limits.message_chars, limits.http_body),
        fetches=fetches,
    )


def _route(snapshot: Snapshot, event: Event, rights: Rights) -> Route:
    shared = snapshot.get("gateway", GatewaySettings).sessions
    agent = choose_agent(event, snapshot.get("bindings", Bindings), wiring.agent_ids(snapshot)[0])
    return route(event, SharingRules(shared.group, shared.thread), agent, rights.shared(event))
