"""The providers that are known by name, and how to reach their models.

`ollama` needs no key; `custom` is any other server that speaks chat completions (llama.cpp, vLLM, LM
Studio, a proxy).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from agent_core.models.chat import ChatModel
from agent_core.models.chat_wire import WireSettings
from agent_core.models.classify import classify, parse_refusal
from agent_core.models.connection import Connection, Endpoint
from agent_core.models.keys import KeyedModel, KeyRing
from agent_core.models.limits import Limits
from hermes.config import Network
from hermes.errors import ModelError
from hermes.messages import JSON

__all__ = [
    "OLLAMA_URL",
    "PROVIDERS",
    "ModelInfo",
    "Models",
    "Provider",
    "ProviderConfig",
    "build_model",
    "describe_models",
    "find_ollama",
    "list_models",
]

OLLAMA_URL = "http://127.0.0.1:11434/v1"


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of a provider.

    `key_env`: the environment variable that usually holds its key; "" where none is needed.
    """

    name: str
    base_url: str = ""
    key_env: str = ""
    needs_key: bool = True
    wire: Literal["chat"] = "chat"
    window: int = 128_000
    max_tokens_field: str = "max_tokens"
    cache_key: bool = False


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        p.name: p
        for p in (
            Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
            Provider(
                "openai",
                "https://api.openai.com/v1",
                "OPENAI_API_KEY",
                max_tokens_field="max_completion_tokens",
                cache_key=True,
            ),
            Provider("ollama", OLLAMA_URL, needs_key=False, window=32_768),
            Provider("custom", key_env="HERMES_API_KEY", needs_key=False),
        )
    }
)


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One model as the settings describe it; what is `None` or empty comes from the table.

    more_keys: used in turn with `api_key` when one is refused or limited.
    window, max_tokens: tokens. headers: sent with every request, beside or instead of the key.
    """

    provider: str
    model: str = ""
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    more_keys: tuple[str, ...] = field(default=(), repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    window: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    stream_usage: bool = True
    sees: bool | None = None
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that a provider offers; `window` in tokens where the provider says."""

    name: str
    window: int | None = None


class Models:
    """The clients in use: one per configuration, and one pool of connections per endpoint.

    A configuration that has changed gets a new client; the old one stays usable until `aclose`.
    """

    def __init__(self) -> None:
        self._models: list[tuple[ProviderConfig, ChatModel | KeyedModel]] = []
        self._rings: list[tuple[tuple[str, ...], KeyRing]] = []
        self._connections: list[Connection] = []

    def get(self, config: ProviderConfig) -> ChatModel | KeyedModel:
        """The client for `config`, the same one for equal ones. Raises as `build_model` does."""
        known = next((model for made_for, model in self._models if made_for == config), None)
        if known is not None:
            return known
        model = self._keyed(config) if config.more_keys else self._single(config)
        self._models.append((config, model))
        return model

    def _keyed(self, config: ProviderConfig) -> KeyedModel:
        keys = tuple(dict.fromkeys(key for key in (config.api_key, *config.more_keys) if key))
        made_for = (config.provider, config.base_url or "", *keys)
        ring = next((ring for known, ring in self._rings if known == made_for), None)
        if ring is None:
            ring = KeyRing(config.provider, len(keys))
            self._rings.append((made_for, ring))
        return KeyedModel(
            [self._single(replace(config, api_key=key, more_keys=())) for key in keys],
            ring,
        )

    def _single(self, config: ProviderConfig) -> ChatModel:
        endpoint = _endpoint(config, _provider(config))
        shared = next((c for c in self._connections if c.endpoint == endpoint), None)
        connection = shared or Connection(endpoint)
        model = build_model(config, connection)
        if shared is None:
            self._connections.append(connection)
        return model

    async def aclose(self) -> None:
        """Close every connection and forget every client."""
        connections, self._connections, self._models = self._connections, [], []
        self._rings = []
        for connection in connections:
            await connection.aclose()


