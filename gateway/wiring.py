"""Who is joined to whom.

The only module that knows adapters, the thinking side and the tools; nothing here decides anything.

Choices are "module:name" strings, imported only when chosen, so that what is off costs nothing.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from urllib.parse import unquote

from agent_core import forget, usage
from agent_core.figures import Figures
from agent_core.forget import Forgotten
from agent_core.host import Host
from agent_core.models import inventory
from agent_core.models.chosen import ChosenModels
from agent_core.models.inventory import (
    PROVIDER_NAMES,
    ProviderState,
    auxiliaries,
    fallbacks,
    providers,
    unusable,
)
from agent_core.parts import HostParts
from agent_core.settings import LLM, Agents, Language
from agent_core.sight import Sight
from agent_core.store import files
from agent_core.store.behind import Behind, transcript_lines
from agent_core.store.calls import GROUPS, Group, prune_calls
from agent_core.store.copies import close_turns, copy_online, counts, look_at_copy, sessions_in
from agent_core.store.database import SqliteStore
from agent_core.store.doctor import mend_transcripts
from agent_core.store.index import ensure_current
from agent_core.store.jsonl import transcript_path
from agent_core.store.retention import Rules as StepRules
from agent_core.store.retention import prune as prune_steps
from agent_core.store.schema import PART as AGENT_PART
from agent_core.store.search import search
from agent_core.store.sessions import rename
from agent_core.titles import Titles
from gateway import forgetting
from gateway.errands import Errands
from gateway.kept import copies
from gateway.media.keeping import Named, all_named_by_gateway, held_by_gateway
from gateway.people import places_seen_from
from gateway.router import key_at, place_of
from gateway.schema import PART as GATEWAY_PART
from gateway.settings import GatewaySettings, MediaSettings, NetworkSettings, PeopleSettings
from hermes.adapter import Account, Adapter, AdapterContext
from hermes.clock import Clock
from hermes.config import Network, PlatformSettings, Schema, SettingsSource, Snapshot
from hermes.errors import ConfigError, HermesError, HomeError
from hermes.files import FileKind
from hermes.home import Home
from hermes.messages import JSONObject
from hermes.model import Model
from hermes.reading import ReadDocument
from hermes.services import FileKeeper, SearchHit, Services
from hermes.store import Job, Store
from hermes.tools import ToolBox
from hermes.voice import Transcribe, VoiceSettings
from tools.registry import find
from tools.settings import ToolsSettings
from tools.toolsets import ToolSelection

__all__ = [
    "PROVIDER_NAMES",
    "SCHEMA",
    "ChosenModels",
    "ProviderState",
    "agent_ids",
    "auxiliaries",
    "build_adapter",
    "build_host",
    "check_account",
    "check_folder",
    "close_turns",
    "copy_online",
    "counts",
    "document_reader",
    "examine",
    "fallbacks",
    "files_named",
    "forget_files",
    "forget_sessions",
    "kind_of",
    "known_schemas",
    "language",
    "look_at_copy",
    "look_at_store",
    "make_fit",
    "network",
    "offered_models",
    "open_store",
    "providers",
    "pruners",
    "rename_session",
    "session_page",
    "slack_manifest",
    "transcriber",
    "unusable",
    "usage_report",
]

SCHEMA = Schema(
    sections={
        "llm": "agent_core.settings:LLM",
        "gateway": "gateway.settings:GatewaySettings",
        "agents": "agent_core.settings:Agents",
        "bindings": "gateway.settings:Bindings",
        "people": "gateway.settings:PeopleSettings",
        "media": "gateway.settings:MediaSettings",
        "agent": "agent_core.settings:AgentSettings",
        "tools": "tools.settings:ToolsSettings",
        "retention": "gateway.settings:Retention",
        "network": "gateway.settings:NetworkSettings",
        "logging": "gateway.settings:Logging",
        "display": "gateway.settings:Display",
        "language": "agent_core.settings:Language",
    },
    platforms={
        "telegram": "adapters.telegram.settings:TelegramSettings",
        "discord": "adapters.discord.settings:DiscordSettings",
        "slack": "adapters.slack.settings:SlackSettings",
        "email": "adapters.email.settings:EmailSettings",
        "webhook": "adapters.webhook.settings:WebhookSettings",
        "api": "adapters.api.settings:ApiSettings",
        "terminal": "adapters.terminal.settings:TerminalSettings",
    },
)

_BUILDERS: Mapping[str, str] = {
    "telegram": "adapters.telegram.adapter:build",
    "discord": "adapters.discord.adapter:build",
    "slack": "adapters.slack.adapter:build",
    "email": "adapters.email.adapter:build",
    "webhook": "adapters.webhook.adapter:build",
    "api": "adapters.api.adapter:build",
    "terminal": "adapters.terminal.adapter:build",
}

_CHECKS: Mapping[str, str] = {
    "telegram": "adapters.telegram.check:check",
    "discord": "adapters.discord.check:check",
    "slack": "adapters.slack.check:check",
    "email": "adapters.email.check:check",
}
"""Asks a platform whether what is set up for it holds."""

_PACKAGES = ("hermes", "gateway", "agent_core", "adapters", "media", "tools", "skills")


def check_folder() -> None:
    """See that the seven packages are ours, in one folder, and not others of the same names.

    Raises `HomeError`.
    """
    folders = {
        name: Path(str(importlib.import_module(name).__file__)).resolve().parent.parent for name in _PACKAGES
    }
    if len(set(folders.values())) > 1:
        places = ", ".join(f"{name} in {folder}" for name, folder in folders.items())
        raise HomeError(
            f"Hermes is installed in pieces ({places}); install it into an environment of its own."
        )


async def open_store(home: Home) -> SqliteStore:
    """The store with everybody's tables."""
    store = await SqliteStore.open(home.state, [AGENT_PART, GATEWAY_PART])
    try:
        await ensure_current(store)
    except BaseException:
        await store.aclose()
        raise
    return store


