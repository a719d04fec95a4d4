"""A conversation at a terminal: one types at the bottom while answers grow above, and each line is sent at once.

One answer is drawn at a time; the news of the others wait until it is over. Messages that one turn answers
(steered, merged) are told by the turn's id, and shown once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from prompt_toolkit.application import in_terminal
from rich.text import Text

from gateway.cli.chat.drawn import Drawn, painter
from gateway.cli.chat.link import Link
from gateway.cli.chat.prompt import Editor
from hermes.errors import EXIT_OK, HermesError

__all__ = ["Room"]

LEFT = 130
_ROWS_BELOW = 3
"""Rows of the screen that are left to what is typed."""
_TICK = 0.25
"""Seconds: while something runs the elapsed time is seen to pass. Nothing is drawn while nothing does."""


class _Asked:
    """One message. news: what came of it; over: nothing more comes."""

    def __init__(self, text: str) -> None:
        self.is_command = text.startswith("/")
        self.news: list[dict[str, Any]] = []
        self.over = False

    @property
    def body(self) -> list[dict[str, Any]]:
        """The news without the message's own beginning and end: equal for messages that one turn answers."""
        return [u for u in self.news if u["type"] not in {"taken", "end", "refused"}]


class Room:
    """Runs a conversation until its user leaves."""

    def __init__(self, link: Link, editor: Editor) -> None:
        self._link = link
        self._editor = editor
        self._paint = painter(editor.columns)
        self._asked: list[_Asked] = []
        self._drawn: Drawn | None = None
        self._shown = 0
        self._ended: dict[str, list[dict[str, Any]]] = {}
        self._printing = asyncio.Lock()
        self._news = asyncio.Event()
        self._working = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        editor.above = self._above
        link.tell = self._tell

    async def run(self, session: str) -> int:
        """The exit code: 0 when the user left, 130 when by Ctrl-C out of a running turn."""
        await self._write(f"{session}: write to me; /help lists the commands, Ctrl-D leaves.\n")
        drawing = [
            asyncio.create_task(self._print(), name="chat printing"),
            asyncio.create_task(self._tick(), name="chat clock"),
        ]
        try:
            return await self._read()
        finally:
            tasks = [*self._tasks, *drawing]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self) -> int:
        asked_to_leave = False
        while True:
            try:
                text = await self._editor.read()
            except KeyboardInterrupt:
                if asked_to_leave:
                    self._link.hurry()
                    return LEFT if self._asked else EXIT_OK
                asked_to_leave = True
                if self._asked:
                    self._ask("/stop")
                else:
                    await self._write("Once more Ctrl-C leaves; so does /exit.\n")
                continue
            asked_to_leave = False
            if text is None:
                self._link.hurry()
                return EXIT_OK
            if text.strip():
                self._ask(text)

    # --- asking ----------------------------------------------------------------------------------------

    def _ask(self, text: str) -> None:
        asked = _Asked(text)
        self._asked.append(asked)
        self._working.set()
        self._begin(self._follow(asked, text))

    def _begin(self, what: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(what, name="chat message")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self, sentence: str) -> None:
        self._begin(self._write(self._paint(Text(sentence, style="dim"))))

    async def _follow(self, asked: _Asked, text: str) -> None:
        try:
            async for update in self._link.ask(text):
                asked.news.append(update)
                self._draw()
        except HermesError as error:  # the next message tries anew
            asked.news.append({"type": "refused", "text": str(error)})
        finally:
            asked.over = True
            self._answer_command(asked)
            self._draw()

    def _answer_command(self, asked: _Asked) -> None:
        """What a command says about the turn that runs (/stop, /status) is shown beside it, at once."""
        if asked.is_command and not asked.body and asked not in self._asked[:1]:
            drawn = Drawn(self._paint)
            for update in asked.news:
                drawn.show(update)
            self._asked.remove(asked)
            self._begin(self._write(drawn.printed()))

    # --- drawing ---------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Take the news of the message whose answer is drawn; when it is over, go on with the next."""
        while self._asked:
            first = self._asked[0]
            if self._is_known(first):
                if not first.over:
                    break
                self._asked.pop(0)
                continue
            if self._drawn is None:
                self._drawn = Drawn(self._paint)
            for update in first.news[self._shown :]:
                self._drawn.show(update)
            self._shown = len(first.news)
            if not first.over or self._drawn.has_news:
                break
            self._end(first)
        if not self._asked:
            self._working.clear()
        self._news.set()
        self._editor.redraw()

    async def _tick(self) -> None:
        while await self._working.wait():
            self._editor.redraw()
            await asyncio.sleep(_TICK)

    def _end(self, asked: _Asked) -> None:
        turn = next((u.get("turn", "") for u in asked.news if u["type"] == "end"), "")
        self._ended = {turn: asked.body} if turn else self._ended
        self._asked.remove(asked)
        self._drawn, self._shown = None, 0

    def _is_known(self, asked: _Asked) -> bool:
        """Whether the message's turn was shown already for another message, as far as one can tell yet."""
        if self._drawn is not None:
            return False
        last = asked.news[-1] if asked.news else {}
        if last.get("type") == "end":
            return last.get("turn") in self._ended
        return any(body and body == asked.body for body in self._ended.values())

    async def _print(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if self._drawn is not None and self._drawn.has_news:
                async with self._printing, in_terminal():
                    text = self._drawn.printed()
                    sys.stdout.write(text)
                    sys.stdout.flush()
                    if self._asked[0].over:
                        self._end(self._asked[0])
                self._draw()

    async def _write(self, text: str) -> None:
        async with self._printing:
            with suppress(EOFError):
                async with in_terminal():
                    sys.stdout.write(text)
                    sys.stdout.flush()

    def _above(self) -> str:
        """What stands above the line that is typed."""
        if self._drawn is not None:
            return self._drawn.growing(self._editor.rows() - _ROWS_BELOW)
        if not self._asked:
            return ""
        return Drawn(self._paint).growing(1)
