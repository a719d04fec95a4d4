"""Thinking that a model writes into its text (`<think>plan</think>`), taken out while it streams.

Code is left alone: inside a fence or between backticks the tags are ordinary text. A tag that opens inside
a line and never closes was prose about the tag and comes back at the end; one that opens a line and never
closes is thinking that was cut.
"""

from __future__ import annotations

import re

__all__ = ["ThinkFilter"]

_NAMES = ("think", "thinking", "thought", "reasoning")
_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning)\s*>", re.IGNORECASE)
_HEADS = tuple(f"<{slash}{name}" for name in _NAMES for slash in ("", "/"))
_LONGEST_TAG = 24
_MARK = re.compile(r"[<`~\n]")
_RUN = re.compile(r"`+|~+")


def _may_become_tag(tail: str) -> bool:
    if len(tail) > _LONGEST_TAG:
        return False
    low = tail.lower().rstrip()
    return low in _HEADS or (low == tail.lower() and any(head.startswith(low) for head in _HEADS))


class ThinkFilter:
    """Feed pieces of text, get the visible pieces. `text` is everything visible, as it stands after `finish`.

    A closing tag alone on its line that nothing opened (the template of the model had opened it) takes
    what stood before it out of `text`; pieces given out earlier cannot be called back, so there `text` and
    the pieces differ.
    """

    def __init__(self) -> None:
        self.text = ""
        self._out: list[str] = []
        self._fresh: list[str] = []
        self._buffer = ""
        self._hidden: str | None = None  # name of the open tag
        self._held = ""  # what an inline tag hides, to come back if it never closes
        self._inline = False
        self._fence = ""
        self._ticks = 0
        self._line_start = True
        self._shown = False

    @property
    def shown(self) -> bool:
        """Whether any visible text has come yet."""
        return self._shown

    def feed(self, piece: str) -> str:
        """What of the text can be shown now."""
        if self._shown and not self._buffer and not self._hidden and not _MARK.search(piece):
            self._line_start = self._line_start and not piece.strip()
            self._out.append(piece)
            return piece
        return self._drain(piece, last=False)

    def finish(self) -> str:
        """The rest at the end of the stream."""
        rest = self._drain("", last=True)
        if self._hidden and self._inline:
            self._out.append(self._held)
            rest += self._held
        self.text = "".join(self._out)
        return rest

    def _drain(self, piece: str, *, last: bool) -> str:
        self._buffer += piece
        self._fresh = []
        while self._buffer and (self._skip(last=last) if self._hidden else self._step(last=last)):
            pass
        return "".join(self._fresh)

    def _emit(self, text: str) -> None:
        if not self._shown:
            text = text.lstrip()
            self._shown = bool(text)
        if text:
            self._out.append(text)
            self._fresh.append(text)

    def _take(self, size: int) -> str:
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _skip(self, *, last: bool) -> bool:
        """Leave out hidden text; False when more is needed."""
        for tag in _TAG.finditer(self._buffer):
            if tag[1] and tag[2].lower() == self._hidden:
                self._take(tag.end())
                # What follows stands where the opening tag stood.
                self._hidden, self._held, self._line_start = None, "", not self._inline
                return True
        keep = 0 if last else _LONGEST_TAG
        gone = self._take(max(0, len(self._buffer) - keep))
        if self._inline:
            self._held += gone
        return False

    def _step(self, *, last: bool) -> bool:
        """Give out text up to and with the next mark; False when more is needed."""
        mark = _MARK.search(self._buffer)
        before = self._take(mark.start() if mark else len(self._buffer))
        if before:
            self._line_start = self._line_start and not before.strip()
            self._emit(before)
        if mark is None:
            return False
        if mark[0] == "\n":
            self._emit(self._take(1))
            self._line_start, self._ticks = True, 0
            return True
        return self._tag(last=last) if mark[0] == "<" else self._run(last=last)

    def _run(self, *, last: bool) -> bool:
        """A run of backticks or tildes: a fence, or the border of inline code."""
        run = _RUN.match(self._buffer)
        if run is None or (run.end() == len(self._buffer) and not last):
            return False
        marks = run[0]
        after = self._buffer[run.end() : run.end() + 1]
        if self._fence:
            closes = marks[0] == self._fence[0] and len(marks) >= len(self._fence) and not after.strip()
            if self._line_start and closes:
                self._fence = ""
        elif self._line_start and len(marks) >= 3:
            self._fence = marks
        elif marks[0] == "`" and self._ticks in (0, len(marks)):
            self._ticks = 0 if self._ticks else len(marks)
        self._emit(self._take(run.end()))
        self._line_start = False
        return True

    def _tag(self, *, last: bool) -> bool:
        code = bool(self._fence or self._ticks)
        tag = None if code else _TAG.match(self._buffer)
        if tag is None:
            if not (code or last) and _may_become_tag(self._buffer):
                return False
            self._emit(self._take(1))
            self._line_start = False
        elif not tag[1]:
            self._hidden, self._inline = tag[2].lower(), not self._line_start
            self._held = self._take(tag.end()) if self._inline else ""
            if not self._inline:
                self._take(tag.end())
        else:
            self._orphan(tag)
        return True

    def _orphan(self, tag: re.Match[str]) -> None:
        taken = self._take(tag.end())
        if self._line_start:
            self._out, self._shown = [], False
        else:
            self._emit(taken)
