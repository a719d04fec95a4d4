"""`hermes chat` on a screen: an emulated terminal tells what stands there at each moment."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pyte
import pytest

from tests.clirig import HERMES, Installation
from tests.peers.model import ModelPeer
from tests.peers.model.script import ToolCall, calls, says


class _Answering(pyte.HistoryScreen):
    """Answers a program's questions to the terminal."""

    descriptor: int

    def write_process_input(self, data: str) -> None:
        os.write(self.descriptor, data.encode())


class Screen:
    """A terminal of so many columns and rows, with what scrolled out of it."""

    def __init__(self, descriptor: int, columns: int, rows: int) -> None:
        self._descriptor = descriptor
        self._screen = _Answering(columns, rows, history=5000)
        self._screen.descriptor = descriptor
        self._stream = pyte.ByteStream(self._screen)
        self._changed = asyncio.Event()
        self.raw = b""
        self.frames: list[list[str]] = []
        self.resize(columns, rows)
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            return
        self.raw += data
        self._stream.feed(data)
        self.frames.append(self.lines)
        self._changed.set()

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    @property
    def everything(self) -> list[str]:
        """The lines that scrolled out, and those that stand there."""
        above = ["".join(row[x].data for x in sorted(row)).rstrip() for row in self._screen.history.top]
        return [*above, *self.lines]

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    async def shows(self, condition: Callable[[list[str]], bool], what: str) -> None:
        async with asyncio.timeout(40):
            try:
                while not condition(self.lines):
                    self._changed.clear()
                    await self._changed.wait()
            except asyncio.CancelledError:
                raise AssertionError(f"never {what}: {self.lines}") from None

    async def says(self, words: str) -> None:
        await self.shows(lambda lines: any(words in line for line in lines), words)

    async def rests(self) -> None:
        """Nothing runs: the prompt stands alone."""
        await self.shows(
            lambda lines: [line for line in lines if line][-1:] == [">"] and not _working(lines), "resting"
        )


def _working(lines: list[str]) -> bool:
    return any(line.startswith("… ") for line in lines)


@asynccontextmanager
async def chat(
    here: Installation, columns: int = 80, rows: int = 24, **environ: str
) -> AsyncIterator[Screen]:
    ours, theirs = pty.openpty()
    screen = Screen(ours, columns, rows)
    inherited = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES", "NO_COLOR"}}
    process = await asyncio.create_subprocess_exec(
        HERMES,
        "chat",
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**inherited, "HERMES_HOME": str(here.root), "TERM": "xterm-256color", **environ},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    here.running.append(process)
    os.close(theirs)
    try:
        if environ.get("TERM") != "dumb":
            await screen.rests()
        yield screen
        screen.type("/exit\r" if environ.get("TERM") == "dumb" else "\x04")
        assert await asyncio.wait_for(process.wait(), 40) == 0
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)


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
        assert any(_working(frame) for frame in screen.frames)
        assert not any("**" in line or "`" in line for frame in screen.frames for line in frame)


async def test_one_types_while_it_grows_and_a_steered_message_is_answered_once(
    here: Installation, model_peer: ModelPeer
) -> None:
    model_peer.script.add(calls(ToolCall("todo", {"todos": []}), first=1.0), text="begin")
    model_peer.script.add(says("Both are done.", chunks=2, every=0.05), text="and this")
    async with chat(here) as screen:
        screen.type("begin\r")
        await screen.shows(_working, "working")
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
    async with chat(here, TERM="dumb") as screen:
        screen.type("draw\r")
        await screen.says("**plain** words")
        await screen.shows(lambda lines: [line for line in lines if line][-1:] == [">"], "the prompt")
        assert b"\x1b[1m" not in screen.raw
