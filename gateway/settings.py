"""The gateway's keys in config.yaml.

These are `gateway`, `bindings`, `people`, `logging`, `network`, `retention`.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from hermes.config import ByteSize, Duration, Network, Rate, RateLimit, Section, is_address
from hermes.events import Role
from hermes.home import Home
from hermes.voice import VoiceSettings

__all__ = [
    "AgentCache",
    "Binding",
    "Bindings",
    "DeliverySettings",
    "Display",
    "GatewaySettings",
    "GuestSettings",
    "HttpSettings",
    "Limits",
    "Logging",
    "MediaSettings",
    "NetworkSettings",
    "PeopleSettings",
    "Retention",
    "RoleSettings",
    "Roles",
    "SessionsSettings",
]

Identifier = Annotated[str, BeforeValidator(lambda v: str(v) if isinstance(v, int) else v)]
"""A platform's id; YAML reads 12345 as a number."""

DAY = 86400.0


Busy = Literal["queue", "steer", "interrupt", "collect"]


class HttpSettings(Section):
    """The one HTTP server: health, metrics, webhooks, API."""

    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: int = Field(default=8642, ge=0, le=65535, description="The port; 0: any that is free.")
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(), description="Proxies whose X-Forwarded-For is believed.", examples=["[10.0.0.0/8]"]
    )


class AgentCache(Section):
    """Agents that are kept in memory between turns."""

    size: int = Field(default=128, ge=1, description="How many.")
    idle_ttl: Duration = Field(default=3600.0, gt=0, description="Dropped after so long without a message.")


class SessionsSettings(Section):
    """Who shares a conversation, and what happens to a message that comes in while a turn runs."""

    busy: Busy = Field(
        default="queue",
        description="It waits (queue), joins the running turn (steer), stops it and is handled (interrupt), "
        "or what came in meanwhile becomes one turn (collect).",
    )
    dm: Literal["per_account", "per_person"] = Field(
        default="per_account",
        description="Direct chats: one for each account, or all accounts that `/link` joined share theirs.",
    )
    group: Literal["per_sender", "shared"] = Field(default="per_sender", description="Groups.")
    thread: Literal["shared", "per_sender"] = Field(default="shared", description="Threads and topics.")


class DeliverySettings(Section):
    """Replies on their way out."""

    on_unknown: Literal["resend", "drop"] = Field(
        default="resend",
        description="A send whose outcome nobody can find out: once more, marked, or given up.",
    )
    attempts: int = Field(default=8, ge=1, description="Tries until a reply becomes a dead letter.")


class Limits(Section):
    """Bounds on what comes in."""

    rate: RateLimit = Field(
        default=Rate(30, 60.0),
        description="Messages per sender; `off`: none. Webhook and API have none.",
        examples=["30/min"],
    )
    backlog: int = Field(
        default=100, ge=0, description="Messages over the rate that wait; more are refused with a notice."
    )
    http_body: ByteSize = Field(
        default=1 << 20, gt=0, description="One HTTP request's body.", examples=["1MiB"]
    )
    message_chars: int = Field(default=100_000, ge=100, description="One message's text.")


class Display(Section):
    """What people see of the work."""

    live: bool = Field(
        default=True, description="Answers grow in place where the platform can change messages."
    )
    tool_progress: Literal["off", "new", "all"] = Field(
        default="new",
        description="Tool calls that are shown while an answer grows: none, each tool once, all.",
    )

    long_reply: Literal["split", "file"] = Field(
        default="split",
        description="An answer of more than `long_reply_after` messages: all of them, or its beginning and a file.",
    )
    long_reply_after: int = Field(
        default=3, ge=1, description="Messages that an answer may have before that."
    )

    @field_validator("tool_progress", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object) -> object:
        return "off" if value is False else value


class GatewaySettings(Section):
    """The daemon."""

    http: HttpSettings = Field(default_factory=HttpSettings, description="The HTTP server.")
    agent_cache: AgentCache = Field(default_factory=AgentCache, description="Agents kept in memory.")
    sessions: SessionsSettings = Field(default_factory=SessionsSettings, description="Conversations.")
    delivery: DeliverySettings = Field(
        default_factory=DeliverySettings, description="Replies on their way out."
    )
    limits: Limits = Field(default_factory=Limits, description="Bounds on what comes in.")
    edits: Literal["ignore", "rerun"] = Field(
        default="ignore",
        description="A message that is changed after its answer: nothing happens, or it is answered anew and the "
        "old answer is changed.",
    )
    drain_timeout: Duration = Field(
        default=30.0, ge=0, description="How long a stop waits for running turns."
    )
    resume_max_age: Duration = Field(
        default=DAY, ge=0, description="Older turns are not resumed after a start."
    )
    resume_max_starts: int = Field(default=3, ge=1, description="Starts of one turn until it is given up.")


_PROXIES = ("http", "https", "socks5", "socks5h")