def known_schemas() -> dict[str, int]:
    """The schema versions that this program brings a database to."""
    return {part.name: len(part.steps) for part in (AGENT_PART, GATEWAY_PART)}


async def make_fit(home: Home, *jobs: Job) -> list[Any]:
    """Bring the database of a folder that nobody uses to this program's schema, run the jobs, make transcripts agree.

    The jobs' results. Transcripts of conversations that the database does not have are removed.
    """
    store = await open_store(home)
    try:
        results = await store.write(*jobs) if jobs else []
        known = {
            transcript_path(home.root, a, s) for a, s in await asyncio.to_thread(sessions_in, home.state)
        }
        await asyncio.to_thread(_remove_unknown, home, known)
        await mend_transcripts(store, home.root)
    finally:
        await store.aclose()
    return results


def _remove_unknown(home: Home, known: set[Path]) -> None:
    for path in home.root.glob("agents/*/sessions/*.jsonl"):
        if path not in known:
            path.unlink()


def network(snapshot: Snapshot) -> Network:
    """How clients reach the outside."""
    return snapshot.get("network", NetworkSettings).for_clients(Home(snapshot.home))


def language(snapshot: Snapshot) -> str:
    """The language of the system's own sentences."""
    return snapshot.get("language", Language).name or "en"


def agent_ids(snapshot: Snapshot) -> tuple[str, ...]:
    """The agents, the default one first."""
    return snapshot.get("agents", Agents).names()


async def offered_models(snapshot: Snapshot, name: str) -> list[str]:
    """The models that a provider offers with its own settings. Raises `ModelError` within a few seconds."""
    return await inventory.offered_models(snapshot, name, network(snapshot))


async def examine(home: Home, *, fix: bool) -> list[JSONObject]:
    """What `hermes doctor` finds in the store, after mending where `fix`. The caller holds the home's lock.

    Each has `name`, `ok`, `detail`, `fixable`. Raises `StoreError`.
    """
    from agent_core.store import doctor

    if fix:
        store = await open_store(home)
        found = await doctor.check(store, home.root)
        await store.aclose()
        if any(f.name == "index" and not f.ok for f in found):
            await asyncio.to_thread(doctor.mend_index, home.state)
    store = await open_store(home)
    try:
        if fix:
            await doctor.mend_transcripts(store, home.root)
        return [
            *(asdict(finding) for finding in await doctor.check(store, home.root)),
            *await _look_at_files(store, home),
        ]
    finally:
        await store.aclose()


async def look_at_store(store: Store, home: Home) -> list[JSONObject]:
    """What `hermes doctor` finds in a store that is in use; nothing is mended."""
    from agent_core.store import doctor

    return [
        *(asdict(finding) for finding in await doctor.check(store, home.root)),
        *await _look_at_files(store, home),
    ]


