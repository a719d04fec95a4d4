"""Today's version on a home that an old one made, and the way back, as docs/operations.md says it.

The old versions are built from this repository's own history and kept in `.cache`.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from tests.acceptance.house import House, answer_of
from tests.clirig import Done
from tests.crash.daemon import Daemon
from tests.machine import ROOT, once, run
from tests.peers.model.script import says

FIRST = "b2878af9"
"""The tables of both parts are older than today's; there is no `hermes restore` yet."""
WITH_RESTORE = "e51e2743"
"""The agent's tables are older than today's."""


def hermes_of(commit: str) -> Path:
    """The command of an old version, installed with the packages that it was locked with. Skips without history."""
    known = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, check=False, capture_output=True
    )
    if known.returncode:
        pytest.skip(f"this checkout has no history back to {commit}")
    with once(f"hermes-{commit}") as (kept, _), tempfile.TemporaryDirectory() as sources:
        if not (kept / "done").exists():
            _install(commit, kept, Path(sources))
    return kept / "bin" / "hermes"


def _install(commit: str, kept: Path, sources: Path) -> None:
    """An environment cannot be moved, so it is made where it stays."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(sources, filter="data")
    run(sys.executable, "-m", "venv", "--clear", kept)
    pip = (kept / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--require-hashes", "-r", sources / "requirements.lock", seconds=500)
    run(*pip, "--no-deps", sources, seconds=300)
    (kept / "done").touch()


async def start(house: House, hermes: Path) -> Daemon:
    house.daemons.append(await Daemon.start(house.home, program=hermes))
    await house.daemon.until_ready()
    return house.daemon


def in_home(house: House, hermes: Path, *words: str) -> Done:
    done = subprocess.run(
        [hermes, *words],
        env={**os.environ, "HERMES_HOME": str(house.home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def said(house: House) -> list[str]:
    """What people had said in the newest request to the model."""
    return [m["content"] for m in house.asked() if m["role"] == "user"]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("commit", [FIRST, WITH_RESTORE])
async def test_an_old_home_goes_on_today_and_the_way_back_is_as_it_was_before(
    house: House, commit: str
) -> None:
    old = hermes_of(commit)
    await start(house, old)
    assert answer_of(await house.ask("long ago", session="s")) == "echo: long ago"
    house.telegram.push_text("hello", chat=1)
    await house.telegram.wait_text(1, "echo: hello")
    house.model.script.add(says("never", first=600))
    house.telegram.push_text("cut me", chat=1)
    await house.model_busy()
    await house.daemon.kill()
    house.model.script.clear()

    await house.start()  # today's
    await house.telegram.wait_text(1, "echo: cut me", 30)
    assert answer_of(await house.ask("today", session="s")) == "echo: today"
    assert said(house) == ["long ago", "today"]
    found = json.loads((await house.hermes("sessions", "list", "--json")).out)
    assert len(found) == 2
    await house.stop()
    looked = await house.hermes("doctor")
    assert looked.code == 0, looked.out
    (copy,) = house.home.glob("state.db.v*.bak")

    refused = in_home(house, old, "gateway", "run")
    assert refused.code == 78, refused.err
    assert copy.name in refused.err
    if commit == FIRST:
        return
    back = in_home(house, old, "restore", "--database", str(copy), "--yes")
    assert back.code == 0, back.err
    assert "Not there any more" in back.out
    await start(house, old)
    assert answer_of(await house.ask("and on", session="s")) == "echo: and on"
    assert said(house) == ["long ago", "and on"]
    await house.stop()
    assert house.texts(1).count("echo: cut me") == 1
