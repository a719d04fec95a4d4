"""The agent's keys in config.yaml: `llm`, `agent`, `agents`, `language`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from hermes.config import ByteSize, Duration, Section, is_address

__all__ = [
    "LLM",
    "AgentEntry",
    "AgentSettings",
    "Agents",
    "Auxiliary",
    "Language",
    "LocalModelSettings",
    "ModelRef",
    "PriceEntry",
    "Provider",
    "ProviderName",
    "Timeouts",
]

ProviderName = Literal["", "openrouter", "openai", "ollama", "custom", "local"]


def _model_ref(value: object) -> object:
    """`provider/model` from itself or from {provider, model}. Raises `ValueError`."""
    if isinstance(value, Mapping) and set(value) <= {"provider", "model"}:
        value = "/".join(str(value[part]) for part in ("provider", "model") if value.get(part))
    if not isinstance(value, str):
        return value
    provider, _, model = value.partition("/")
    known = [name for name in get_args(ProviderName) if name]
    if provider not in known:
        raise ValueError(f"{provider!r} is no provider; known are {', '.join(known)}")
    if not model and provider != "local":
        raise ValueError("must be PROVIDER/MODEL, such as openrouter/openai/gpt-5-mini")
    return value


ModelRef = Annotated[str, BeforeValidator(_model_ref)]
"""A model with its provider: `provider/model`."""


class Timeouts(Section):
    """How long a model may keep us waiting, in seconds."""

    connect: Duration = Field(default=10.0, gt=0, description="To open the connection.")
    first_byte: Duration = Field(
        default=90.0, gt=0, description="From the request to the first byte of the answer."
    )
    silence: Duration = Field(default=60.0, gt=0, description="Between two pieces of the answer.")
    total: Duration = Field(
        default=120.0,
        gt=0,
        description="Without any piece of an answer, over all tries; then the model counts as down.",
    )


class Provider(Section):
    """One provider of models."""

    base_url: str | None = Field(
        default=None,
        description="The API's address; absent: the provider's own.",
        examples=["https://models.example.com/v1"],
    )
    api_key: SecretStr | None = Field(
        default=None, description="The key; best kept in .env as <PROVIDER>_API_KEY."
    )
    api_keys: tuple[SecretStr, ...] = Field(
        default=(),
        description="More keys: the next one is used when one is refused or limited; "
        "best kept in .env as <PROVIDER>_API_KEYS, parted by commas.",
    )
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Sent with each request.")
    vision: bool | Literal["auto"] = Field(
        default="auto",
        description="Whether its models take pictures; `auto`: it is tried, and remembered when one is refused.",
    )

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not is_address(value):
            raise ValueError('write for example "https://models.example.com/v1"')
        return value


class Auxiliary(Section):
    """Which model does the work beside the conversation. Where it fails, the one that answers does it."""

    model: ModelRef | None = Field(
        default=None, description="For all of it, `provider/model`.", examples=["openai/gpt-5-nano"]
    )
    title: ModelRef | None = Field(
        default=None, description="Names a conversation after its first answer; absent: `model`."
    )
    summary: ModelRef | None = Field(
        default=None, description="Sums up what no longer fits; this version does not yet."
    )
    vision: ModelRef | None = Field(
        default=None, description="Describes pictures for models that take none; absent: `model`."
    )
    classify: ModelRef | None = Field(
        default=None, description="Chooses between a few answers; this version does not yet."
    )


class LocalModelSettings(Section):
    """The embedded model."""

    automatic: bool = Field(
        default=True, description="It answers where no provider is set up and no Ollama runs on this machine."
    )
    model_file: Path | None = Field(
        default=None,
        description="Any GGUF file, by its whole path; absent: the small one that the extra brings.",
    )
    threads: int | None = Field(
        default=None, ge=1, le=256, description="Absent: one for each processor, at most 4."
    )
    context: int = Field(default=4096, ge=1024, description="Tokens of question and answer together.")
    memory_limit: ByteSize | None = Field(
        default=None,
        ge=256 * 1024**2,
        description="Address space of its process; absent: twice the file's size and 1 GiB.",
    )
    idle_stop: Duration = Field(
        default=600.0, gt=0, description="Its process ends when it was not asked for so long."
    )


class PriceEntry(Section):
    """What a model costs: US dollars for a million tokens."""

    input: float = Field(ge=0, description="What is sent.")
    output: float = Field(ge=0, description="What is answered.")
    cached: float | None = Field(
        default=None,
        ge=0,
        description="What is sent and lies in the provider's cache; absent: as what is sent.",
    )


class LLM(Section):
    """Which model answers."""

    provider: ProviderName = Field(
        default="", description="Who serves the model; empty: nothing is set up yet."
    )
    model: str = Field(
        default="", description="The model's name at the provider.", examples=["openai/gpt-5-mini"]
    )
    context_length: int | None = Field(
        default=None,
        ge=1024,
        description="The model's window in tokens; absent: as the provider says, else 32,768.",
    )
    max_tokens: int | None = Field(default=None, ge=1, description="At most so many tokens in one answer.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="Absent: the provider's default.")
    tries: int = Field(default=5, ge=1, le=20, description="How often a failing request is tried in all.")
    fallbacks: tuple[ModelRef, ...] = Field(
        default=(),
        description="Who answers, in this order, when the model does not: `provider/model` each.",
        examples=["[openai/gpt-5-mini, ollama/qwen3:8b]"],
    )
    fallback_after: Duration = Field(
        default=30.0,
        gt=0,
        description="With fallbacks: how long a model that is not the last may give no sign, over all tries.",
    )
    fallback_rest: Duration = Field(
        default=60.0, ge=0, description="How long a model that failed is left aside for its fallbacks."
    )
    auxiliary: Auxiliary = Field(
        default_factory=Auxiliary,
        description="The models for work beside the conversation; without any there are no titles of a model.",
    )
    prices: dict[str, PriceEntry] = Field(
        default_factory=dict,
        description="Your own prices by `provider/model`; absent: those that are publicly known.",
        examples=["{custom/big: {input: 0.5, output: 1.5}}"],
    )
    timeouts: Timeouts = Field(default_factory=Timeouts, description="Time limits of a request.")
    openrouter: Provider = Field(default_factory=Provider, description="https://openrouter.ai")
    openai: Provider = Field(default_factory=Provider, description="https://platform.openai.com")
    ollama: Provider = Field(
        default_factory=Provider, description="A local Ollama, http://127.0.0.1:11434 by default."
    )
    custom: Provider = Field(default_factory=Provider, description="Any server that speaks chat completions.")
    local: LocalModelSettings = Field(
        default_factory=LocalModelSettings, description="The embedded model (extra `local`)."
    )

    def chosen(self) -> Provider | None:
        """The chosen provider's own keys; `None` while nothing is set up, and for `local`, which has no address."""
        return self.of(self.provider) if self.provider not in {"", "local"} else None

    def of(self, provider: str) -> Provider:
        """The keys of a provider other than `local`."""
        own: Provider = getattr(self, provider)
        return own


