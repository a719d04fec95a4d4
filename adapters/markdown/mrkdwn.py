"""Markdown as Slack's mrkdwn: text with marks, three characters escaped.

It is cut before it is written, so that no cut can fall inside a mark or an escape.
Source: https://docs.slack.dev/messaging/formatting-message-text . Marks hold beside white space and punctuation
alone and end with their line; a zero-width space stands where they must touch a word. `literal` has what is no mark.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from adapters.markdown.cuts import Region, cut_ranges
from adapters.markdown.flat import Flat, Span, write_flat
from adapters.markdown.literal import as_literal, literal_marks
from adapters.markdown.split import utf16_len
from adapters.markdown.tree import parse

__all__ = ["MrkdwnPiece", "Pings", "escape", "render_mrkdwn"]

Pings = Literal["none", "users", "all"]
"""Which tokens of the text notify: none, those of users, or also those of groups and channels."""

_SCHEMES = ("http", "https", "mailto", "tel")
_MARKS = {"bold": "*", "italic": "_", "strikethrough": "~", "code": "`"}
_GAP = "\u200b"
_BEFORE = frozenset(" \t\n([{\"'«“‘—–-:;,.!?/>" + _GAP)
_AFTER = frozenset(" \t\n)]}\"'»”’—–-:;,.!?/" + _GAP)
_LONGEST_LINK = 1900
_LEAST = 32
_SMALLEST_ROOM = 4
_MARKS_TAKE = 200  # units that the marks of an ordinary piece stay below
_USERS = r"<@[UW][A-Z0-9]{1,30}>"
_TOKENS = {
    "users": re.compile(f"({_USERS})"),
    "all": re.compile(f"({_USERS}|<!(?:here|channel|everyone)>|<!subteam\\^S[A-Z0-9]{{1,30}}>)"),
}
_FENCE = re.compile("`{3,}")


@dataclass(frozen=True, slots=True)
class MrkdwnPiece:
    """One message. text: as people see it; source: as it is sent."""

    text: str
    source: str


def render_mrkdwn(
    markdown: str, limit: int = 4000, reserve: int = 0, pings: Pings = "none"
) -> list[MrkdwnPiece]:
    """The messages that show a Markdown text, in order; none when there is nothing to show.

    Each source is at most `limit - reserve` UTF-16 units long. Joined, the texts are the displayed text; only
    white space beside a cut is dropped. Raises `ValueError` when `limit - reserve` is below 32.
    """
    room = limit - reserve
    if room < _LEAST:
        raise ValueError(f"A message of {limit} units with {reserve} kept back is too small.")
    flat = write_flat(parse(markdown), link_schemes=_SCHEMES)
    writable = [span for span in flat.spans if span.type != "text_link" or _is_short(span, room)]
    first = room if not writable else room - min(_MARKS_TAKE, room // 8)
    return list(_fitted(Flat(flat.text, tuple(writable)), first, room, pings))


def escape(text: str, pings: Pings = "none") -> str:
    """A text that shows as it is: `&`, `<` and `>` escaped, but for tokens that may notify."""
    tokens = _TOKENS.get(pings)
    if tokens is None:
        return _escaped(text)
    parts = tokens.split(text)
    return "".join(part if n % 2 else _escaped(part) for n, part in enumerate(parts))


def _written(text: str, pings: Pings = "none") -> str:
    """Escaped, and without three backticks in a row, which would begin a code block."""
    return _FENCE.sub(lambda run: _GAP.join(run[0]), escape(text, pings))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped_len(text: str) -> int:
    return utf16_len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def _is_short(span: Span, room: int) -> bool:
    return utf16_len(_address(span.url or "")) <= min(_LONGEST_LINK, room // 2)


def _fitted(flat: Flat, room: int, limit: int, pings: Pings) -> Iterator[MrkdwnPiece]:
    """Pieces cut to `room` of text; where marks make one longer than `limit`, it is cut once more."""
    for start, end in cut_ranges(flat.text, room, _escaped_len, _regions(flat, room)):
        piece = _clipped(flat, start, end)
        source = _Writer(piece, pings).write()
        if utf16_len(source) <= limit:
            yield MrkdwnPiece(piece.text, source)
        elif room > _SMALLEST_ROOM:
            yield from _fitted(piece, room // 2, limit, pings)
        else:
            yield MrkdwnPiece(piece.text, _written(piece.text))


def _regions(flat: Flat, room: int) -> list[Region]:
    """Links, code spans and blocks that fit are kept whole; longer blocks are cut between lines."""
    regions: list[Region] = []
    for span in flat.spans:
        if span.type not in ("text_link", "code", "pre"):
            continue
        if _escaped_len(flat.text[span.start : span.end]) <= room:
            regions.append(Region(span.start, span.end))
        elif span.type == "pre":
            regions.append(Region(span.start, span.end, is_code=True))
    return regions


def _clipped(flat: Flat, start: int, end: int) -> Flat:
    spans = [
        replace(span, start=max(span.start, start) - start, end=min(span.end, end) - start)
        for span in flat.spans
        if span.start < end and span.end > start
    ]
    return Flat(flat.text[start:end], tuple(spans))


class _Writer:
    """Writes one piece. Links and code are written whole, styles line by line around and between them."""

    def __init__(self, flat: Flat, pings: Pings) -> None:
        self._text = flat.text
        self._pings = pings
        self._quotes = [span for span in flat.spans if span.type == "blockquote"]
        whole = [span for span in flat.spans if _is_whole(span, flat.text)]
        self._whole = {span.start: span for span in whole}
        styles = [span for span in flat.spans if span.type in ("bold", "italic", "strikethrough")]
        lines = [part for span in styles for part in _lines(span, flat.text)]
        self._opens: dict[int, list[Span]] = {}
        for part in lines:
            if not any(span.start <= part.start and part.end <= span.end for span in whole):
                self._opens.setdefault(part.start, []).append(part)
        breaks = {at + 1 for at, char in enumerate(flat.text) if char == "\n"}
        self._literal = literal_marks(flat.text, [*whole, *styles])
        self._stops = sorted({*self._opens, *self._whole, *(part.end for part in lines), *breaks})

    def write(self) -> str:
        out: list[str] = []
        open_: list[Span] = []
        at = 0
        while at < len(self._text):
            self._begin(out, open_, at)
            whole = self._whole.get(at)
            end = whole.end if whole is not None else self._next_stop(at)
            out.append(self._whole_text(whole) if whole is not None else self._plain(at, end))
            at = end
            self._end(out, open_, at)
        return "".join(out)

    def _begin(self, out: list[str], open_: list[Span], at: int) -> None:
        whole = self._whole.get(at)
        if self._is_line_start(at) and (whole is None or whole.type != "pre"):
            if self._is_quoted(at):
                out.append("> ")
            elif self._text[at] in ">＞":
                out.append(_GAP)  # escaped or not, it would begin a quotation
        starting = self._opens.get(at, [])
        needs_gap = bool(starting) or (whole is not None and whole.type == "code")
        if needs_gap and out and out[-1][-1:] not in _BEFORE and not (open_ and open_[-1].start == at):
            out.append(_GAP)
        for span in starting:
            out.append(_MARKS[span.type])
            open_.append(span)

    def _end(self, out: list[str], open_: list[Span], at: int) -> None:
        is_marked = out[-1].endswith("`") and len(out[-1]) > 1
        while open_ and open_[-1].end <= at:
            out.append(_MARKS[open_.pop().type])
            is_marked = True
        if is_marked and at < len(self._text) and self._text[at] not in _AFTER and not self._opens.get(at):
            out.append(_GAP)

    def _next_stop(self, at: int) -> int:
        place = bisect_right(self._stops, at)
        return self._stops[place] if place < len(self._stops) else len(self._text)

    def _plain(self, start: int, end: int) -> str:
        parts: list[str] = []
        for at in sorted(at for at in self._literal if start <= at < end):
            parts += [_written(self._text[start:at], self._pings), as_literal(self._text[at])]
            start = at + 1
        return "".join([*parts, _written(self._text[start:end], self._pings)])

    def _whole_text(self, span: Span) -> str:
        text = self._text[span.start : span.end]
        if span.type == "pre":
            return f"```\n{_written(text)}\n```"
        if span.type == "text_link":
            # Two ticks are code before a link is one, and nothing keeps them from it inside: another sign of that form.
            label = text.replace("\n", " ").replace("`", "\u02cb")
            return f"<{_address(span.url or '')}|{_written(label)}>"
        return f"`{_escaped(text)}`"

    def _is_line_start(self, at: int) -> bool:
        return at == 0 or self._text[at - 1] == "\n"

    def _is_quoted(self, at: int) -> bool:
        return any(span.start <= at < span.end for span in self._quotes)


def _is_whole(span: Span, text: str) -> bool:
    """Whether it is written in one go; code with a tick or a line break in it cannot be written as code."""
    inner = text[span.start : span.end]
    if span.type == "code" and ("`" in inner or "\n" in inner):
        return False
    return span.type in ("text_link", "code", "pre") and bool(inner.strip())


def _lines(span: Span, text: str) -> Iterator[Span]:
    """The span's lines without the white space at their ends."""
    at = span.start
    for line in text[span.start : span.end].split("\n"):
        inner = line.strip()
        if inner:
            start = at + len(line) - len(line.lstrip())
            yield replace(span, start=start, end=start + len(inner))
        at += len(line) + 1


def _address(url: str) -> str:
    return _escaped(url).replace("|", "%7C").replace("\n", "")
