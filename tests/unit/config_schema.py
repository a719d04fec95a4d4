"""The schema that the tests of the configuration use: our own sections, and two small platforms."""

from pathlib import Path

from pydantic import Field, SecretStr

from gateway.config import Problems, load
from hermes.config import PlatformSettings, Schema, Section, Snapshot
from hermes.home import Home


class BotSettings(PlatformSettings):
    """A platform with a token."""

    token: SecretStr = Field(description="From the platform.")
    base_url: str = Field(default="https://bot.example.com", description="Its API.")


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
        "people": "gateway.settings:People",
        "tools": "tools.settings:ToolsSettings",
        "display": "gateway.settings:Display",
        "retention": "gateway.settings:Retention",
        "network": "gateway.settings:NetworkSettings",
        "logging": "gateway.settings:Logging",
        "timezone": "gateway.settings:Timezone",
        "language": "agent_core.settings:Language",
    },
    platforms={
        "telegram": f"{HERE}:BotSettings",
        "webhook": f"{HERE}:HookSettings",
        "absent": "no_such_sdk.settings:Nothing",
    },
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
