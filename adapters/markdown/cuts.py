"""Where to cut a text that is too long for one message. Pure decisions on offsets in code points."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adapters.markdown.clusters import boundary_before

Length: TypeAlias = Callable[[str], int]
"""Measures a text as a platform does. Must grow with the text, by at least one for every character."""

# From the dearest cut to the cheapest; the cut lies where the match ends, white space after it is dropped.
_LEVELS = (
    re.compile(r"(?<=\S)(?=[^\S\n]*\n[^\S\n]*\n)"),
    re.compile(r"(?<=\S)(?=[^\S\n]*\n)"),
    re.compile(r"[.!?…](?=\s)|[。！？]"),
    re.compile(r"(?<=\S)(?=\s)"),
)
_LOOK_AHEAD = 64
_LINE_LEVEL = 1
_BREAK = re.compile(r"\s")
_LINE_BREAK = re.compile("\n")
# Fillers and variation selectors: letters and marks by category, nothing to the eye.
_INVISIBLE = frozenset("\u2800\u3164\u115f\u1160\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch `[start, end)` with its own rule: never cut, or (`is_code`) cut between lines alone."""

    start: int
    end: int
    is_code: bool = False


def cut_ranges(
    text: str, limit: int, length: Length, regions: Sequence[Region] = ()
) -> list[tuple[int, int]]:
    """The pieces of a text as `[start, end)`: none blank, each at most `limit` long where a character fits.

    `regions` are disjoint, in order, and a region that is not code fits the limit. Between two pieces
    lies white space at most.
    """
    return _Cutter(text, limit, length, regions).ranges()


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing at all."""
    return not text.strip() or all(_is_invisible(char) for char in text)


def _is_invisible(char: str) -> bool:
    return char.isspace() or char in _INVISIBLE or unicodedata.category(char) in ("Cf", "Cc")


class _Cutter:
    def __init__(self, text: str, limit: int, length: Length, regions: Sequence[Region]) -> None:
        self._text = text
        self._limit = limit
        self._length = length
        self._regions = regions
        self._starts = [region.start for region in regions]

    def ranges(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        start = self._skip(0)
        while start < len(self._text):
            cut = self._cut(start)
            end = start + len(self._text[start:cut].rstrip())
            if not is_blank(self._text[start:end]):
                found.append((start, end))
            start = self._skip(cut)
        return found

    def _skip(self, cut: int) -> int:
        """Drops blank lines after a cut, and the blanks between two words, but no indentation."""
        end = cut
        while end < len(self._text) and self._text[end].isspace():
            end += 1
        if end == len(self._text):
            return end
        line = self._text.rfind("\n", cut, end) + 1
        if line:
            return line
        region = self._around(cut)
        keeps = cut == 0 or (region is not None and region.is_code)
        return cut if keeps and end - cut < self._limit else end

    def _cut(self, start: int) -> int:
        full = self._fitting(start)
        if full >= len(self._text):
            return full
        half = start + (full - start) // 2
        for level in range(len(_LEVELS)):
            if cut := self._last_cut(level, half, full):
                return cut
        cuts = [self._last_cut(level, start, full) for level in range(len(_LEVELS))]
        last = max(cuts)
        if last and self._next_fits(last, full):
            return last
        return self._hard_cut(start, full)

    def _fitting(self, start: int) -> int:
        """The end of the longest piece from `start` that keeps the limit; at least one character."""
        low, high = start + 1, min(len(self._text), start + self._limit)
        if high <= low or self._length(self._text[start:high]) <= self._limit:
            return max(low, high)
        while low + 1 < high:
            middle = (low + high) // 2
            if self._length(self._text[start:middle]) <= self._limit:
                low = middle
            else:
                high = middle
        return low

    def _last_cut(self, level: int, after: int, full: int) -> int:
        """The last cut of a level in `(after, full]`, or 0. What follows `full` decides whether it is one."""
        found = [
            match.end()
            for match in _LEVELS[level].finditer(self._text, after + 1, full + _LOOK_AHEAD)
            if match.end() <= full
        ]
        return next((cut for cut in reversed(found) if self._allows(cut, level)), 0)

    def _allows(self, cut: int, level: int) -> bool:
        region = self._around(cut)
        return region is None or (region.is_code and level == _LINE_LEVEL)

    def _around(self, cut: int) -> Region | None:
        index = bisect_left(self._starts, cut) - 1
        if index < 0 or self._regions[index].end <= cut:
            return None
        return self._regions[index]

    def _next_fits(self, cut: int, full: int) -> bool:
        """Whether what a hard cut would break is whole in the next piece."""
        region = self._around(full)
        if region and not region.is_code:
            return True
        start = self._skip(cut)
        found = (_LINE_BREAK if region else _BREAK).search(self._text, full, start + self._limit + 1)
        end = found.start() if found else len(self._text)
        return end - start <= self._limit and self._length(self._text[start:end]) <= self._limit

    def _hard_cut(self, start: int, full: int) -> int:
        region = self._around(full)
        if region and not region.is_code and region.start > start:
            return region.start
        return boundary_before(self._text, full, start)
