"""Which models the settings choose at this moment, and the clients that ask them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from agent_core.models.chain import Chain, Rests
from agent_core.models.chat import ChatModel
from agent_core.models.inventory import local_models, provider_config
from agent_core.models.keys import KeyedModel
from agent_core.models.providers import (
    Models,
    ProviderConfig,
    find_ollama,
)
from agent_core.settings import LLM, Agents, LocalModelSettings
from hermes.clock import Clock
from hermes.config import Network, SettingsSource, Snapshot
from hermes.errors import ModelError
from hermes.home import Home
from hermes.model import Model, Task

if TYPE_CHECKING:
    from agent_core.models.local.model import LocalModel

__all__ = ["ChosenModels"]

log = structlog.get_logger("agent_core.models")


class ChosenModels:
    """The model of each agent, as the settings say at that moment.

    `network`: how clients reach the outside by a snapshot. `fixed` answers in place of what they choose.
    """

    def __init__(
        self,
        settings: SettingsSource,
        network: Callable[[Snapshot], Network],
        clock: Clock,
        fixed: Model | None = None,
    ) -> None:
        self._settings = settings
        self._network = network
        self._rests = Rests(clock)
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
            return () if task == "vision" else (self._fixed,)
        snapshot = self._settings.current()
        llm = snapshot.get("llm", LLM)
        own: str | None = getattr(llm.auxiliary, task) or llm.auxiliary.model
        builders: list[Callable[[], Model]] = []
        if own and own.partition("/")[0] != "local":
            builders.append(lambda: self._other(snapshot, own, is_hasty=False))
        if not self._is_local(llm) and task != "vision":  # it is asked where the main model does not see
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
                await asyncio.to_thread(local_models, llm.local)
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