def build_model(config: ProviderConfig, connection: Connection | None = None) -> ChatModel:
    """The client for `config`, on `connection` where one to the same endpoint exists.

    Opens nothing yet. Raises `ModelError` (kind `config`) with what is missing.
    """
    provider = _provider(config)
    if not config.model:
        raise ModelError("No model is chosen; pick one with `hermes model`.", kind="config")
    settings = WireSettings(
        model=config.model,
        window=config.window or provider.window,
        max_tokens=config.max_tokens,
        temperature=config.temperature,
        origin=f"{provider.name}:{config.model}",
        max_tokens_field=provider.max_tokens_field,
        cache_key=provider.cache_key,
        stream_usage=config.stream_usage,
        sees=config.sees,
    )
    return ChatModel(connection or Connection(_endpoint(config, provider)), settings)


async def list_models(config: ProviderConfig) -> list[str]:
    """The names of the models that the provider offers to this key, sorted. Raises `ModelError`."""
    return [m.name for m in await describe_models(config)]


async def describe_models(config: ProviderConfig) -> list[ModelInfo]:
    """The models that the provider offers (GET /models), sorted by name. Raises `ModelError`."""
    provider = _provider(config)
    transport = await asyncio.to_thread(_endpoint(config, provider).connect)
    try:
        async with transport.get("/models") as answer:
            body = await answer.body()
            status = answer.status
    finally:
        await transport.aclose()
    if status != 200:
        raise classify(status, parse_refusal(body), provider=provider.name, model="the model")
    return _models(await asyncio.to_thread(_decoded, body))


async def find_ollama(url: str = OLLAMA_URL) -> list[str] | None:
    """The models of an Ollama on this machine; `None` where none answers within 0.3 s of connecting."""
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(0.3):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except OSError:  # TimeoutError too
        return None
    writer.close()
    limits = Limits(connect=1.0, first_byte=2.0, silence=2.0)
    try:
        return await list_models(ProviderConfig("ollama", base_url=url, limits=limits))
    except ModelError:
        return None  # something else listens there


def _provider(config: ProviderConfig) -> Provider:
    provider = PROVIDERS.get(config.provider)
    if provider is None:
        known = ", ".join(sorted(PROVIDERS))
        raise ModelError(f"The provider {config.provider!r} is unknown; known are {known}.", kind="config")
    return provider


def _endpoint(config: ProviderConfig, provider: Provider) -> Endpoint:
    base_url = config.base_url or provider.base_url
    if not base_url:
        raise ModelError(f"The provider {provider.name} needs `base_url`.", kind="config")
    if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
        raise ModelError(
            f"`base_url` of {provider.name} must be an http:// or https:// address.", kind="config"
        )
    headers = {name: _sendable(value, f"The header {name!r}") for name, value in config.headers.items()}
    if config.api_key:
        headers.setdefault("Authorization", f"Bearer {_sendable(config.api_key, 'The key')}")
    elif provider.needs_key and not headers:
        told = f"The provider {provider.name} needs a key; set {provider.key_env} or run `hermes model`."
        raise ModelError(told, kind="config")
    return Endpoint(provider.name, base_url, headers, config.limits, config.network)


def _sendable(value: str, what: str) -> str:
    """A header can hold printable ASCII only; a pasted key often brings a line end."""
    clean = value.strip()
    if not clean.isascii() or not clean.isprintable():
        raise ModelError(f"{what} of the provider holds characters that cannot be sent.", kind="config")
    return clean


def _decoded(body: bytes) -> JSON:
    try:
        parsed: JSON = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            "The provider's list of models is no JSON; check `base_url`.", kind="malformed"
        ) from error
    return parsed


def _models(raw: JSON) -> list[ModelInfo]:
    """Both shapes that are met: `{"data": [{"id": ...}]}` and a bare list."""
    entries = raw.get("data") if isinstance(raw, Mapping) else raw
    found = [
        ModelInfo(e["id"], _window(e))
        for e in (entries if isinstance(entries, list) else [])
        if isinstance(e, Mapping) and isinstance(e.get("id"), str)
    ]
    return sorted(found, key=lambda m: m.name)


def _window(entry: Mapping[str, Any]) -> int | None:
    for name in ("context_length", "max_model_len", "context_window", "max_context_length"):
        value = entry.get(name)
        if isinstance(value, int) and value > 0:
            return value
    return None
