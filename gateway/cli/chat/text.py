"""Pure parts of drawing an answer: what of it is final, and what a terminal must never be sent."""

from __future__ import annotations

import re

__all__ = ["clean", "closed", "split_done"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t]*\n(?=\S)")


def clean(text: str) -> str:
    """The text without control characters: a model must not be able to move the cursor or set a title."""
    return _CONTROL.sub("", text)


def split_done(text: str) -> tuple[str, str]:
    """Whole blocks of Markdown that later text cannot change, and the rest that still grows.

    A cut is a blank line outside of code fences before a line without indent (it might continue a list).
    """
    cut = 0
    for match in _BLANK.finditer(text):
        if not _inside_fence(text[: match.start()]):
            cut = match.end()
    return text[:cut], text[cut:]


_MARK = re.compile(r"\\.|`+|\*\*|__|~~|(?<!\w)\*(?=\S)|(?<=\S)\*")
_HALF_LINK = re.compile(r"!?\[([^\]\n]*)(\](\([^)\n]*)?)?$")
_HALF_LINE = re.compile(
    r"(^|\n)[ \t]*([`~]{1,2}|#{1,6}[ \t]*|[-+*>][ \t]*|\d{1,9}[.)]?[ \t]*|[-=|:][-=|: ]*)$"
)


def closed(text: str) -> str:
    """A growing block as it may be shown: no half mark stands in it, what is open is closed."""
    if _inside_fence(text):
        return text
    text = _HALF_LINE.sub(r"\1", text)
    text = _HALF_LINK.sub(r"\1", text).rstrip("*_~`\\ \t")
    opened: list[str] = []
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark[0] == "\\" or (opened and opened[-1][0] == "`" and mark != opened[-1]):
            continue
        if mark in opened:
            del opened[opened.index(mark) :]
        else:
            opened.append(mark)
    return text + "".join(reversed(opened))


def _inside_fence(text: str) -> bool:
    """Whether the text ends inside a code fence (CommonMark 4.5: one of its kind and length closes it)."""
    opened = ""
    for match in _FENCE.finditer(text):
        mark = match[1]
        if not opened:
            opened = mark
        elif mark[0] == opened[0] and len(mark) >= len(opened):
            opened = ""
    return bool(opened)