class NetworkSettings(Section):
    """How clients reach the outside."""

    proxy: SecretStr | None = Field(
        default=None,
        description="For all of them; may hold a password.",
        examples=["http://proxy.example.com:3128"],
    )
    no_proxy: tuple[str, ...] = Field(default=(), description="Hosts that are reached without it.")
    ca_file: Path | None = Field(
        default=None,
        description="Certificates (PEM) to trust besides those of the machine (or `certifi`'s, where it has none).",
    )

    @field_validator("proxy")
    @classmethod
    def _is_proxy(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not is_address(value.get_secret_value(), _PROXIES):
            raise ValueError('write for example "http://proxy.example.com:3128"')
        return value

    def for_clients(self, home: Home) -> Network:
        """The same in the form that clients are handed."""
        proxy = self.proxy.get_secret_value() if self.proxy else None
        return Network(proxy, self.no_proxy, home.resolve(self.ca_file) if self.ca_file else None)


class Logging(Section):
    """The log, on stderr and in logs/."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="What is worth a line."
    )
    format: Literal["text", "json"] = Field(default="text", description="For people or for programs.")
    files: int = Field(default=5, ge=1, description="How many are kept.")
    file_size: ByteSize = Field(
        default=10_000_000, ge=10_000, description="A new one is begun at.", examples=["10MB"]
    )


class Retention(Section):
    """How long is kept what grows. Conversations are kept until they are deleted."""

    inbox_raw: Duration = Field(default=7 * DAY, gt=0, description="Events as they came in.")
    outbox: Duration = Field(default=30 * DAY, gt=0, description="Delivered replies.")
    steps: Duration = Field(default=90 * DAY, gt=0, description="The steps of finished turns.")
    dead_letters: Duration = Field(
        default=90 * DAY, gt=0, description="What could not be delivered or answered."
    )
    spills: Duration = Field(
        default=14 * DAY, gt=0, description="Tool results that were too long for the model."
    )
    usage: Duration = Field(default=400 * DAY, gt=0, description="What each model call has cost.")


class MediaSettings(Section):
    """Files that come with messages. They lie in the home's folder `media`."""

    images: Literal["auto", "caption", "off"] = Field(
        default="auto",
        description="Pictures are shown to models that take them, else described by `llm.auxiliary.vision` (auto); "
        "described always (caption); not looked at (off).",
    )
    documents: bool = Field(default=True, description="Documents are read to text.")
    voice: VoiceSettings = Field(
        default_factory=VoiceSettings, description="Who writes down what was spoken."
    )
    largest: ByteSize = Field(
        default=20_000_000, gt=0, description="A larger file is not taken.", examples=["20MB"]
    )
    files: int = Field(default=10, ge=0, description="Files of one message; more are left out.")
    characters: int = Field(
        default=60_000,
        ge=1000,
        description="Of what the files of one message say, at most a quarter of the model's window; the rest is left out.",
    )
    quota: ByteSize = Field(
        default=1 << 30,
        ge=0,
        description="All files together; over it the oldest go, those of recent messages last.",
        examples=["1GiB"],
    )
    keep: Duration = Field(
        default=30 * DAY, gt=0, description="How long a file is kept after the last message that has it."
    )

    @field_validator("images", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object) -> object:
        return "off" if value is False else value


class RoleSettings(Section):
    """What a role may do."""

    toolsets: tuple[str, ...] | None = Field(
        default=None,
        description="Toolsets that its turns may use; absent: the agent's and the platform's.",
    )
    refused: tuple[str, ...] = Field(default=(), description="Chat commands that it may not give.")

    @field_validator("refused")
    @classmethod
    def _without_slash(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name.removeprefix("/").lower() for name in value)


class GuestSettings(RoleSettings):
    """What guests may do: anybody may be one."""

    toolsets: tuple[str, ...] | None = Field(
        default=("core", "memory"), description="Toolsets that their turns may use."
    )
    refused: tuple[str, ...] = Field(
        default=("model", "sethome"), description="Chat commands that they may not give."
    )


class Roles(Section):
    """What each role may do, beside what agent and platform allow."""

    owner: RoleSettings = Field(
        default_factory=RoleSettings,
        description="The terminal, the API key, and whom `hermes people role` made one.",
    )
    member: RoleSettings = Field(default_factory=RoleSettings, description="Who is paired or listed.")
    guest: GuestSettings = Field(default_factory=GuestSettings, description='Who was let in by "*".')


class PeopleSettings(Section):
    """People and what they may do."""

    link: bool = Field(default=True, description="Whether people may join their accounts with `/link`.")
    roles: Roles = Field(default_factory=Roles, description="By role.")

    def may(self, role: Role) -> RoleSettings:
        """What a role may do."""
        return {"owner": self.roles.owner, "member": self.roles.member, "guest": self.roles.guest}[role]


class Binding(Section):
    """Events that have all of these go to `agent`."""

    agent: str = Field(description="The agent's id.")
    platform: str | None = Field(default=None, description="The instance's name under `platforms`.")
    account: Identifier | None = Field(default=None, description="The bot's own account id.")
    chat: Identifier | None = Field(default=None, description="The chat's id.")
    thread: Identifier | None = Field(default=None, description="The thread's id.")
    sender: Identifier | None = Field(default=None, description="The sender's id.")


class Bindings(Section):
    """Which agent answers where. The first that fits counts."""

    whole: ClassVar[str | None] = "rules"

    rules: tuple[Binding, ...] = Field(
        default=(), description="In order.", examples=["[{platform: telegram, agent: coder}]"]
    )
