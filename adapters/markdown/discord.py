"""Markdown as Discord's own: text that is literal is escaped, each message is valid alone, tables are drawn.

Discord's dialect (https://support.discord.com/hc/en-us/articles/210298617) is near to what models write, but it has no
tables, reads more characters as marks, and knows nothing of a piece that came before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import unquote

from adapters.markdown.cuts import Region, cut_ranges
from adapters.markdown.flat import Flat, Span, flatten, goes_on, write_flat
from adapters.markdown.numbering import jumps
from adapters.markdown.split import utf16_len
from adapters.markdown.tree import parse

__all__ = ["escape", "render_discord"]

_LONGEST_URL = 600
"""A link's address counts as text; a longer one is shown beside its name, where it can be cut."""
_LOOK_AHEAD = 128
_MARKS = {"bold": "**", "italic": "*", "underline": "__", "strikethrough": "~~", "spoiler": "||"}
_ADDRESS = re.compile(r"https?://[^\s<>`]+")
_UNSAFE = re.compile(r"[()<>*|~`]")
_BRACKET = re.compile(r"(?<!\\)[\[\]]")
_SPECIAL = re.compile(
    r"""[*`]                                # always a mark
      | \\(?=[^0-9A-Za-z\s]|\Z)             # would swallow itself
      | (?<!\w)_ | _(?=_) | (?<=_)_         # between letters it is none, but two are
      | ~(?=~) | (?<=~)~ | \|(?=\|) | (?<=\|)\|
      | ^(?=\#{1,3}[ ]) \# | ^(?=-\#?[ ]) - | ^(?=>(?:>>)?[ ]) >
      | \[(?=[^\]\n]*(?:\]\(|\Z))            # a link that is none, or around one
    """,
    re.MULTILINE | re.VERBOSE,
)


def render_discord(markdown: str, limit: int = 2000, reserve: int = 0) -> list[str]:
    """The messages that show a Markdown text, in order; none when there is nothing to show.

    Each is at most `limit - reserve` UTF-16 units long, with its marks. Raises `ValueError` below 1,000: a link, its
    styles and a quotation must fit.
    """
    room = limit - reserve
    if room < 1000:
        raise ValueError(f"A message of {room} units has no room for marks.")
    flat = flatten(markdown)
    if any(len(span.url or "") > _LONGEST_URL for span in flat.spans):
        flat = write_flat(parse(markdown), link_schemes=())
    return list(_pieces(flat, room))


def escape(text: str, behind: str = "") -> str:
    """The text such that Discord shows it as it is. Addresses are left alone: Discord reads no marks in them.

    behind: what is written behind it. Brackets, which do not show, keep from an address what would be taken for a part of it.
    """
    parts: list[str] = []
    at = 0
    for found in _ADDRESS.finditer(text):
        after = text[found.end() : found.end() + 1] or behind
        is_apart = not after or after.isspace() or after in "<>"
        parts += [_escaped(text, at, found.start()), found[0] if is_apart else f"<{found[0]}>"]
        at = found.end()
    return "".join([*parts, _escaped(text, at, len(text))])


def _escaped(text: str, start: int, end: int) -> str:
    return "".join(_escapes(text, start, end))


def _escapes(text: str, start: int, end: int) -> Iterator[str]:
    at = start
    for found in _SPECIAL.finditer(text, start, end):
        yield text[at : found.start()]
        yield "\\"
        at = found.start()
    yield text[at:end]


def _pieces(flat: Flat, limit: int) -> Iterator[str]:
    """One piece after the other, each as long as its marks allow."""
    at = 0
    while at < len(flat.text):
        at = _skip(flat, at)
        found = _next(flat, at, limit)
        if found is None:
            at += 2 * limit
            continue
        at, piece = found
        yield piece


def _skip(flat: Flat, at: int) -> int:
    """After a cut blank lines are dropped, and the blanks between two words, but no indentation."""
    rest = flat.text[at:]
    blanks = rest[: len(rest) - len(rest.lstrip())]
    if "\n" in blanks:
        return at + blanks.rindex("\n") + 1
    is_code = any(span.type == "pre" and span.start <= at < span.end for span in flat.spans)
    return at if at == 0 or is_code else at + len(blanks)


