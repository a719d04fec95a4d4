"""config.yaml, .env and the environment become one snapshot, or sentences."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from agent_core.settings import LLM, Agents, Language
from gateway.settings import GatewaySettings, Logging, NetworkSettings, Retention
from hermes.config import Network, Rate
from hermes.home import Home
from tests.unit.config_schema import BotSettings, HookSettings, Timezone, home_with, loaded, problems
from tools.settings import ToolsSettings

INTERFACE = """
llm:
  provider: custom
  model: some-model
  custom: {base_url: "http://127.0.0.1:9000/v1", api_key: "k-literal"}
gateway:
  http: {host: 127.0.0.1, port: 8642}
platforms:
  telegram: {token: "1:A", base_url: "http://127.0.0.1:9001/bot", allow_from: ["*"], rate: "off"}
  webhook:
    routes:
      build: {secret: "s3cret", prompt: "Build: {{ payload.text }}"}
"""


def secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value else None


def test_the_documented_example_loads_with_a_warning_for_each_literal_secret(tmp_path: Path) -> None:
    snapshot = loaded(tmp_path, INTERFACE)
    llm = snapshot.get("llm", LLM)
    chosen = llm.chosen()
    assert chosen is not None
    assert (llm.model, chosen.base_url, secret(chosen.api_key)) == (
        "some-model",
        "http://127.0.0.1:9000/v1",
        "k-literal",
    )
    bot = snapshot.platforms["telegram"]
    assert isinstance(bot, BotSettings)
    assert (bot.type, bot.allow_from, bot.rate, secret(bot.token)) == ("telegram", ("*",), "off", "1:A")
    assert snapshot.number == 7
    assert [w.split(" stands")[0] for w in snapshot.warnings] == [
        "config.yaml, line 5: llm.custom.api_key",
        "config.yaml, line 9: platforms.telegram.token",
        "config.yaml, line 12: platforms.webhook.routes.build.secret",
    ]
    assert not any(s in w for w in snapshot.warnings for s in ("k-literal", "s3cret"))


@pytest.mark.parametrize("text", [b"", b"\n", b"# only a remark\n", b"---\n", b"\xef\xbb\xbf", b"~\n"])
def test_an_empty_file_is_all_defaults(tmp_path: Path, text: bytes) -> None:
    snapshot = loaded(tmp_path, text)
    gateway = snapshot.get("gateway", GatewaySettings)
    assert gateway.http.port == 8642
    assert gateway.limits.rate == Rate(30, 60)
    assert gateway.limits.http_body == 1 << 20
    assert snapshot.get("retention", Retention).inbox_raw == 7 * 86400
    assert snapshot.get("llm", LLM).chosen() is None
    assert snapshot.get("agents", Agents).names() == ("main",)
    assert snapshot.platforms == {}
    assert snapshot.warnings == ()


def test_no_file_is_all_defaults(tmp_path: Path) -> None:
    home = home_with(tmp_path / "h")
    home.config.unlink()
    assert problems(tmp_path / "h") == []


def test_a_bom_crlf_and_empty_sections_are_fine(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbfgateway:\r\n  http:\r\n    port: 1\r\n  limits:\r\nplatforms:\r\nllm:\r\n"
    assert loaded(tmp_path, text).get("gateway", GatewaySettings).http.port == 1


@pytest.mark.parametrize("off", ["off", '"off"', "false"])
def test_off_counts_with_and_without_quotes(tmp_path: Path, off: str) -> None:
    snapshot = loaded(tmp_path, f"gateway: {{limits: {{rate: {off}}}}}")
    assert snapshot.get("gateway", GatewaySettings).limits.rate is None


def test_whole_sections_take_their_value_as_it_is(tmp_path: Path) -> None:
    snapshot = loaded(
        tmp_path,
        "timezone: Europe/Berlin\nlanguage: de\nagents: {a: {model: big}, b: }",
        HERMES_LANGUAGE="fr",
        HERMES_AGENTS__A__WORKSPACE="w",
    )
    assert snapshot.get("timezone", Timezone).name == "Europe/Berlin"
    assert snapshot.get("language", Language).name == "fr"
    assert snapshot.get("agents", Agents).names() == ("a", "b")
    assert snapshot.get("agents", Agents).entry("a").workspace == Path("w")


def test_two_bots_of_one_platform_are_two_instances(tmp_path: Path) -> None:
    snapshot = loaded(
        tmp_path,
        "platforms:\n  telegram:\n  my-bot: {type: telegram}\n",
        TELEGRAM_TOKEN="1:A",
        MY_BOT_TOKEN="2:B",
    )
    tokens = [secret(s.token) for s in snapshot.platforms.values() if isinstance(s, BotSettings)]
    assert tokens == ["1:A", "2:B"]


def test_what_is_off_is_neither_imported_nor_asked_for_its_secrets(tmp_path: Path) -> None:
    snapshot = loaded(
        tmp_path, "platforms: {absent: {enabled: false, x: 1}, telegram: {enabled: off, token: '${NOWHERE}'}}"
    )
    assert [(n, s.enabled) for n, s in snapshot.platforms.items()] == [("absent", False), ("telegram", False)]
    assert "no_such_sdk" not in sys.modules


def test_snapshots_are_immutable(tmp_path: Path) -> None:
    snapshot = loaded(tmp_path)
    with pytest.raises(TypeError):
        snapshot.sections["llm"] = LLM()  # type: ignore[index]  # that is the point
    with pytest.raises(ValidationError):
        snapshot.get("llm", LLM).model = "x"  # type: ignore[misc]  # that is the point


def test_network_becomes_what_clients_are_handed(tmp_path: Path) -> None:
    snapshot = loaded(
        tmp_path, "network: {proxy: 'http://u:p@127.0.0.1:1', no_proxy: [localhost], ca_file: ca.pem}"
    )
    network = snapshot.get("network", NetworkSettings)
    assert network.for_clients(Home(tmp_path)) == Network(
        "http://u:p@127.0.0.1:1", ("localhost",), tmp_path / "ca.pem"
    )
    assert "u:p" not in repr(network)


# --- outside the file


def test_environment_goes_before_the_file_and_env_file_before_nothing(tmp_path: Path) -> None:
    snapshot = loaded(
        tmp_path,
        "gateway: {http: {port: 1, host: a}}\ntools: {disabled: [x]}",
        "export HERMES_GATEWAY__HTTP__PORT=2\nHERMES_LOGGING__LEVEL='debug' # loud\n",
        HERMES_GATEWAY__HTTP__PORT="3",
        HERMES_GATEWAY__HTTP__HOST="",
        HERMES_TOOLS__DISABLED='["write_file"]',
        HERMES_HOME="/elsewhere",
        HERMES_GATEWAY="not a key",
    )
    http = snapshot.get("gateway", GatewaySettings).http
    assert (http.host, http.port) == ("a", 3)
    assert snapshot.get("tools", ToolsSettings).disabled == ("write_file",)
    assert snapshot.get("logging", Logging).level == "debug"


def test_overrides_reach_instances_whose_names_have_dashes(tmp_path: Path) -> None:
    snapshot = loaded(
        tmp_path, "platforms: {My-Bot: {type: telegram}}", HERMES_PLATFORMS__MY_BOT__TOKEN="1:A"
    )
    bot = snapshot.platforms["My-Bot"]
    assert isinstance(bot, BotSettings)
    assert secret(bot.token) == "1:A"


def test_wrong_overrides_name_the_variable(tmp_path: Path) -> None:
    said = problems(
        tmp_path,
        "timezone: UTC",
        HERMES_GATEWAY__HTTP__PROT="1",
        HERMES_GATEWAY__DRAIN_TIMEOUT="soon",
        HERMES_TIMEZONE__X="1",
    )
    assert said[0].startswith("environment variable HERMES_TIMEZONE__X: names a key")
    assert any(
        s.startswith("environment variable HERMES_GATEWAY__DRAIN_TIMEOUT: gateway.drain") for s in said
    )
    assert any(
        'HERMES_GATEWAY__HTTP__PROT: gateway.http.prot is an unknown key; did you mean "port"?' in s
        for s in said
    )


def key_of(path: Path, config: str = "", env: str = "", **environ: str) -> str | None:
    return secret(loaded(path, config, env, **environ).get("llm", LLM).openai.api_key)


def test_secrets_are_found_wherever_they_may_stand(tmp_path: Path) -> None:
    file, credentials = tmp_path / "docker-secret", tmp_path / "credentials"
    file.write_text("from-file\n")
    credentials.mkdir()
    (credentials / "OPENAI_API_KEY").write_text("from-systemd")
    home = tmp_path / "home"
    dotenv = "OPENAI_API_KEY=from-dotenv\n"
    assert key_of(home, env=dotenv) == "from-dotenv"
    assert key_of(home, CREDENTIALS_DIRECTORY=str(credentials)) == "from-systemd"
    assert key_of(home, CREDENTIALS_DIRECTORY=str(credentials), OPENAI_API_KEY_FILE=str(file)) == "from-file"
    assert key_of(home, OPENAI_API_KEY_FILE=str(file), OPENAI_API_KEY="from-environ") == "from-environ"
    assert key_of(home, "llm: {openai: {api_key: literal}}", OPENAI_API_KEY="from-environ") == "literal"
    assert key_of(home, f"llm: {{openai: {{api_key_file: {file}}}}}", OPENAI_API_KEY="x") == "from-file"
    assert key_of(home, "llm: {openai: {api_key: '${K}'}}", K="reference") == "reference"
    assert key_of(home, "llm: {openai: {api_key: ''}}", OPENAI_API_KEY="filled") == "filled"
    assert key_of(home, HERMES_LLM__OPENAI__API_KEY="override") == "override"
    assert key_of(home, HERMES_LLM__OPENAI__API_KEY_FILE=str(file)) == "from-file"


def test_secrets_from_outside_are_no_literals(tmp_path: Path) -> None:
    config = "llm: {openai: {api_key: '${K}'}}\nplatforms: {webhook: {routes: {build: {}}}}"
    snapshot = loaded(tmp_path, config, K="x", WEBHOOK_ROUTES_BUILD_SECRET="hush", OLLAMA_API_KEY="y")
    hook = snapshot.platforms["webhook"]
    assert isinstance(hook, HookSettings)
    assert secret(hook.routes["build"].secret) == "hush"
    assert snapshot.warnings == ()


def test_a_secret_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = problems(tmp_path, "llm: {openai: {api_key_file: nowhere}}", CUSTOM_API_KEY_FILE="/no/such")
    assert said == [
        "llm.openai.api_key_file: " + f"{tmp_path}/nowhere cannot be read: No such file or directory"
    ]


def test_interpolation_fills_defaults_and_keeps_escapes(tmp_path: Path) -> None:
    snapshot = loaded(tmp_path, "llm: {model: 'a-${M:-b}-$${M}-$M'}\ngateway: {http: {port: '${P}'}}", P="5")
    assert snapshot.get("llm", LLM).model == "a-b-${M}-$M"
    assert snapshot.get("gateway", GatewaySettings).http.port == 5
    (said,) = problems(tmp_path, "\nllm: {model: '${M}'}")
    assert said.startswith("config.yaml, line 2: llm.model needs the environment variable M, which is set")


def test_a_wrong_env_file_names_its_line_and_no_value(tmp_path: Path) -> None:
    said = problems(tmp_path, env="A=1\nhush-hush\nB='open\n")
    assert [s.split(":")[0] for s in said] == [".env, line 2", ".env, line 3"]
    assert "hush" not in "".join(said)
