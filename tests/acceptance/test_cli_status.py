"""`hermes status` and the command line around it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clirig import Installation

SHORT_WAY = """
import sys
from gateway.cli import main
code = main(["status", "--json"])
heavy = {"typer", "rich", "pydantic", "aiohttp", "asyncio", "structlog", "httpx", "logging"}
print(code, sorted(heavy & set(sys.modules)))
"""


def test_status_imports_nothing_heavy(hermes_home: Path) -> None:
    # Without coverage, which imports things of its own into every child.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", SHORT_WAY], capture_output=True, text=True, check=True, env=env
    )
    document, imported = done.stdout.splitlines()
    assert imported == "3 []"
    found = json.loads(document)
    assert found["running"] is False
    assert {"hermes", "python", "sqlite", "python-telegram-bot"} <= set(found["versions"])
    assert found["disk"]["total"] >= found["disk"]["free"] > 0


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "home")


async def test_the_command_line_speaks_in_sentences(here: Installation) -> None:
    wrong = await here.run("statsu")
    assert wrong.code == 2
    assert 'did you mean "status"?' in wrong.err
    assert (await here.run("--version")).out.startswith("hermes ")
    usage = await here.run("--help")
    for name in ("chat", "model", "run", "gateway", "status", "config", "pairing", "sessions", "doctor"):
        assert f"\n  {name} " in usage.out
        assert (await here.run(name, "--help")).code == 0
    assert (await here.run("gateway", "run", "--nonsense")).code == 2


async def test_without_a_daemon_nothing_is_made(here: Installation) -> None:
    assert (await here.run("status")).code == 3
    assert (await here.run("gateway", "stop")).code == 3
    assert not here.root.exists()


async def test_a_broken_pipe_is_no_error(here: Installation) -> None:
    command = f"{Path(sys.executable).with_name('hermes')} --help | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


async def test_a_home_of_hermes_agent_is_left_alone(here: Installation) -> None:
    here.root.mkdir(mode=0o700)
    (here.root / "config.yaml").write_text("model:\n  default: x\nterminal:\n  backend: local\n")
    for words in (
        ["gateway", "run"],
        ["gateway", "run", "--daemon"],
        ["chat", "-q", "x"],
        ["pairing", "list"],
    ):
        done = await here.run(*words)
        assert done.code == 78, done
        assert "HERMES_HOME" in done.err
    assert [p.name for p in here.root.iterdir()] == ["config.yaml"]
