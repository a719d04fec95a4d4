"""An answer that grows before people's eyes: one message, changed in place, until the final one takes its place.

One call for the message at a time, spaced by the platform's interval, and none when the pace is tight: what is shown here may
always be left out. Only the first message is written down; the final answer changes it through the outbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import structlog

from gateway.outbox import Draft
from gateway.signs import Grown, Signs
from hermes.adapter import EditingAdapter, Piece
from hermes.agent import TextDelta, TextReset, ToolStarted, TurnUpdate
from hermes.clock import Clock
from hermes.errors import AdapterError
from hermes.events import Target

__all__ = ["LiveRules", "LiveView", "Sketch"]

Progress = Literal["off", "new", "all"]

log = structlog.get_logger("gateway.live")

_FIRST_AFTER = 1.0
"""Seconds of a turn before anything shows: a quick answer comes as one message."""
_FIRST_PAUSE = 0.4
"""Seconds between the first words and the first message, so that it does not begin with half a word."""
_MOST_TEXT = 16_384
"""Characters of the text that are kept to be shown: more than one message holds."""
_STILL = 60.0
"""Seconds without news after which the message says that the work goes on."""


@dataclass(frozen=True, slots=True)
class LiveRules:
    """on: answers grow. progress: tool calls are shown: none, each tool once, or every call."""

    on: bool = True
    progress: Progress = "new"


class Sketch:
    """What there is to show of a turn so far. Pure."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._lines: list[str] = []
        self._tools: set[str] = set()
        self._text: list[str] = []
        self._room = _MOST_TEXT

    def put(self, update: TurnUpdate) -> bool:
        """Take an update in; whether there is something new to show."""
        match update:
            case TextDelta(text=text):
                return self._add(text[: self._room])
            case TextReset():
                self._clear()
                return False
            case ToolStarted():
                return self._tool(update)
            case _:
                return False

    def _add(self, text: str) -> bool:
        if text:
            self._text.append(text)
            self._room -= len(text)
        return bool(text.strip())

    def _clear(self) -> None:
        self._text.clear()
        self._room = _MOST_TEXT

    def _tool(self, call: ToolStarted) -> bool:
        self._clear()
        if self._progress == "off" or (self._progress == "new" and call.name in self._tools):
            return False
        self._tools.add(call.name)
        sign = call.emoji or "⚙"
        summary = f" {_plain(call.summary)}" if call.summary else ""
        self._lines = [*self._lines[-7:], f"{sign} `{call.name}`{summary}"]
        return True

    def markdown(self, note: str = "") -> str:
        """The tool lines, then the text, then `note`."""
        parts = ["\n".join(self._lines), "".join(self._text).strip(), note]
        return "\n\n".join(p for p in parts if p)


def _plain(text: str) -> str:
    """A summary as words: nothing in it is markup."""
    line = " ".join(text.split())[:80]
    return f"`{line}`" if line and "`" not in line else line.replace("`", "'")


class LiveView:
    """One turn's growing message at one target. `put` from the turn, `run` as a task, `finish` before the turn is closed."""

    def __init__(
        self,
        signs: Signs,
        clock: Clock,
        rules: LiveRules,
        target: Target,
        turn_id: str,
        say: Callable[..., str],
    ) -> None:
        self._signs = signs
        self._clock = clock
        self._target = target
        self._turn_id = turn_id
        self._say = say
        self._sketch = Sketch(rules.progress)
        self._adapter: EditingAdapter | None = signs.editor(target) if rules.on else None
        self._news = asyncio.Event()
        self._shown: Piece | None = None
        self._call: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._began = clock.monotonic()
        self._gone = False
        self.message_id: str | None = None

    def put(self, update: TurnUpdate) -> None:
        """Something happened in the turn; never blocks."""
        if self._sketch.put(update):
            self._news.set()

    def start(self, message_id: str | None = None) -> None:
        """Begin to show. `message_id`: the message that an earlier process began."""
        self.message_id = message_id
        if self._adapter is not None:
            self._task = asyncio.create_task(self._run(self._adapter), name="live")

    async def finish(self) -> str | None:
        """Show no more, wait for the call in flight; the message that the final answer changes, if one stands."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._call is not None:
            await asyncio.wait({self._call})
        if self._gone:
            self.message_id = None
        return self.message_id

    async def _run(self, adapter: EditingAdapter) -> None:
        await self._clock.sleep(_FIRST_AFTER)
        group = adapter.capabilities.pace.is_group(self._target.chat)
        every = adapter.capabilities.edit_every_group if group else adapter.capabilities.edit_every
        await self._news.wait()
        await self._clock.sleep(_FIRST_PAUSE)
        while not self._gone:
            quiet = not await self._wait_news()
            self._news.clear()
            self._call = asyncio.create_task(self._show(adapter, quiet=quiet), name="live call")
            try:
                await asyncio.shield(self._call)
            except Exception:  # what is shown here may be left out; the answer must not fail with it
                log.exception("live.failed", instance=self._target.instance)
                return
            await self._clock.sleep(every)

    async def _wait_news(self) -> bool:
        """Whether there is news; `False` after a long time without."""
        news = asyncio.create_task(self._news.wait())
        still = asyncio.create_task(self._clock.sleep(_STILL))
        try:
            await asyncio.wait({news, still}, return_when=asyncio.FIRST_COMPLETED)
            return self._news.is_set()
        finally:
            news.cancel()
            still.cancel()

    async def _show(self, adapter: EditingAdapter, *, quiet: bool) -> None:
        minutes = int((self._clock.monotonic() - self._began) // 60)
        note = self._say("still_working", minutes=minutes) if quiet and minutes else ""
        piece = adapter.render_live(self._sketch.markdown(note), self._target)
        if piece is None or piece == self._shown:
            return
        if self.message_id is None:
            grown = await self._begin(piece)
        else:
            grown = await self._signs.edit_live(self._target, self.message_id, piece)
        self._gone = grown == "gone"
        if grown == "shown":
            self._shown = piece
        elif grown == "left out":
            self._news.set()  # there may be room the next time

    async def _begin(self, piece: Piece) -> Grown:
        key = f"{self._turn_id}:live:{int(self._began * 1000)}"
        try:
            self.message_id = await self._signs.begin_live(
                Draft(key, self._target, piece, "live", self._turn_id)
            )
        except AdapterError as error:
            log.info("live.not_begun", instance=self._target.instance, error=str(error))
            return "gone"
        return "left out" if self.message_id is None else "shown"