class AgentSettings(Section):
    """How an agent works."""

    budget: int = Field(default=90, ge=1, description="Model calls in one turn.")
    parallel: int = Field(default=8, ge=1, le=64, description="Tool calls that run at once.")
    context_files: bool = Field(
        default=True, description="Read .hermes.md, AGENTS.md, CLAUDE.md or .cursorrules from the workspace."
    )


class AgentEntry(Section):
    """One agent; what is absent is as for all."""

    model: str | None = Field(
        default=None, description="Its model at the provider of `llm`; absent: llm.model."
    )
    fallbacks: tuple[ModelRef, ...] | None = Field(
        default=None, description="Its fallbacks; absent: llm.fallbacks."
    )
    workspace: Path | None = Field(default=None, description="Its folder; absent: tools.workspace.")
    toolsets: tuple[str, ...] | None = Field(
        default=None, description="Its toolsets; absent: all that are on."
    )


class Agents(Section):
    """The agents by id. Without any there is one, `main`.

    The first is the one that answers where no binding fits.
    """

    whole: ClassVar[str | None] = "entries"

    entries: dict[str, AgentEntry] = Field(
        default_factory=dict,
        description="Agent id -> its own settings.",
        examples=["{main: {}, coder: {model: big}}"],
    )

    def names(self) -> tuple[str, ...]:
        """The ids, the default agent first."""
        return tuple(self.entries) or ("main",)

    def entry(self, agent_id: str) -> AgentEntry:
        """The agent's own settings, empty ones where the file has none."""
        return self.entries.get(agent_id) or AgentEntry()


class Language(Section):
    """The language that the agent answers in."""

    whole: ClassVar[str | None] = "name"

    name: str = Field(
        default="",
        max_length=40,
        description="Such as `de` or `German`; absent: the language of the message.",
    )
