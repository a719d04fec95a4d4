"""Which models the settings choose, and the providers as they are set up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from agent_core.models.limits import Limits
from agent_core.models.providers import PROVIDERS, Models, ProviderConfig, find_ollama, list_models
from agent_core.settings import LLM, Agents, LocalModelSettings, Provider
from hermes.config import Network, SettingsSource, Snapshot
from hermes.errors import ModelError
from hermes.home import Home
from hermes.model import Model, Task

if TYPE_CHECKING:
    from agent_core.models.local.model import LocalModel

__all__ = [
    "PROVIDER_NAMES",
    "ChosenModels",
    "ProviderState",
    "offered_models",
    "provider_config",
    "providers",
]

log = structlog.get_logger("agent_core.models")


class ChosenModels:
    """The model of each agent, as the settings say at that moment.

    `network`: how clients reach the outside by a snapshot. `fixed` answers in place of what they choose.
    """

    def __init__(
        self, settings: SettingsSource, network: Callable[[Snapshot], Network], fixed: Model | None = None
    ) -> None:
        self._settings = settings
        self._network = network
        self._fixed = fixed
        self._clients = Models()
        self._found: ProviderConfig | None = None
        self._embedded = False
        self._local: list[tuple[LocalModelSettings, LocalModel]] = []

    def __call__(self, agent_id: str, name: str | None = None) -> Model:
        """The model for an agent, or the one called `name`. Raises `ModelError` (kind "config")."""
        if self._fixed is not None:
            return self._fixed
        snapshot = self._settings.current()
        llm = snapshot.get("llm", LLM)
        if self._is_local(llm):
            return self._local_model(snapshot)
        if not llm.provider and self._found is not None:
            return self._clients.get(replace(self._found, model=name or self._found.model))
        chosen = name or snapshot.get("agents", Agents).entry(agent_id).model or llm.model
        return self._clients.get(provider_config(snapshot, chosen, self._network(snapshot)))

    def full_name(self, agent_id: str, name: str | None = None) -> str:
        """`provider/model` that would answer; empty where none is set up. The embedded model cannot be another."""
        snapshot = self._settings.current()
        llm = snapshot.get("llm", LLM)
        if self._is_local(llm):
            from agent_core.models.local.model import model_name

            return f"local/{model_name(llm.local)}"
        if not llm.provider and self._found is not None:
            return f"{self._found.provider}/{name or self._found.model}"
        chosen = name or snapshot.get("agents", Agents).entry(agent_id).model or llm.model
        return "/".join(word for word in (llm.provider, chosen) if word)

    def _is_local(self, llm: LLM) -> bool:
        return llm.provider == "local" or (not llm.provider and self._embedded and llm.local.automatic)

    def auxiliary(self, task: Task, agent_id: str) -> Sequence[Model]:
        """See `HostParts.auxiliary`."""
        llm = self._settings.current().get("llm", LLM)
        if self._fixed is None and self._is_local(llm):
            return ()
        try:
            return (self(agent_id),)
        except ModelError:
            return ()

    async def prepare(self) -> None:
        """Set up what the default model's first call needs, off the loop.

        Without a provider an Ollama on this machine is used, else the embedded model where it is installed.
        """
        if self._fixed is not None:
            return
        snapshot = self._settings.current()
        llm = snapshot.get("llm", LLM)
        try:
            if not llm.provider:
                self._found = await _ollama(self._network(snapshot))
                self._embedded = self._found is None and await asyncio.to_thread(_has_local, llm.local)
            if llm.provider == "local" or self._embedded:
                await asyncio.to_thread(_local_models, llm.local)
                return  # unpacked and started when it is first asked
            config = self._found or provider_config(snapshot, llm.model, self._network(snapshot))
            await self._clients.get(config).prepare()
        except ModelError as error:
            log.warning("model.not_ready", error=str(error))

    async def aclose(self) -> None:
        """Close all clients, and end the embedded model."""
        local, self._local = self._local, []
        for _, model in local:
            await model.aclose()
        await self._clients.aclose()

    def _local_model(self, snapshot: Snapshot) -> LocalModel:
        """The embedded model with these settings. One with former settings ends by itself when it is idle."""
        from agent_core.models.local.model import LocalModel, Setup

        own = snapshot.get("llm", LLM).local
        known = next((model for made_for, model in self._local if made_for == own), None)
        if known is None:
            known = LocalModel(own, Setup(Home(snapshot.home).models))
            self._local.append((own, known))
        return known


def _has_local(own: LocalModelSettings) -> bool:
    if not own.automatic:
        return False
    from agent_core.models.local import bundled

    found = bundled.is_installed()
    if found:
        log.info("model.embedded", model=bundled.NAME)
    return found


async def _ollama(network: Network) -> ProviderConfig | None:
    """The first model of an Ollama on this machine, if one runs."""
    names = await find_ollama()
    if not names:
        return None
    log.info("model.ollama_found", model=names[0])
    return ProviderConfig("ollama", names[0], network=network)


def provider_config(snapshot: Snapshot, model: str, network: Network) -> ProviderConfig:
    """The chosen provider as its client wants it. Raises `ModelError` (kind "config") when none is chosen."""
    llm = snapshot.get("llm", LLM)
    provider = llm.chosen()
    if provider is None:
        raise ModelError("No model is set up; choose one with `hermes model`.", kind="config")
    t = llm.timeouts
    return ProviderConfig(
        llm.provider,
        model,
        provider.base_url,
        provider.api_key.get_secret_value() if provider.api_key else None,
        {name: value.get_secret_value() for name, value in provider.headers.items()},
        llm.context_length,
        llm.max_tokens,
        llm.temperature,
        limits=Limits(connect=t.connect, first_byte=t.first_byte, silence=t.silence),
        network=network,
    )


PROVIDER_NAMES = (*PROVIDERS, "local")


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider of models as it is set up. `base_url` is empty where one is needed and none is given."""

    name: str
    base_url: str
    needs_key: bool
    has_key: bool
    chosen: bool


def providers(snapshot: Snapshot) -> list[ProviderState]:
    """All that are known, in their table's order."""
    llm = snapshot.get("llm", LLM)
    found = []
    for name, known in PROVIDERS.items():
        own: Provider = getattr(llm, name)
        url = own.base_url or known.base_url
        found.append(ProviderState(name, url, known.needs_key, own.api_key is not None, llm.provider == name))
    embedded = ProviderState(
        "local", "embedded", needs_key=False, has_key=False, chosen=llm.provider == "local"
    )
    return [*found, embedded]


async def offered_models(snapshot: Snapshot, name: str, network: Network) -> list[str]:
    """The models that a provider offers with its own settings. Raises `ModelError` within a few seconds."""
    if name == "local":
        return await asyncio.to_thread(_local_models, snapshot.get("llm", LLM).local)
    own: Provider = getattr(snapshot.get("llm", LLM), name)
    config = ProviderConfig(
        name,
        base_url=own.base_url,
        api_key=own.api_key.get_secret_value() if own.api_key else None,
        headers={header: value.get_secret_value() for header, value in own.headers.items()},
        limits=Limits(connect=3.0, first_byte=10.0, silence=10.0),
        network=network,
    )
    return await list_models(config)


def _local_models(own: LocalModelSettings) -> list[str]:
    from agent_core.models.local.bundled import require
    from agent_core.models.local.model import model_name

    require(own.model_file)
    return [model_name(own)]
