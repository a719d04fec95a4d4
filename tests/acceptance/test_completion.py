"""Completion, in the real shell."""

import subprocess
from pathlib import Path

import pytest

from tests.clirig import Installation

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
