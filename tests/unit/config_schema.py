"""The schema that the tests of the configuration use: our own sections, and two small platforms."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import Field, SecretStr, field_validator

from gateway.config import Problems, load
from hermes.config import PlatformSettings, Schema, Section, Snapshot
from hermes.home import Home


class BotSettings(PlatformSettings):
    """A platform with a token."""

    token: SecretStr = Field(description="From the platform.")
    base_url: str = Field(default="https://bot.example.com", description="Its API.")


class Timezone(Section):
    """A section that is one value."""

    whole: ClassVar[str | None] = "name"

    name: str = Field(default="", examples=["Europe/Berlin"])

    @field_validator("name")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in {"", "UTC", "Europe/Berlin"}:
            raise ValueError('is no time zone of this machine; write for example "Europe/Berlin"')
        return value


class Route(Section):
    secret: SecretStr
    prompt: str = ""


class HookSettings(PlatformSettings):
    """A platform with routes."""

    routes: dict[str, Route] = Field(default_factory=dict)


HERE = BotSettings.__module__

SCHEMA = Schema(
    sections={
        "llm": "agent_core.settings:LLM",
        "gateway": "gateway.settings:GatewaySettings",
        "agents": "agent_core.settings:Agents",
        "agent": "agent_core.settings:AgentSettings",
        "bindings": "gateway.settings:Bindings",
        "tools": "tools.settings:ToolsSettings",
        "retention": "gateway.settings:Retention",
        "network": "gateway.settings:NetworkSettings",
        "logging": "gateway.settings:Logging",
        "timezone": f"{HERE}:Timezone",
        "language": "agent_core.settings:Language",
    },
    platforms={
        "telegram": f"{HERE}:BotSettings",
        "webhook": f"{HERE}:HookSettings",
        "absent": "no_such_sdk.settings:Nothing",
    },
)

SCHEMA_IN_REACH = replace(
    SCHEMA, platforms={n: spec for n, spec in SCHEMA.platforms.items() if n != "absent"}
)


def home_with(path: Path, config: str | bytes = "", env: str = "") -> Home:
    home = Home(path)
    home.root.mkdir(mode=0o700, exist_ok=True)
    home.config.write_bytes(config if isinstance(config, bytes) else config.encode())
    if env:
        home.env.write_text(env)
    return home


def loaded(path: Path, config: str | bytes = "", env: str = "", **environ: str) -> Snapshot:
    return load(home_with(path, config, env), SCHEMA, environ, number=7)


def problems(path: Path, config: str | bytes = "", env: str = "", **environ: str) -> list[str]:
    try:
        loaded(path, config, env, **environ)
    except Problems as error:
        return str(error).split("\n")
    return []
