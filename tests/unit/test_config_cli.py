"""`hermes config`: what is printed, and what is on disk afterwards."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.config import app
from hermes.home import Home
from tests.unit.config_schema import SCHEMA, home_with

CONFIG = """\
# Who answers
llm:
  provider: openai   # paid by us
  model: "gpt"

platforms:
  telegram:
    token: "1:hush-hush"
    allow_from:
      - "1"  # me
      - 2
"""


class Terminal:
    """`hermes config` with a home of its own."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)

    def run(self, *arguments: str, stdin: str | bytes = "", **environ: str) -> Result:
        env = {**dict.fromkeys(os.environ, None), **environ, "HERMES_HOME": str(self.home.root)}
        env["PATH"] = os.environ["PATH"]
        return CliRunner().invoke(app, list(arguments), obj=SCHEMA, input=stdin, env=env)

    def ok(self, *arguments: str, stdin: str = "", **environ: str) -> str:
        result = self.run(*arguments, stdin=stdin, **environ)
        assert result.exit_code == 0, result.output
        return result.stdout

    def fails(self, code: int, *arguments: str, stdin: str | bytes = "", **environ: str) -> str:
        result = self.run(*arguments, stdin=stdin, **environ)
        assert result.exit_code == code, result.output
        return result.stderr


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    home_with(tmp_path / "home", CONFIG)
    return Terminal(tmp_path / "home")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_set_changes_one_value_and_keeps_every_comment(terminal: Terminal) -> None:
    terminal.ok("set", "llm.model", "gpt-5")
    terminal.ok("set", "gateway.http.port", "9000")
    text = terminal.home.config.read_text()
    assert text == CONFIG.replace('"gpt"', '"gpt-5"') + "gateway:\n  http:\n    port: 9000\n"
    assert mode(terminal.home.config) == 0o600
    assert terminal.ok("get", "gateway.http.port") == "9000\n"


def test_set_takes_lists_and_null_removes(terminal: Terminal) -> None:
    terminal.ok("set", "platforms.telegram.allow_from", '["*"]')
    assert json.loads(terminal.ok("get", "platforms.telegram.allow_from", "--json")) == ["*"]
    terminal.ok("set", "platforms.telegram.allow_from[0]", "77")
    terminal.ok("set", "llm.model", "null")
    assert terminal.ok("get", "llm.model") == "\n"
    assert "model" not in terminal.home.config.read_text()
    assert terminal.ok("get", "platforms.telegram.allow_from") == "- '77'\n"


def test_a_text_that_looks_like_a_number_stays_text(terminal: Terminal) -> None:
    terminal.ok("set", "llm.model", "4")
    assert terminal.ok("get", "llm.model") == "4\n"
    terminal.ok("set", "gateway.limits.rate", "off")
    assert terminal.ok("get", "gateway.limits.rate", "--json") == "null\n"
    terminal.ok("set", "gateway.drain_timeout", "1m")
    assert terminal.ok("get", "gateway.drain_timeout") == "60\n"


def test_what_is_wrong_is_not_written(terminal: Terminal) -> None:
    said = terminal.fails(78, "set", "gateway.http.port", "soon")
    assert "gateway.http.port should be a valid integer" in said
    assert 'did you mean "model"' in terminal.fails(78, "set", "llm.modle", "x")
    assert "has no keys" in terminal.fails(78, "set", "llm.model.x", "x")
    assert "is no key" in terminal.fails(78, "set", "llm..x", "x")
    assert "the list has 2 items" in terminal.fails(78, "set", "platforms.telegram.allow_from[9]", "x")
    assert "unknown platform type" in terminal.fails(78, "set", "platforms.tele.token", "x")
    assert "a value is needed" in terminal.fails(2, "set", "llm.model")
    assert terminal.home.config.read_text() == CONFIG
    assert not terminal.home.env.exists()


def test_a_file_with_other_mistakes_can_be_mended_key_by_key(terminal: Terminal) -> None:
    terminal.home.config.write_text("llm: {modl: x}\ngateway: {http: {port: soon}}\n")
    terminal.ok("set", "gateway.http.port", "1")
    assert "port: 1" in terminal.home.config.read_text()
    terminal.home.config.write_text("llm: {\n")
    terminal.fails(78, "set", "gateway.http.port", "1")
    assert terminal.home.config.read_text() == "llm: {\n"


