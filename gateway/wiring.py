"""Who is joined to whom.

The only module that knows adapters, the thinking side and the tools (`books` knows its tables); nothing here decides anything.

Choices are "module:name" strings, imported only when chosen, so that what is off costs nothing.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

from agent_core.figures import Figures
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
from agent_core.settings import Agents, Language
from agent_core.sight import Sight
from agent_core.store.behind import Behind
from agent_core.store.search import search
from agent_core.titles import Titles
from gateway.errands import Errands
from gateway.people import places_seen_from
from gateway.router import key_at, place_of
from gateway.settings import GatewaySettings, MediaSettings, NetworkSettings, PeopleSettings
from hermes.adapter import Account, Adapter, AdapterContext
from hermes.clock import Clock
from hermes.config import Network, PlatformSettings, Schema, SettingsSource, Snapshot
from hermes.errors import ConfigError, HomeError
from hermes.files import FileKind
from hermes.home import Home
from hermes.messages import JSONObject
from hermes.model import Model
from hermes.reading import ReadDocument
from hermes.services import FileKeeper, SearchHit, Services
from hermes.store import Store
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
    "document_reader",
    "fallbacks",
    "kind_of",
    "language",
    "network",
    "offered_models",
    "providers",
    "slack_manifest",
    "transcriber",
    "unusable",
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


def kind_of(head: bytes, name: str) -> tuple[FileKind, str]:
    """What a file is that begins with `head`. To be called in threads: the first time its tables are read."""
    from media import kinds

    return kinds.kind_of(head, name)


def _size_of(head: bytes) -> tuple[int, int] | None:
    from media.pictures import size_of

    return size_of(head)


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
