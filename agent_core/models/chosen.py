"""Which models the settings choose, and the providers as they are set up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from agent_core.models.chain import Chain, Rests
from agent_core.models.chat import ChatModel
from agent_core.models.keys import KeyedModel
from agent_core.models.limits import Limits
from agent_core.models.providers import (
    PROVIDERS,
    Models,
    ProviderConfig,
    build_model,
    find_ollama,
    list_models,
)
from agent_core.settings import LLM, Agents, LocalModelSettings, Provider
from hermes.clock import SystemClock
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
    "fallbacks",
    "offered_models",
    "provider_config",
    "providers",
    "standing_in",
    "unusable",
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
        self._rests = Rests(SystemClock())
        self._fixed = fixed
        self._clients = Models()
        self._found: ProviderConfig | None = None
        self._embedded = False
        self._local: list[tuple[LocalModelSettings, LocalModel]] = []

    def __call__(self, agent_id: str, name: str | None = None) -> Model:
        """The model for an agent, or the one called `name`. Raises `ModelError` (kind "config")."""
        if self._fixed is not None:
            return self._fixed
        return self._main(self._settings.current(), agent_id, name)

    def _main(self, snapshot: Snapshot, agent_id: str, name: str | None, *, is_hasty: bool = False) -> Model:
        llm = snapshot.get("llm", LLM)
        if self._is_local(llm):
            return self._local_model(snapshot)
        if not llm.provider and self._found is not None:
            return self._clients.get(replace(self._found, model=name or self._found.model))
        chosen = name or snapshot.get("agents", Agents).entry(agent_id).model or llm.model
        config = replace(self._config(snapshot, llm.provider, chosen), window=llm.context_length)
        return self._clients.get(_hurried(config, llm) if is_hasty else config)

    def _other(self, snapshot: Snapshot, reference: str, *, is_hasty: bool) -> Model:
        """A model named with its provider."""
        provider, _, name = reference.partition("/")
        if provider == "local":
            return self._local_model(snapshot)
        config = self._config(snapshot, provider, name)
        return self._clients.get(_hurried(config, snapshot.get("llm", LLM)) if is_hasty else config)

    def _config(self, snapshot: Snapshot, provider: str, model: str) -> ProviderConfig:
        return provider_config(snapshot, provider, model, self._network(snapshot))

    def chain(self, agent_id: str, name: str | None = None) -> Chain | None:
        """The models of a turn in their order; `None` where none stands behind the first."""
        snapshot = self._settings.current()
        llm = snapshot.get("llm", LLM)
        own = snapshot.get("agents", Agents).entry(agent_id).fallbacks
        fallbacks = llm.fallbacks if own is None else own
        if not fallbacks or self._fixed is not None:
            return None
        wanted = self.full_name(agent_id, name)

        def build(reference: str, is_last: bool) -> Model:
            if reference == wanted:
                return self._main(snapshot, agent_id, name, is_hasty=not is_last)
            return self._other(snapshot, reference, is_hasty=not is_last)

        names = [wanted, *fallbacks] if wanted else list(fallbacks)
        return Chain(names, build, self._rests, rest=llm.fallback_rest, longest=llm.timeouts.total)

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
        if self._fixed is not None:
            return (self._fixed,)
        snapshot = self._settings.current()
        llm = snapshot.get("llm", LLM)
        own: str | None = getattr(llm.auxiliary, task) or llm.auxiliary.model
        builders: list[Callable[[], Model]] = []
        if own and own.partition("/")[0] != "local":
            builders.append(lambda: self._other(snapshot, own, is_hasty=False))
        if not self._is_local(llm):
            builders.append(lambda: self._main(snapshot, agent_id, None))
        return list(dict.fromkeys(_built(builders)))

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
            if self._found is not None:
                await self._clients.get(self._found).prepare()
                return
            first = snapshot.get("agents", Agents).names()[0]
            model = self._main(snapshot, first, None, is_hasty=self.chain(first) is not None)
            if isinstance(model, ChatModel | KeyedModel):
                await model.prepare()
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


def _built(builders: Sequence[Callable[[], Model]]) -> Iterator[Model]:
    """Those that are set up rightly; `hermes doctor` names the others."""
    for build in builders:
        with suppress(ModelError):
            yield build()


def _hurried(config: ProviderConfig, llm: LLM) -> ProviderConfig:
    """Less patient: another model stands ready."""
    limits, most = config.limits, llm.fallback_after
    hurried = replace(limits, connect=min(limits.connect, most), first_byte=min(limits.first_byte, most))
    return replace(config, limits=hurried)


def provider_config(snapshot: Snapshot, provider: str, model: str, network: Network) -> ProviderConfig:
    """A provider as its client wants it. Raises `ModelError` (kind "config") for none."""
    if not provider:
        raise ModelError("No model is set up; choose one with `hermes model`.", kind="config")
    llm = snapshot.get("llm", LLM)
    t = llm.timeouts
    return replace(
        _access(provider, llm.of(provider)),
        model=model,
        max_tokens=llm.max_tokens,
        temperature=llm.temperature,
        limits=Limits(connect=t.connect, first_byte=t.first_byte, silence=t.silence),
        network=network,
    )


def _access(name: str, own: Provider) -> ProviderConfig:
    """Where a provider answers, and with which keys."""
    keys = _keys(own)
    return ProviderConfig(
        name,
        base_url=own.base_url,
        api_key=keys[0] if keys else None,
        more_keys=keys[1:],
        headers={header: value.get_secret_value() for header, value in own.headers.items()},
    )


def _keys(own: Provider) -> tuple[str, ...]:
    """`api_key` first, each once."""
    given = (own.api_key, *own.api_keys) if own.api_key else own.api_keys
    return tuple(dict.fromkeys(key.get_secret_value() for key in given if key.get_secret_value()))


def unusable(snapshot: Snapshot) -> list[str]:
    """A sentence for each fallback and auxiliary model that cannot work as the settings are."""
    llm = snapshot.get("llm", LLM)
    found = []
    for place, reference in _references(snapshot):
        provider, _, name = reference.partition("/")
        try:
            if provider == "local":
                _local_models(llm.local)
            else:
                build_model(provider_config(snapshot, provider, name, Network()))
        except ModelError as error:
            found.append(f"{place}: {reference} cannot answer. {error}")
    return found


def _references(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Every model beside the first: the key it stands at, and its full name."""
    llm = snapshot.get("llm", LLM)
    for reference in llm.fallbacks:
        yield "llm.fallbacks", reference
    for agent_id, entry in snapshot.get("agents", Agents).entries.items():
        for reference in entry.fallbacks or ():
            yield f"agents.{agent_id}.fallbacks", reference
    for task, reference in standing_in(snapshot).items():
        yield f"llm.auxiliary.{task}", reference