@pytest.mark.parametrize("value", ["sk-1", "with space # and 'quotes' \"\\", "${HOME}", "ключ"])
def test_a_secret_goes_to_env_and_leaves_the_file(terminal: Terminal, value: str) -> None:
    terminal.home.env.write_text("# mine\nA=1\nTELEGRAM_TOKEN=old\n")
    out = terminal.ok("set", "platforms.telegram.token", "-", stdin=value + "\n")
    assert value not in out.replace(str(terminal.home.root), "")
    assert "TELEGRAM_TOKEN in " in out
    assert "token" not in terminal.home.config.read_text()
    assert "# me" in terminal.home.config.read_text()
    assert terminal.home.env.read_text().startswith("# mine\nA=1\nTELEGRAM_TOKEN=")
    assert mode(terminal.home.env) == 0o600
    assert terminal.ok("get", "platforms.telegram.token") == "********\n"
    assert terminal.ok("get", "platforms.telegram.token", "--reveal") == value + "\n"


def test_secrets_inside_of_maps_are_referred_to(terminal: Terminal) -> None:
    terminal.ok("set", "llm.custom.headers.X-Key", "hush-hush")
    assert "X-Key: ${CUSTOM_HEADERS_X_KEY}" in terminal.home.config.read_text()
    assert terminal.ok("get", "llm.custom.headers.X-Key", "--reveal") == "hush-hush\n"
    terminal.ok("set", "llm.custom.headers.X-Key", "null")
    assert "X-Key" not in terminal.home.config.read_text()
    assert "X_KEY" not in terminal.home.env.read_text()


def test_a_secret_in_the_environment_is_pointed_out(terminal: Terminal) -> None:
    result = terminal.run("set", "llm.openai.api_key", "new", OPENAI_API_KEY="old")
    assert "OPENAI_API_KEY goes before .env" in result.stderr


def test_an_empty_secret_and_one_nobody_can_type_are_refused(terminal: Terminal) -> None:
    assert "is empty" in terminal.fails(78, "set", "llm.openai.api_key", "-", stdin="\n")
    assert "pipe the secret in" in terminal.fails(2, "set", "llm.openai.api_key")


def test_what_is_piped_in_and_is_no_text_is_refused(terminal: Terminal) -> None:
    assert "UTF-8" in terminal.fails(78, "set", "llm.openai.api_key", "-", stdin=b"a\xffb\n")
    assert not terminal.home.env.exists()


def test_a_platform_s_secret_switches_it_on_and_null_does_not(terminal: Terminal) -> None:
    terminal.home.config.write_text("# mine\nllm: {model: x}  # by us\n")
    terminal.ok("set", "platforms.telegram.token", "null")
    assert "platforms" not in terminal.home.config.read_text()
    said = terminal.ok("set", "platforms.telegram.token", "-", stdin="1:hush-hush\n")
    assert "Switched platforms.telegram on" in said
    assert terminal.home.config.read_text() == (
        "# mine\nllm: {model: x}  # by us\nplatforms:\n  telegram: {}\n"
    )
    assert terminal.ok("get", "platforms.telegram.enabled") == "true\n"
    assert "Switched" not in terminal.ok("set", "platforms.telegram.token", "-", stdin="2:hush-hush\n")


def test_the_secret_of_an_instance_that_is_off_leaves_it_off(terminal: Terminal) -> None:
    terminal.home.config.write_text("platforms:\n  telegram: {enabled: false}\n")
    assert "Switched" not in terminal.ok("set", "platforms.telegram.token", "1:hush-hush")
    assert terminal.home.config.read_text() == "platforms:\n  telegram: {enabled: false}\n"