async def _look_at_files(store: Store, home: Home) -> list[JSONObject]:
    """Whether the files are there which something open needs; others go by age and quota. Nothing where there are none."""
    named = await files_named(store, 0.0)
    lying = await asyncio.to_thread(lambda: {p.name for p in home.media.glob("??/*")})
    if not lying and not named.held and not named.recent:
        return []
    lost, gone = set(named.held) - lying, set(named.recent) - set(named.held) - lying
    if lost:
        detail = (
            f"{len(lost)} files that a waiting message, a running turn or an unsent reply needs are missing."
        )
    else:
        passed = f"; {len(gone)} of earlier messages are no longer kept" if gone else ""
        detail = f"All files that are needed are there ({len(lying)} are kept{passed})."
    return [{"name": "files", "ok": not lost, "detail": detail, "fixable": False}]


async def forget_sessions(
    store: Store, home: Home, sessions: Sequence[str], now: float
) -> tuple[list[Forgotten], list[Path]]:
    """Forget conversations everywhere; what was forgotten, and the copies that still hold it."""
    if not isinstance(store, SqliteStore):
        raise TypeError("only the store of `open_store` can forget")
    sent: set[str] = set()
    companion = functools.partial(forgetting.forget, files=sent.update)
    found, kept = await forget.forget_sessions(store, home, sessions, now, [companion])
    named = sorted(sent.union(*(gone.files for gone in found)))
    if named:
        still = await files.still_named(store, named) | await all_named_by_gateway(store)
        await asyncio.to_thread(_remove_media, home, set(named) - still)
    return found, [*kept, *await asyncio.to_thread(copies, home)]


def _remove_media(home: Home, digests: set[str]) -> None:
    for digest in digests:
        home.lying(digest).unlink(missing_ok=True)


async def files_named(store: Store, since: float) -> Named:
    """The files that are needed still, and those of messages since then."""
    held = await held_by_gateway(store) | await files.named_by_open_turns(store)
    return Named(held, await files.named_since(store, since))


async def forget_files(store: Store, digests: Sequence[str]) -> None:
    """What was found out about files that are gone."""
    await store.write(files.forget_captions(digests))


def kind_of(head: bytes, name: str) -> tuple[FileKind, str]:
    """What a file is that begins with `head`. To be called in threads: the first time its tables are read."""
    from media import kinds

    return kinds.kind_of(head, name)


def _size_of(head: bytes) -> tuple[int, int] | None:
    from media.pictures import size_of

    return size_of(head)


async def session_page(store: Store, session_id: str, after: int) -> list[tuple[int, str]]:
    """The next lines of a conversation's transcript after message `after`, each with its message's id."""
    return await transcript_lines(store, session_id, after)


def rename_session(session_id: str, title: str) -> Job:
    """A job that names a conversation; its result is the title it got. Raises `ValueError`, `LookupError`."""
    return rename(session_id, title)


class _Search:
    """The search service of tools.

    A session sees its own past, and where a person's accounts share one, that of each of them; the terminal, which is
    the owner's, sees all.
    """

    def __init__(self, store: Store, settings: SettingsSource) -> None:
        self._store = store
        self._settings = settings

    async def search(self, query: str, *, session_key: str, limit: int = 10) -> Sequence[SearchHit]:
        owner = session_key.split(":")[4:5] == ["terminal"]
        keys = None if owner else await self._seen_from(session_key)
        hits = await search(self._store, query, limit=limit, session_keys=keys)
        return [SearchHit(h.session_id, h.title, h.role, h.at, h.snippet) for h in hits]

    async def _seen_from(self, session_key: str) -> Sequence[str]:
        shared = self._settings.current().get("gateway", GatewaySettings).sessions.dm == "per_person"
        if not shared:
            return (session_key,)
        agent_id = unquote(session_key.split(":", 2)[1])
        return [key_at(agent_id, p) for p in await places_seen_from(self._store, place_of(session_key))]


@dataclass(frozen=True, slots=True)
class Thinking:
    """The thinking side, joined: the host, its models, the writer of transcripts, who gives titles, what was used.

    errands: takes what agents send elsewhere, once the gateway is joined to it.
    """

    host: Host
    models: ChosenModels
    behind: Behind
    titles: Titles
    figures: Figures
    errands: Errands


