"""How an answer is shown: drawn as it grows on a terminal, or written once it is whole."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from gateway.cli.chat.text import clean, split_done
from gateway.sentences import say

if TYPE_CHECKING:
    from rich.markdown import Markdown
    from rich.text import Text

__all__ = ["Drawn", "Plain", "View"]


class View(Protocol):
    """What a conversation shows."""

    def begin(self) -> None:
        """A message was sent."""
        ...

    def show(self, update: dict[str, Any]) -> None:
        """One line of the gateway."""
        ...

    def close(self) -> None:
        """The answer is over, or given up."""
        ...


class Plain:
    """Answers as text, whole, on stdout. `failures_apart`: sentences of failed turns go to stderr."""

    def __init__(self, *, failures_apart: bool = False) -> None:
        self._failures_apart = failures_apart

    def begin(self) -> None:
        """See `View.begin`."""

    def show(self, update: dict[str, Any]) -> None:
        """See `View.show`."""
        match update["type"]:
            case "end":
                failed = update["state"] not in {"answered", "silent"}
                self._print(update["text"], apart=failed and self._failures_apart)
            case "refused":
                self._print(update["text"], apart=self._failures_apart)
            case "notice":
                print(say("en", update["key"], **update["fields"]), file=sys.stderr, flush=True)

    def close(self) -> None:
        """See `View.close`."""

    @staticmethod
    def _print(text: str, *, apart: bool) -> None:
        stream = sys.stderr if apart else sys.stdout
        if text:
            print(clean(text) if stream.isatty() else text, file=stream, flush=True)


def _markdown(text: str) -> Markdown:
    """A line stays a line, as on the platforms; by CommonMark a single line end is a blank."""
    from rich.markdown import Markdown

    found = Markdown(text)
    for token in found.parsed:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return found


class Drawn:
    """Markdown on a terminal. Finished blocks are printed for good, only the growing one is redrawn."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(highlight=False)
        self._live: Live | None = None
        self._text = ""
        self._printed = 0
        self._mark = 0

    def begin(self) -> None:
        """See `View.begin`."""
        from rich.live import Live

        self._text, self._printed, self._mark = "", 0, 0
        self._live = Live(
            get_renderable=self._growing, console=self._console, refresh_per_second=8, transient=True
        )
        self._live.start()

    def show(self, update: dict[str, Any]) -> None:
        """See `View.show`."""
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
                self._aside(f"{update['emoji']} {update['summary'] or update['name']}".strip())
            case "tool_end" if not update["ok"]:
                self._aside(f"{update['name']} failed")
            case "notice":
                self._aside(say("en", update["key"], **update["fields"]))
            case "end" | "refused":
                self._end(clean(update["text"]))

    def close(self) -> None:
        """See `View.close`."""
        if self._live is not None:
            self._flush()
            self._live.stop()
            self._live = None

    # _text: what was streamed. _printed: how much of it is printed. _mark: where the last tool call was.

    def _growing(self) -> Markdown | Text:
        from rich.text import Text

        rest = self._text[self._printed :]
        return _markdown(rest) if rest.strip() else Text("...", style="dim")

    def _settle(self) -> None:
        done, _ = split_done(self._text[self._printed :])
        self._printed += len(done)  # before it is printed, since printing redraws what grows
        self._print(done)

    def _flush(self) -> None:
        rest, self._printed = self._text[self._printed :], len(self._text)
        self._print(rest)

    def _start_anew(self, at: int) -> None:
        if self._printed > at:
            self._aside("(the answer starts anew)")
        self._text = self._text[:at]
        self._printed, self._mark = min(self._printed, at), min(self._mark, at)

    def _end(self, whole: str) -> None:
        self._flush()
        if whole.strip() not in {self._text.strip(), self._text[self._mark :].strip()}:
            self._print(whole)

    def _print(self, text: str) -> None:
        if text.strip():
            self._console.print(_markdown(text))

    def _aside(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(clean(text), style="dim"))
