"""Completion, in the real shell."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.house import House
from tests.clirig import HERMES, Installation

_ASK = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_hermes
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
async def script(tmp_path: Path) -> Path:
    done = await Installation(tmp_path / "home").run("completion", "bash")
    assert done.code == 0, done.err
    path = tmp_path / "completion.bash"
    path.write_text(done.out)
    return path


@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        ("hermes se", {"sessions"}, {"status"}),
        ("hermes --debug sessions ex", {"export"}, {"delete"}),
        ("hermes sessions prune --old", {"--older-than"}, {"--json"}),
        ("hermes gateway run --", {"--daemon", "--gateway", "--help"}, {"--ready-fd"}),
        ("hermes logs --le", {"--level"}, {"--since"}),
        ("hermes completion --", {"--help"}, {"--json"}),
    ],
)
def test_commands_and_options_are_completed_in_bash(
    script: Path, typed: str, offered: set[str], not_offered: set[str]
) -> None:
    asked = _ASK.format(script=script, words=" ".join(f"'{word}'" for word in typed.split()))
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    found = set(done.stdout.split())
    assert offered <= found
    assert not found & not_offered
    assert not done.stderr


async def test_each_shell_has_a_script_and_another_none(tmp_path: Path) -> None:
    here = Installation(tmp_path / "home")
    for shell in ("zsh", "fish"):
        done = await here.run("completion", shell)
        assert done.code == 0
        assert "sessions export" in done.out
    assert (await here.run("completion", "tcsh")).code == 2
    assert not here.root.exists()


def names(script: Path, home: Path, typed: str) -> set[str]:
    """What Tab offers after `typed`, whose last word is the one that is being typed."""
    words = " ".join(f"'{word}'" for word in typed.split(" "))
    done = subprocess.run(
        ["bash", "-c", _ASK.format(script=script, words=words)],
        env={**os.environ, "HERMES_HOME": str(home), "PATH": f"{HERMES.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert not done.stderr
    return {name for name in done.stdout.split() if not name.startswith("-")}


async def test_what_the_home_has_is_offered_with_the_daemon_and_without(script: Path, house: House) -> None:
    await house.start()
    await house.ask("one", session="a")
    await house.ask("two", session="b")
    known = {s["session_id"] for s in json.loads((await house.hermes("sessions", "list", "--json")).out)}
    assert len(known) == 2
    assert names(script, house.home, "hermes sessions show ") == known
    await house.stop()
    before = set(house.home.iterdir())
    assert names(script, house.home, "hermes sessions delete ") == known
    one = min(known)
    assert names(script, house.home, f"hermes sessions export {one[:-1]}") == {one}
    assert names(script, house.home, "hermes gateway run --gateway ") == {"telegram", "api", "webhook"}
    assert names(script, house.home, "hermes gateway remove w") == {"webhook"}
    assert names(script, house.home, "hermes deadletters retry ") == {"all"}
    assert set(house.home.iterdir()) == before


SHORT_WAY = """
import sys
from gateway.cli import main
code = main(["__complete", "sessions"])
heavy = {"typer", "rich", "pydantic", "aiohttp", "asyncio", "structlog", "httpx", "logging"}
print(code, sorted(heavy & set(sys.modules)))
"""


def test_a_home_that_is_away_damaged_or_does_not_answer_offers_nothing_and_says_nothing(
    script: Path, tmp_path: Path
) -> None:
    home = tmp_path / "other"
    assert names(script, home, "hermes sessions show ") == set()
    assert not home.exists()
    home.mkdir()
    (home / "state.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    (home / "config.yaml").write_text("platforms: [1")
    assert names(script, home, "hermes sessions show ") == set()
    assert names(script, home, "hermes gateway remove ") == set()
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        (home / "control").write_text(str(tmp_path / "s"))
        # Without coverage, which imports things of its own into every child.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        done = subprocess.run(
            [sys.executable, "-c", SHORT_WAY],
            env={**environ, "HERMES_HOME": str(home)},
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    assert (done.stdout, done.stderr) == ("0 []\n", "")