async def build_host(
    store: Store,
    settings: SettingsSource,
    home: Home,
    clock: Clock,
    model: Model | None = None,
    *,
    files: FileKeeper | None = None,
) -> Thinking:
    """The thinking side over the store; `model` answers in place of what the settings choose.

    files: keeps what tools give out.
    """
    models = ChosenModels(settings, network, clock, model)
    found = await asyncio.to_thread(find, home.tools)
    behind = Behind(store, home.root, clock)
    titles = Titles(store, settings, models.auxiliary, clock, behind.note)
    figures = Figures(store, settings, clock)
    await figures.begin()
    errands = Errands(lambda: settings.current().get("tools", ToolsSettings).send_to)
    toolbox: ToolBox = ToolSelection(
        found.tools,
        settings,
        of_agent=lambda agent_id: settings.current().get("agents", Agents).entry(agent_id).toolsets,
        of_platform=lambda platform: _platform_toolsets(settings.current(), platform),
        of_role=lambda role: settings.current().get("people", PeopleSettings).may(role).toolsets,
    )
    parts = HostParts(
        store=store,
        model=models,
        model_name=models.full_name,
        chain=models.chain,
        auxiliary=models.auxiliary,
        titles=titles,
        sight=Sight(
            store,
            home.stored,
            lambda: settings.current().get("media", MediaSettings).images,
            models.auxiliary,
            clock,
            _size_of,
        ),
        toolbox=toolbox,
        services=Services(home.spills, _Search(store, settings), errands, files=files),
        settings=settings,
        clock=clock,
        home=home,
        workspace=lambda: settings.current().get("tools", ToolsSettings).workspace,
        result_chars=lambda: settings.current().get("tools", ToolsSettings).result_chars,
        behind=behind,
    )
    return Thinking(Host(parts), models, behind, titles, figures, errands)


def _platform_toolsets(snapshot: Snapshot, platform: str) -> tuple[str, ...] | None:
    """What the settings of the platform's instances allow.

    With several instances, what each of them allows is united.
    """
    found = [p.toolsets for p in snapshot.platforms.values() if p.type == platform and p.toolsets is not None]
    return tuple(dict.fromkeys(name for names in found for name in names)) if found else None


async def check_account(snapshot: Snapshot, instance: str) -> Account | None:
    """Ask the platform about an instance's credentials; `None` where there is nobody to ask.

    Raises `AdapterError`: `Unauthorized` when they are refused, `Unreachable`.
    """
    settings = snapshot.platforms[instance]
    where = _CHECKS.get(settings.type)
    if where is None:
        return None
    module, _, name = where.partition(":")
    check: Callable[[PlatformSettings, Network], Awaitable[Account]] = getattr(
        _imported(module, settings, instance), name
    )
    return await check(settings, network(snapshot))


def build_adapter(settings: PlatformSettings, context: AdapterContext) -> Adapter:
    """The adapter for one instance; its SDK is imported here and not before."""
    module, _, name = _BUILDERS[settings.type].partition(":")
    found = _imported(module, settings, context.instance)
    build: Callable[[PlatformSettings, AdapterContext], Adapter] = getattr(found, name)
    return build(settings, context)


def document_reader() -> ReadDocument:
    """Reads documents, a few at a time: one for the whole process."""
    from media.documents import Documents

    return Documents().read


def transcriber(settings: VoiceSettings, reached: Network) -> Transcribe | None:
    """Who writes down what was spoken; `None` where nobody is set up. Raises `ModelError` with what is missing."""
    from agent_core.models.connection import Connection, Endpoint
    from agent_core.models.limits import Limits
    from media.voice import Transcriber, voice_of

    voice = voice_of(settings)
    if voice is None:
        return None
    limits = Limits(first_byte=settings.timeout)
    endpoint = Endpoint(voice.provider, voice.base_url, voice.headers, limits, reached)
    return Transcriber(settings, voice, Connection(endpoint))


def slack_manifest(*, name: str, url: str | None, assistant: bool) -> JSONObject:
    """What Slack makes the app from."""
    from adapters.slack.manifest import manifest

    return manifest(name=name, url=url, assistant=assistant)


def _imported(module: str, settings: PlatformSettings, instance: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in _PACKAGES:
            raise
        raise ConfigError(
            f"platforms.{instance} needs the Python package {error.name}; "
            f"install it with: pip install 'hermes-gateway[{settings.type}]'"
        ) from error


def pruners(now: float, *, steps: float, usage: float) -> Sequence[Job]:
    """The thinking side's part of retention; seconds to keep."""
    return prune_steps(now, StepRules(steps=steps / 86_400)), prune_calls(now - usage)


async def usage_report(store: Store, snapshot: Snapshot, since: float, by: Sequence[str]) -> list[JSONObject]:
    """What model calls have used since `since`. Raises `HermesError` for a group that is not known."""
    unknown = [group for group in by if group not in GROUPS]
    if unknown or not by:
        raise HermesError(
            f"Usage can be shown by {', '.join(GROUPS)}; not by {', '.join(unknown) or 'nothing'}."
        )
    groups = [cast("Group", group) for group in by]
    return await usage.report(store, since, groups, usage.own_prices(snapshot.get("llm", LLM)))
