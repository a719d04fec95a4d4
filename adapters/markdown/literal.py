"""Marks that a text means literally, where Slack would take them for its own. Pure.

Slack has no escape for them, but shows what stands for a date without a valid format as it is, never as a mark:
https://github.com/speee/jsx-slack/blob/main/docs/about-escape-and-exact-mode.md . That takes 22 units more for each, so only a
mark that could have a partner in its line is written so, and only so many in one text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from adapters.markdown.flat import Span

__all__ = ["MOST", "as_literal", "literal_marks"]

MOST = 50
"""Marks of one text that are written so; what comes after them may be taken for marks."""

_KINDS = {
    "*": "bold",
    "＊": "bold",
    "_": "italic",
    "＿": "italic",
    "~": "strikethrough",
    "`": "code",
    "｀": "code",
}
_WHOLE = ("text_link", "code", "pre")
_MARK = re.compile("[*＊_＿~`｀]")
_ADDRESS = re.compile(r"https?://[^\s<>]+")


def as_literal(mark: str) -> str:
    """One mark as Slack shows it."""
    return f"<!date^00000000^{{_}}|{mark}>"


def literal_marks(text: str, spans: Sequence[Span]) -> set[int]:
    """Where the marks stand that could be the half of a pair. spans: what is written with marks, or whole."""
    found = list(_candidates(text, spans))
    if not found:
        return set()
    breaks = [at for at, char in enumerate(text) if char == "\n"]
    places = [(bisect_left(breaks, at), _KINDS[text[at]]) for at in found]
    partners = Counter(places)
    for span in spans:
        first, last = bisect_left(breaks, span.start), bisect_left(breaks, span.end)
        partners.update((line, span.type) for line in range(first, last + 1))
    paired = [at for at, place in zip(found, places, strict=True) if partners[place] > 1]
    paired.sort(
        key=lambda at: _KINDS[text[at]] != "code"
    )  # ticks first: two around a link would show its address
    return set(paired[:MOST])


def _candidates(text: str, spans: Sequence[Span]) -> Iterator[int]:
    """A mark holds beside white space, punctuation and other marks alone, and, but for ticks, with no white space inside."""
    whole = [(s.start, s.end) for s in spans if s.type in _WHOLE]
    is_whole = _within(whole)
    addresses = (found.span() for found in _ADDRESS.finditer(text) if not is_whole(found.start()))
    is_taken = _within([*whole, *addresses])
    is_inside = {
        kind: _within([(s.start, s.end) for s in spans if s.type == kind]) for kind in set(_KINDS.values())
    }
    edges = {edge for s in spans for edge in (s.start, s.end)}
    for found in _MARK.finditer(text):
        at = found.start()
        if is_taken(at):
            continue
        before, after = text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
        is_tick = _KINDS[text[at]] == "code"
        opens = not _is_letter(before) and (is_tick or not after.isspace())
        closes = not _is_letter(after) and (is_tick or not before.isspace())
        if opens or closes or at in edges or at + 1 in edges or is_inside[_KINDS[text[at]]](at):
            yield at


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _within(ranges: Sequence[tuple[int, int]]) -> Callable[[int], bool]:
    """Whether a place lies in one of the ranges, which do not overlap."""
    ordered = sorted(ranges)
    starts = [start for start, _ in ordered]

    def is_within(at: int) -> bool:
        last = bisect_right(starts, at) - 1
        return last >= 0 and at < ordered[last][1]

    return is_within
