"""A running daemon's settings are swapped, never changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_core.settings import LLM
from gateway.config import LiveSettings, load
from hermes.config import SettingsSource, Snapshot
from tests.unit.config_schema import SCHEMA, home_with


class Watched:
    """Live settings, with what they reported."""

    def __init__(self, path: Path, config: str) -> None:
        self.home = home_with(path, config)
        self.errors: list[str] = []
        self.swaps: asyncio.Queue[Snapshot] = asyncio.Queue()
        self.failed = asyncio.Event()
        first = load(self.home, SCHEMA, {}, number=1)
        self.live = LiveSettings(self.home, SCHEMA, first, environ={}, on_error=self._on_error)
        self.stop = self.live.subscribe(self.swaps.put_nowait)

    def _on_error(self, sentence: str) -> None:
        self.errors.append(sentence)
        self.failed.set()

    def write(self, config: str) -> None:
        self.home.config.write_text(config)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    """The first load is done before the loop runs, as in the daemon."""
    return Watched(tmp_path, "llm: {model: a}")


def model(snapshot: Snapshot) -> str:
    return snapshot.get("llm", LLM).model


async def test_a_reload_swaps_the_snapshot_and_tells(watched: Watched) -> None:
    source: SettingsSource = watched.live
    before = source.current()
    watched.write("llm: {model: b}")
    assert await watched.live.reload()
    after = source.current()
    assert (before.number, model(before)) == (1, "a")
    assert (after.number, model(after)) == (2, "b")
    assert watched.swaps.get_nowait() is after


async def test_a_broken_file_keeps_the_last_good_settings_and_says_so(watched: Watched) -> None:
    watched.write("llm: {modl: b}\ngatway: {}")
    assert not await watched.live.reload()
    assert model(watched.live.current()) == "a"
    assert watched.swaps.empty()
    assert watched.errors == [watched.live.error]
    assert "line 1: llm.modl is an unknown key" in watched.errors[0]
    assert "\n" not in watched.errors[0]
    watched.write("llm: {model: c}")
    assert await watched.live.reload()
    assert watched.live.error is None
    assert model(watched.live.current()) == "c"


async def test_nothing_changed_is_no_swap(watched: Watched) -> None:
    watched.write("# a remark\nllm: {model: a}")
    assert await watched.live.reload()
    assert watched.live.current().number == 1
    assert watched.swaps.empty()


async def test_who_has_left_is_not_told(watched: Watched) -> None:
    watched.stop()
    watched.stop()
    watched.write("llm: {model: b}")
    await watched.live.reload()
    assert watched.swaps.empty()


async def test_a_changed_secret_is_a_swap(watched: Watched) -> None:
    watched.home.env.write_text("OPENAI_API_KEY=x\n")
    await watched.live.reload()
    assert watched.swaps.get_nowait().number == 2


async def test_a_changed_file_is_seen_without_being_asked(watched: Watched) -> None:
    task = asyncio.create_task(watched.live.watch(), name="watch")
    try:
        number = 0
        while watched.swaps.empty() and not task.done():  # the watch begins some time after its task
            number += 1
            (watched.home.root / "unrelated").write_text("x")
            watched.write(f"llm: {{model: b{number}}}")
            async with asyncio.timeout(20):
                await next_swap(watched)
        assert model(watched.live.current()).startswith("b")
        watched.write("llm: [")
        async with asyncio.timeout(20):
            await watched.failed.wait()
        assert "YAML syntax" in watched.errors[0]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def next_swap(watched: Watched) -> None:
    """Wait for a swap for some seconds, and leave it in the queue."""
    try:
        async with asyncio.timeout(3):
            watched.swaps.put_nowait(await watched.swaps.get())
    except TimeoutError:
        return