def _next(flat: Flat, at: int, limit: int) -> tuple[int, str] | None:
    """Where the piece that begins at `at` ends, and the piece; `None` when nothing shows for a while."""
    end = min(len(flat.text), at + 2 * limit)
    around = [span for span in flat.spans if span.start < end and span.end > at]
    room = limit
    while True:
        ranges = cut_ranges(flat.text[at:end], room, utf16_len, _regions(around, at, end, room))
        if not ranges:
            return None
        low, high = ranges[0]
        piece = _Piece(flat.text, around, at + low, at + high).written()
        size, written = utf16_len(flat.text[at + low : at + high]), utf16_len(piece)
        if written <= limit:
            return at + high, piece
        room = max(1, min(size - 1, size * limit // written))
        end = min(end, at + low + 2 * room + _LOOK_AHEAD)  # no cut looks farther


def _regions(spans: Sequence[Span], start: int, end: int, room: int) -> list[Region]:
    """Links, code and blocks that fit are kept whole; longer blocks are cut between lines."""
    regions: list[Region] = []
    for span in spans:
        low, high = max(span.start, start) - start, min(span.end, end) - start
        if span.type not in ("text_link", "code", "pre"):
            continue
        if 2 * (high - low) <= room and span.start >= start and span.end <= end:
            regions.append(Region(low, high))
        elif span.type == "pre":
            regions.append(Region(low, high, is_code=True))
    return regions


class _Piece:
    """A stretch of a flat text, written with marks that begin and end in it."""

    def __init__(self, text: str, spans: Sequence[Span], start: int, end: int) -> None:
        self._text = text
        self._start, self._end = start, end
        self._jumps = sorted(start + at for at in jumps(text[start:end]))
        clipped = [
            Span(s.type, max(s.start, start), min(s.end, end), s.url, s.language)
            for s in spans
            if s.start < end and s.end > start
        ]
        parts = [part for span in clipped for part in self._lines_of(span)]
        self._spans = sorted(parts, key=lambda span: (span.start, -span.end))  # outer ones stay first

    def written(self) -> str:
        return self._write(self._start, self._end, self._spans)

    def _lines_of(self, span: Span) -> Iterator[Span]:
        """A style ends with its line, and has no white space at its ends: else it shows as stars."""
        if span.type not in _MARKS and span.type != "text_link":
            if self._text[span.start : span.end].strip():
                yield span
            return
        at = span.start
        for line in self._text[span.start : span.end].split("\n"):
            inner = line.strip()
            if inner:
                low = at + line.index(inner)
                yield Span(span.type, low, low + len(inner), span.url, span.language)
            at += len(line) + 1

    def _write(self, start: int, end: int, spans: Sequence[Span]) -> str:
        out, at = "", start
        for span, inner in _outermost(spans):
            marked = self._marked(span, inner)
            out = _joined(_joined(out, self._plain(at, span.start, marked[:1])), marked)
            at = span.end
        return _joined(out, self._plain(at, end))

    def _plain(self, start: int, end: int, behind: str = "") -> str:
        cuts = [start, *self._jumps[bisect_left(self._jumps, start) : bisect_left(self._jumps, end)], end]
        return "\\".join(
            escape(self._text[low:high], behind if high == end else "") for low, high in pairwise(cuts)
        )

    def _marked(self, span: Span, inner: Sequence[Span]) -> str:
        text = self._text[span.start : span.end]
        match span.type:
            case "pre":
                return _block(text, span.language)
            case "code":
                return _code(text)
            case "blockquote":
                quoted = self._write(span.start, span.end, inner)
                return "\n".join(f"> {line}" for line in quoted.split("\n"))
            case "text_link":
                if text == unquote(span.url or ""):
                    # Discord finds an address by itself.
                    return f"<{text}>" if goes_on(self._text[: self._end], span.end) else text
                shown, url = self._write(span.start, span.end, inner), _url(span.url or "")
                shown = _BRACKET.sub(r"\\\g<0>", shown)
                return f"{shown} ({url})" if "://" in text else f"[{shown}]({url})"
            case _:
                mark = _MARKS[span.type]
                return f"{mark}{self._write(span.start, span.end, inner)}{mark}"


def _outermost(spans: Sequence[Span]) -> Iterator[tuple[Span, list[Span]]]:
    """The spans that lie in no other one, each with those that lie in it."""
    at = 0
    while at < len(spans):
        outer, first = spans[at], at + 1
        at = first
        while at < len(spans) and spans[at].start < outer.end:
            at += 1
        yield outer, list(spans[first:at])


def _joined(left: str, right: str) -> str:
    """Two marks of one kind beside each other would be read as one: something invisible keeps them apart."""
    clash = (
        bool(left) and bool(right) and left[-1] == right[0] and right[0] in "*_~|`" and left[-2:-1] != "\\"
    )
    return left + ("\u200b" if clash else "") + right


def _code(text: str) -> str:
    """Three ticks would begin a block, so ticks in the code are kept apart, and two stand around it."""
    line = text.replace("\n", " ")
    if "`" not in line:
        return f"`{line}`"
    kept = re.sub("`(?=`)", "`\u200b", line)
    return f"``{' ' if kept[0] == '`' else ''}{kept}{' ' if kept[-1] == '`' else ''}``"


def _block(text: str, language: str | None) -> str:
    """A fence knows no longer fence around it: three ticks in the code are kept apart."""
    kept = re.sub("``(?=`)", "``\u200b", text)
    kept = f"{kept}\u200b" if kept.endswith("`") else kept
    return f"```{language or ''}\n{kept}\n```"


def _url(url: str) -> str:
    """An address in which nothing ends the link or is the other half of a mark around it."""
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", url)
