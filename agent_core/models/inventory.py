"""The providers and models as the settings set them up: how each is reached, and what cannot work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

from agent_core.models.limits import Limits
from agent_core.models.providers import PROVIDERS, ProviderConfig, build_model, list_models
from agent_core.settings import LLM, Agents, LocalModelSettings, Provider
from hermes.config import Network, Snapshot
from hermes.errors import ModelError

__all__ = [
    "PROVIDER_NAMES",
    "ProviderState",
    "auxiliaries",
    "fallbacks",
    "local_models",
    "offered_models",
    "provider_config",
    "providers",
    "unusable",
]

PROVIDER_NAMES = (*PROVIDERS, "local")


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
        sees=None if own.vision == "auto" else own.vision,
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
                local_models(llm.local)
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
    for task, reference in auxiliaries(snapshot).items():
        yield f"llm.auxiliary.{task}", reference


def auxiliaries(snapshot: Snapshot) -> dict[str, str]:
    """The auxiliary models as they are set, by task; `model` is that for all of them."""
    own = snapshot.get("llm", LLM).auxiliary
    return {task: name for task in type(own).model_fields if (name := getattr(own, task))}


def fallbacks(snapshot: Snapshot) -> tuple[str, ...]:
    """The fallbacks that all agents share, in their order."""
    return snapshot.get("llm", LLM).fallbacks


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
        return await asyncio.to_thread(local_models, snapshot.get("llm", LLM).local)
    own: Provider = getattr(snapshot.get("llm", LLM), name)
    config = replace(
        _access(name, own), limits=Limits(connect=3.0, first_byte=10.0, silence=10.0), network=network
    )
    return await list_models(config)


def local_models(own: LocalModelSettings) -> list[str]:
    """The one name that the embedded model has. Raises `ModelError` where it is not installed. Blocks."""
    from agent_core.models.local.bundled import require
    from agent_core.models.local.model import model_name

    require(own.model_file)
    return [model_name(own)]
