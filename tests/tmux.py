"""A real terminal: tmux with a server of its own, typed into and read as a person does."""

import asyncio
import os
import shutil
import termios
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

_LOOK_EVERY = 0.05


class Tmux:
    """One pane. `lines` is what stands on the screen, `everything` also what scrolled out of it."""

    def __init__(self) -> None:
        self._socket = f"hermes-{uuid.uuid4().hex[:12]}"
        self._environ: dict[str, str] = {}

    async def start(
        self, command: Sequence[str], environ: Mapping[str, str], columns: int, rows: int
    ) -> None:
        """Start the command on a screen of that size."""
        self._environ = dict(environ)  # a fresh server takes over that of who starts it
        size = ("-x", str(columns), "-y", str(rows))
        await self._tmux("-f", os.devnull, "new-session", "-d", *size, *command)

    async def aclose(self) -> None:
        """End the server and what runs in it; it has ended by itself when nothing runs in it any more."""
        with suppress(AssertionError):
            await self._tmux("kill-server")

    async def type(self, text: str, *keys: str) -> None:
        """Type the text, then the keys by tmux's names (Enter, C-d)."""
        await self._tmux("send-keys", "-l", "--", text)
        await self.press(*keys)

    async def press(self, *keys: str) -> None:
        """Press keys by tmux's names."""
        for key in keys:
            await self._tmux("send-keys", key)

    async def paste(self, text: str, *, marked: bool) -> None:
        """Paste; `marked`: in brackets where the program asks for them, as most terminals do."""
        await self._tmux("load-buffer", "-", stdin=text)
        await self._tmux("paste-buffer", "-d", *(("-p",) if marked else ()))

    async def clear(self) -> None:
        """Begin with an empty screen."""
        await self.press("C-l")
        await self.shows(lambda lines: len([line for line in lines if line]) <= 1, "an empty screen")
        await self._tmux("clear-history")

    async def lines(self) -> list[str]:
        """What stands on the screen."""
        return [line.rstrip() for line in (await self._tmux("capture-pane", "-p")).splitlines()]

    async def everything(self) -> list[str]:
        """What was printed, its wrapped lines whole again, without the empty ones at the end."""
        text = await self._tmux("capture-pane", "-p", "-J", "-S", "-")
        return [line.rstrip() for line in text.rstrip().splitlines()]

    async def echoes(self) -> bool:
        """Whether the terminal shows what is typed; it does not while a secret is asked for."""
        pane = (await self._tmux("display-message", "-p", "#{pane_tty}")).strip()
        return await asyncio.to_thread(_echoes, pane)

    async def shows(
        self, condition: Callable[[list[str]], bool], what: str, seconds: float = 40
    ) -> list[str]:
        """The screen once it fulfils the condition."""
        deadline = time.monotonic() + seconds
        while not condition(lines := await self.lines()):
            assert time.monotonic() < deadline, f"never {what}: {lines}"
            await asyncio.sleep(_LOOK_EVERY)
        return lines

    async def says(self, words: str, seconds: float = 40) -> None:
        """Wait for these words on one line of the screen."""
        await self.shows(lambda lines: any(words in line for line in lines), words, seconds)

    async def _tmux(self, *words: str, stdin: str = "") -> str:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "tmux", "-L", self._socket, *words, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environ
        )
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), 30)
        assert process.returncode == 0, f"tmux {words}: {err.decode()}"
        return out.decode()


def _echoes(terminal: str) -> bool:
    descriptor = os.open(terminal, os.O_RDONLY | os.O_NOCTTY)
    try:
        return bool(termios.tcgetattr(descriptor)[3] & termios.ECHO)
    finally:
        os.close(descriptor)


@asynccontextmanager
async def in_tmux(
    *command: str, environ: Mapping[str, str], columns: int = 100, rows: int = 30
) -> AsyncIterator[Tmux]:
    """The command on a screen of its own. Skips the test where tmux is not installed."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    tmux = Tmux()
    await tmux.start(command, environ, columns, rows)
    try:
        yield tmux
    finally:
        await tmux.aclose()
