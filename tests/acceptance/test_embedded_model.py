"""A machine without any key: the installed `hermes` answers by itself, and says who does."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from agent_core.models.local import bundled
from tests.clirig import Installation, end, is_alive
from tests.peers.model import ModelPeer

pytestmark = pytest.mark.skipif(
    not bundled.is_installed(), reason="the embedded model is not installed: scripts/test"
)
NOTICE = "(A small demo model answers, without tools. Choose a real one with: hermes model.)"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installation]:
    here = Installation(tmp_path / "home")
    yield here
    await here.aclose()


def children_of(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


async def test_hello_is_answered_without_any_set_up_and_nothing_outlives_the_daemon(
    here: Installation,
) -> None:
    here.configure()
    daemon, _ = await here.run_daemon()
    assert children_of(daemon.pid) == []  # nothing before the first question
    began = time.monotonic()
    done = await here.run("chat", "-q", "Hello")
    assert time.monotonic() - began < 60
    assert done.code == 0
    assert done.out.startswith(NOTICE)
    assert len(done.out.strip()) > len(NOTICE) + 4
    again = await here.run("chat", "-q", "What is the capital of France?")
    assert (again.code, NOTICE in again.out, bool(again.out.strip())) == (0, False, True)
    (child,) = children_of(daemon.pid)
    assert (await end(daemon)).code == 0
    assert not is_alive(child)


async def test_another_model_cannot_be_chosen_beside_it(here: Installation) -> None:
    here.configure()
    daemon, _ = await here.run_daemon()
    said = (await here.run("chat", "-q", "/model big-one")).out
    assert (f"local/{bundled.NAME}" in said, "hermes model" in said, "big-one" in said) == (True, True, False)
    assert f"Model: local/{bundled.NAME}." in (await here.run("chat", "-q", "/status")).out
    assert (await end(daemon)).code == 0


async def test_a_killed_daemon_leaves_no_model_behind_and_the_next_one_answers(here: Installation) -> None:
    here.configure(llm={"provider": "local"})
    daemon, _ = await here.run_daemon()
    await here.run("chat", "-q", "Hello")
    (child,) = children_of(daemon.pid)
    daemon.kill()
    await daemon.wait()
    async with asyncio.timeout(5):
        while is_alive(child):
            await asyncio.sleep(0.02)
    daemon, _ = await here.run_daemon()
    assert (await here.run("chat", "-q", "Hello")).code == 0
    assert (await end(daemon)).code == 0


async def test_it_is_listed_and_chosen_and_a_bad_file_is_a_sentence(here: Installation) -> None:
    here.configure()
    listed = json.loads((await here.run("model", "--json")).out)
    row = next(row for row in listed if row["provider"] == "local")
    assert (row["state"], row["models"], row["chosen"]) == ("set up", [bundled.NAME], False)
    chosen = await here.run("model", "local")
    assert (chosen.code, chosen.out) == (0, f"local/{bundled.NAME} answers from now on.\n")
    (here.root / "text.gguf").write_text("hello", encoding="utf-8")
    here.configure(llm={"provider": "local", "local": {"model_file": str(here.root / "text.gguf")}})
    done = await here.run("chat", "-q", "Hello")
    assert (done.code, "hermes model" in done.err) == (1, True)
    assert "is no GGUF file" in (await here.run("model")).out
    assert "is no GGUF file" in "".join(p.read_text() for p in (here.root / "logs").iterdir())


async def test_with_another_provider_the_daemon_holds_nothing_of_it(
    here: Installation, model_peer: ModelPeer
) -> None:
    here.configure_model(model_peer.url)
    daemon, _ = await here.run_daemon()
    assert (await here.run("chat", "-q", "hi")).out == "echo: hi\n"
    assert children_of(daemon.pid) == []
    maps = Path("/proc", str(daemon.pid), "maps").read_text(encoding="utf-8")
    assert "xllamacpp" not in maps
    assert not os.path.lexists(here.root / "models")
    assert (await end(daemon)).code == 0