def read_until(terminal: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        assert select.select([terminal], [], [], 15)[0], seen
        seen += os.read(terminal, 1000)
    return seen


def test_a_secret_is_asked_for_hidden(tmp_path: Path) -> None:
    program = (
        "from gateway.cli.config import app; from tests.unit.config_schema import SCHEMA\n"
        "app(['set', 'llm.openai.api_key'], obj=SCHEMA)"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "HERMES_HOME": str(tmp_path / "new")},
        start_new_session=True,
    )
    os.close(theirs)
    seen = read_until(ours, b"(not shown): ")  # the last blank comes when nothing is echoed any more
    os.write(ours, b"hush-hush\n")
    seen += read_until(ours, b"Set llm.openai.api_key")
    assert process.wait(10) == 0, seen
    os.close(ours)
    assert b"hush" not in seen
    assert (tmp_path / "new" / ".env").read_text() == "OPENAI_API_KEY=hush-hush\n"
    assert mode(tmp_path / "new") == 0o700


def test_it_works_without_a_home(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "deep" / "home")
    assert terminal.ok("path") == f"{terminal.home.config}\n"
    assert "is not there yet" in terminal.ok("check")
    assert terminal.ok("get", "gateway.http.port") == "8642\n"
    assert json.loads(terminal.ok("show", "--json"))["gateway"]["limits"]["rate"] == "30/min"
    assert not terminal.home.root.exists()
    terminal.ok("set", "timezone", "UTC")
    assert mode(terminal.home.root) == 0o700
    assert terminal.home.config.read_text() == "timezone: UTC\n"


def test_show_masks_and_what_it_shows_loads_again(terminal: Terminal) -> None:
    out = terminal.ok("show", LOG="1")
    assert "hush-hush" not in out
    assert "'********'" in out
    assert "hush-hush" in terminal.ok("show", "--reveal")
    other = Terminal(home_with(terminal.home.root.parent / "other", terminal.ok("show", "--reveal")).root)
    assert other.ok("show", "--reveal") == terminal.ok("show", "--reveal")


def test_check_prints_warnings_and_errors(terminal: Terminal) -> None:
    result = terminal.run("check")
    assert result.exit_code == 0
    assert (
        "Warning: config.yaml, line 8: platforms.telegram.token stands there in plain text" in result.stderr
    )
    terminal.home.config.write_text("gatway: {}\nllm: {modl: x}\n")
    assert len(terminal.fails(78, "check").splitlines()) == 2
    said = json.loads(terminal.run("check", "--json").stdout)
    assert (said["ok"], len(said["errors"]), said["warnings"]) == (False, 2, [])


def test_a_home_of_another_program_is_not_touched(terminal: Terminal) -> None:
    terminal.home.config.write_text("model: {default: x}\n")
    assert "HERMES_HOME" in terminal.fails(78, "check")
    said = terminal.fails(78, "set", "llm.model", "x")
    assert "HERMES_HOME" in said
    assert terminal.home.config.read_text() == "model: {default: x}\n"


def test_comments_alone_crlf_and_list_style_survive(terminal: Terminal) -> None:
    terminal.home.config.write_bytes(b"# only\r\n# remarks\r\n")
    terminal.ok("set", "llm.model", "x")
    assert terminal.home.config.read_bytes() == b"# only\r\n# remarks\r\nllm:\r\n  model: x\r\n"
    terminal.home.config.write_text("tools:\n  disabled:\n  - a\n  - b\n")
    terminal.ok("set", "llm.model", "x")
    assert terminal.home.config.read_text().startswith("tools:\n  disabled:\n  - a\n  - b\n")


def test_two_that_set_at_once_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from gateway.cli.config import app; from tests.unit.config_schema import SCHEMA\n"
        "app(['set', f'agents.a{sys.argv[1]}.model', 'x'], obj=SCHEMA)"
    )
    env = {**os.environ, "HERMES_HOME": str(tmp_path / "home")}
    processes = [subprocess.Popen([sys.executable, "-c", program, str(n)], env=env) for n in range(6)]
    assert [p.wait() for p in processes] == [0] * 6
    text = (tmp_path / "home" / "config.yaml").read_text()
    assert sorted(line.strip() for line in text.splitlines()[1:] if "model" not in line) == [
        f"a{n}:" for n in range(6)
    ]


def test_one_value_of_the_wrong_place_is_nothing(terminal: Terminal) -> None:
    assert terminal.ok("get", "bindings[3]") == ""
    assert "unknown section" in terminal.fails(78, "get", "nonsense")
