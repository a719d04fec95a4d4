"""`hermes chat` on a screen: an emulated terminal tells what stands there at each moment."""

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pyte

from tests.clirig import HERMES, Installation


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

    async def written_within(self, seconds: float) -> bytes:
        """What the program writes in that time, once it has been silent for a moment."""
        async with asyncio.timeout(40):
            while await self._more(0.4):
                pass
        return await self._more(seconds)

    async def _more(self, seconds: float) -> bytes:
        before = len(self.raw)
        self._changed.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
        return self.raw[before:]

    async def rests(self) -> None:
        """Nothing runs: the prompt stands alone."""
        await self.shows(
            lambda lines: [line for line in lines if line][-1:] == [">"] and not is_working(lines), "resting"
        )


def is_working(lines: list[str]) -> bool:
    """Whether a turn is shown to run."""
    return any(line.startswith("… ") for line in lines)


@asynccontextmanager
async def chat(
    here: Installation, columns: int = 80, rows: int = 24, leave: str = "\x04", **environ: str
) -> AsyncIterator[Screen]:
    """The installed `hermes chat`, at its prompt. At the end `leave` is typed, and it must end with 0."""
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
        await screen.rests()
        yield screen
        screen.type(leave)
        assert await asyncio.wait_for(process.wait(), 40) == 0
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
