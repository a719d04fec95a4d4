"""The line editor of `hermes chat`, with a history that is kept in the home."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit import ANSI, PromptSession
from prompt_toolkit.completion import Completer, WordCompleter
from prompt_toolkit.history import FileHistory

from gateway.cli.chat.keys import build_keys
from gateway.commands.table import COMMANDS
from hermes.home import Home

__all__ = ["HISTORY", "Editor", "open_editor"]

HISTORY = "chat_history"
LEAVE = ("exit", "quit")
_MAX_BYTES = 1 << 20


class Editor:
    """Reads messages. above: what is drawn above the line, if anything."""

    def __init__(self, home: Home) -> None:
        path = home.root / HISTORY
        _prepare(path)
        self._session: PromptSession[str] = PromptSession(
            history=FileHistory(path),
            completer=_commands(),
            complete_while_typing=False,
            key_bindings=build_keys(),
        )
        self.above: Callable[[], str] = str

    def columns(self) -> int:
        """How wide the terminal is now."""
        return self._session.app.output.get_size().columns

    def rows(self) -> int:
        """How high the terminal is now."""
        return self._session.app.output.get_size().rows

    def redraw(self) -> None:
        """What is above has changed."""
        self._session.app.invalidate()

    def _prompt(self) -> ANSI:
        # What stands for good is the line alone, never an answer that was still growing when it was sent.
        return ANSI("> " if self._session.app.is_done else f"{self.above()}> ")

    async def read(self) -> str | None:
        """The next message; `None` when the user leaves. Raises `KeyboardInterrupt` on Ctrl-C."""
        try:
            text = await self._session.prompt_async(self._prompt)
        except EOFError:
            return None
        return None if text.strip().removeprefix("/") in LEAVE else text


def _prepare(path: Path) -> None:
    """Make the file private, and short again where it has grown."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size > _MAX_BYTES:
            file.seek(size - _MAX_BYTES // 2)
            kept = file.read().partition(b"\n\n")[2]
            file.seek(0)
            file.write(kept)
            file.truncate()


def _commands() -> Completer:
    return WordCompleter([f"/{name}" for name in COMMANDS] + ["/exit"], sentence=True)


async def open_editor(home: Home) -> Editor:
    """The editor; its files are read in a thread."""
    return await asyncio.to_thread(Editor, home)