def standing_in(snapshot: Snapshot) -> dict[str, str]:
    """The auxiliary models as they are set, by task; `model` is that for all of them."""
    own = snapshot.get("llm", LLM).auxiliary
    return {task: name for task in type(own).model_fields if (name := getattr(own, task))}


def fallbacks(snapshot: Snapshot) -> tuple[str, ...]:
    """The fallbacks that all agents share, in their order."""
    return snapshot.get("llm", LLM).fallbacks


PROVIDER_NAMES = (*PROVIDERS, "local")


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider of models as it is set up. `base_url` is empty where one is needed and none is given."""

    name: str
    base_url: str
    needs_key: bool
    has_key: bool
    chosen: bool
    keys: int = 0


def providers(snapshot: Snapshot) -> list[ProviderState]:
    """All that are known, in their table's order."""
    llm = snapshot.get("llm", LLM)
    found = []
    for name, known in PROVIDERS.items():
        own: Provider = getattr(llm, name)
        url = own.base_url or known.base_url
        keys = len(_keys(own))
        found.append(ProviderState(name, url, known.needs_key, keys > 0, llm.provider == name, keys))
    embedded = ProviderState(
        "local", "embedded", needs_key=False, has_key=False, chosen=llm.provider == "local"
    )
    return [*found, embedded]


async def offered_models(snapshot: Snapshot, name: str, network: Network) -> list[str]:
    """The models that a provider offers with its own settings. Raises `ModelError` within a few seconds."""
    if name == "local":
        return await asyncio.to_thread(_local_models, snapshot.get("llm", LLM).local)
    own: Provider = getattr(snapshot.get("llm", LLM), name)
    config = replace(
        _access(name, own), limits=Limits(connect=3.0, first_byte=10.0, silence=10.0), network=network
    )
    return await list_models(config)


def _local_models(own: LocalModelSettings) -> list[str]:
    from agent_core.models.local.bundled import require
    from agent_core.models.local.model import model_name

    require(own.model_file)
    return [model_name(own)]
