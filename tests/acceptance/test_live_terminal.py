"""`hermes chat` on a screen: what grows, and what stands there in the end."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.screen import chat, is_working
from tests.clirig import Installation
from tests.peers.model import ModelPeer
from tests.peers.model.script import ToolCall, calls, says


@pytest.fixture
async def here(tmp_path: Path, model_peer: ModelPeer) -> AsyncIterator[Installation]:
    here = Installation(tmp_path / "home")
    here.configure_model(model_peer.url, gateway={"sessions": {"busy": "steer"}})
    yield here
    await here.aclose()


LONG = "\n\n".join(f"Paragraph {n} has **bold words {n}** and `code {n}`." for n in range(1, 41))


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (20, 10), (200, 50)])
async def test_a_long_answer_scrolls_and_stands_there_once(
    here: Installation, model_peer: ModelPeer, columns: int, rows: int
) -> None:
    model_peer.script.add(says(LONG, chunks=200, every=0.01), text="long")
    async with chat(here, columns, rows) as screen:
        assert any("main" in line for line in screen.lines), "the opening line names the conversation"
        screen.type("long\r")
        await screen.says("tokens" if columns > 20 else "40")
        await screen.rests()
        words = " ".join(" ".join(screen.everything).split())
        for n in range(1, 41):
            assert words.count(f"Paragraph {n} has") == 1, n
            assert words.count(f"bold words {n} ") == 1, n
        assert any(is_working(frame) for frame in screen.frames)
        assert not any("**" in line or "`" in line for frame in screen.frames for line in frame)


async def test_one_types_while_it_grows_and_a_steered_message_is_answered_once(
    here: Installation, model_peer: ModelPeer
) -> None:
    model_peer.script.add(calls(ToolCall("todo", {"todos": []}), first=1.0), text="begin")
    model_peer.script.add(says("Both are done.", chunks=2, every=0.05), text="and this")
    async with chat(here) as screen:
        screen.type("begin\r")
        await screen.shows(is_working, "working")
        screen.type("and this\r")
        await screen.says("Both are done.")
        await screen.rests()
        seen = screen.everything
        assert sum("Both are done." in line for line in seen) == 1
        assert sum(line == "> and this" for line in seen) == 1
        assert any("todo" in line for line in seen)
        assert any(line.startswith(("✓ todo", "✗ todo")) for line in seen)


async def test_ctrl_c_stops_what_grows_and_the_next_is_answered(
    here: Installation, model_peer: ModelPeer
) -> None:
    model_peer.script.add(says("never to its end " * 50, chunks=50, every=0.5), text="endless")
    async with chat(here) as screen:
        screen.type("endless\r")
        await screen.says("never to its")
        screen.type("\x03")
        await screen.says("Stopped.")
        await screen.rests()
        screen.type("next\r")
        await screen.shows(lambda lines: "next" in lines, "the next answer")
        await screen.rests()


async def test_a_terminal_that_is_resized_while_it_grows_loses_nothing(
    here: Installation, model_peer: ModelPeer
) -> None:
    text = "\n\n".join(f"第{n}段 🙂 has words" for n in range(1, 31))
    model_peer.script.add(says(text, chunks=60, every=0.05), text="long")
    async with chat(here) as screen:
        screen.type("long\r")
        await screen.says("第 5 段" if any("第 " in line for line in screen.lines) else "has words")
        screen.resize(40, 12)
        await screen.says("tokens")
        await screen.rests()
        said = "".join("".join(screen.everything).split())
        assert all(f"{n}段" in said for n in range(1, 31))


async def test_without_colours_and_on_a_dumb_terminal(here: Installation, model_peer: ModelPeer) -> None:
    model_peer.script.add(says("**plain** words\n\n> quoted", chunks=3), text="draw", times=2)
    async with chat(here, NO_COLOR="1") as screen:
        screen.type("draw\r")
        await screen.says("plain words")
        await screen.rests()
        assert not re.search(rb"\x1b\[(\d+;)*(3[0-8]|4[0-8]|9[0-7])[;m]", screen.raw)
    async with chat(here, TERM="dumb", leave="") as screen:
        screen.type("draw\r")
        await screen.says("**plain** words")
        await screen.shows(lambda lines: [line for line in lines if line][-1:] == [">"], "the prompt")
        assert b"\x1b[1m" not in screen.raw
        screen.type("one [[delay=500]]\r")
        await model_peer.wait_for(lambda: model_peer.in_flight.total() == 1, 30)
        screen.type("\x04")  # before the prompt is there: it leaves then


async def test_an_idle_prompt_writes_nothing_and_a_running_turn_shows_its_time(
    here: Installation, model_peer: ModelPeer
) -> None:
    model_peer.script.add(says("done", first=1.2), text="work")
    async with chat(here) as screen:
        screen.type("work\r")
        await screen.shows(lambda lines: any(line.startswith("… 1.") for line in lines), "the time")
        await screen.says("done")
        await screen.rests()
        assert await screen.written_within(2.0) == b""
