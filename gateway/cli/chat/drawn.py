"""An answer as it is drawn on a terminal: whole blocks are printed for good, only the last one is drawn anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from io import StringIO
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from gateway.cli.chat.text import clean, closed, split_done
from gateway.sentences import say

__all__ = ["Drawn", "painter"]

Paint = Callable[[RenderableType], str]


def painter(columns: Callable[[], int]) -> Paint:
    """What turns something into the characters of a terminal of so many columns."""

    def paint(what: RenderableType) -> str:
        out = StringIO()
        console = Console(file=out, force_terminal=True, width=max(columns(), 2), highlight=False)
        one = isinstance(what, Text) and what.no_wrap  # lost when printed: rich joins texts into a new one
        console.print(what, no_wrap=one, overflow="ellipsis" if one else None)
        return out.getvalue()

    return paint


class Drawn:
    """One answer. `printed` is written once, above what `growing` shows until the next news."""

    def __init__(self, paint: Paint, now: Callable[[], float] = time.monotonic) -> None:
        self._paint = paint
        self._now = now
        self._began = now()
        self._calls = 0
        self._text = ""
        self._printed = 0
        self._mark = 0
        self._ready: list[str] = []

    # _text: what was streamed. _printed: how much of it is printed. _mark: where the last tool call was.

    def show(self, update: dict[str, Any]) -> None:
        """One line of the gateway."""
        match update["type"]:
            case "delta":
                self._text += clean(update["text"])
                self._settle()
            case "reset":
                self._start_anew(self._mark)
            case "again":
                self._start_anew(0)
            case "tool":
                self._flush()
                self._mark = len(self._text)
                self._calls += 1
                self.aside(f"{update['emoji']} {update['name']} {update['summary']}".strip() + " …")
            case "tool_end":
                self.aside(
                    f"{'✓' if update['ok'] else '✗'} {update['name']}{'' if update['ok'] else ' failed'}"
                )
            case "notice":
                self.aside(say("en", update["key"], **update["fields"]))
            case "end" | "refused":
                self._end(clean(update["text"]), update.get("usage") or {})

    def printed(self) -> str:
        """What is to be printed for good, once."""
        ready, self._ready = "".join(self._ready), []
        return ready

    @property
    def has_news(self) -> bool:
        """Whether `printed` has something."""
        return bool(self._ready)

    def growing(self, rows: int) -> str:
        """What is drawn below, in at most so many rows: not printed yet, the last block, and how things stand."""
        rest = self._text[self._printed :]
        lines = "".join(self._ready).splitlines()
        if rest.strip():
            lines += self._paint(_markdown(closed(rest))).splitlines()
        room = max(rows - 1, 0)
        lines = lines[-room:] if room else []
        return "\n".join([*lines, self._status()]) + "\n"

    def aside(self, text: str) -> None:
        """A line beside the answer."""
        self._ready.append(self._paint(Text(clean(text), style="dim")))

    def _status(self) -> str:
        calls = f" · {self._calls} tool calls" if self._calls else ""
        line = Text(f"… {_elapsed(self._now() - self._began)}{calls}", "dim", no_wrap=True)
        return self._paint(line).rstrip("\n")

    def _settle(self) -> None:
        done, _ = split_done(self._text[self._printed :])
        self._printed += len(done)
        self._print(done)

    def _flush(self) -> None:
        rest, self._printed = self._text[self._printed :], len(self._text)
        self._print(rest)

    def _start_anew(self, at: int) -> None:
        if self._printed > at:
            self.aside("(the answer starts anew)")
        self._text = self._text[:at]
        self._printed, self._mark = min(self._printed, at), min(self._mark, at)

    def _end(self, whole: str, usage: dict[str, int]) -> None:
        self._flush()
        if whole.strip() not in {self._text.strip(), self._text[self._mark :].strip()}:
            self._print(whole)
        tokens = f" · {usage['prompt']} + {usage['completion']} tokens" if any(usage.values()) else ""
        if tokens:
            self.aside(f"{_elapsed(self._now() - self._began)}{tokens}")

    def _print(self, text: str) -> None:
        if text.strip():
            self._ready.append(self._paint(_markdown(text)))


def _elapsed(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


@cache
def _reader() -> MarkdownIt:
    """As on the platforms: tags and the addresses of footnotes are text, which CommonMark would swallow."""
    reader = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    return reader.disable(["html_block", "html_inline", "reference"])


def _markdown(text: str) -> Markdown:
    """A line stays a line, as on the platforms; by CommonMark a single line end is a blank."""
    found = Markdown("")
    found.markup, found.parsed = text, list(_numbered(_reader().parse(text)))
    for token in found.parsed:
        token.children = list(_in_line(token.children or ()))
    return found


def _in_line(tokens: Iterable[Token]) -> Iterator[Token]:
    """A line end stays one, and a picture is a link where it stands: it would be drawn in front of its paragraph."""
    for token in tokens:
        if token.type == "image":
            address = str(token.attrs["src"])
            yield Token("link_open", "a", 1, attrs={"href": address})
            yield from _in_line(token.children or [Token("text", "", 0, content=address)])
            yield Token("link_close", "a", -1)
        else:
            yield replace(token, type="hardbreak") if token.type == "softbreak" else token


def _numbered(tokens: Iterable[Token]) -> Iterator[Token]:
    """A list is counted on from its first number, so one begins anew where its author wrote another: years, for example."""
    next_: list[int] = []  # of each list around, from the outermost; -1: a list without numbers
    lists: list[Token] = []
    for token in tokens:
        match token.type:
            case "ordered_list_open" | "bullet_list_open":
                lists.append(token)
                next_.append(int(token.attrs.get("start", 1)) if token.tag == "ol" else -1)
            case "ordered_list_close" | "bullet_list_close":
                lists.pop()
                next_.pop()
            case "list_item_open" if token.info:
                if int(token.info) != next_[-1]:
                    yield Token("ordered_list_close", "ol", -1)
                    yield replace(lists[-1], attrs={"start": int(token.info)})
                next_[-1] = int(token.info) + 1
        yield token
