"""Markdown as messages of text and entities: nothing needs escaping, so nothing can be escaped wrongly.

Source: https://core.telegram.org/bots/api#messageentity, offsets and lengths in UTF-16 code units.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from adapters.markdown.cuts import Region, cut_ranges
from adapters.markdown.flat import Flat, Span, SpanType, flatten
from adapters.markdown.split import utf16_len

MAX_ENTITIES = 100
"""A server drops the entities of a message over this number, so styles are given up before links."""

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_DEAREST: tuple[SpanType, ...] = ("text_link", "pre", "blockquote", "spoiler", "code")


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity of a message; `offset` and `length` count UTF-16 code units."""

    type: SpanType
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class FormattedPiece:
    """One message: never blank, its entities complete in themselves, outer ones first."""

    text: str
    entities: tuple[Entity, ...] = ()


def render_entities(markdown: str, limit: int = 4096, reserve: int = 0) -> list[FormattedPiece]:
    """The messages that show a Markdown text, in order; none when there is nothing to show.

    Each is at most `limit - reserve` UTF-16 units long. Joined, they are the displayed text; only white
    space beside a cut is dropped. Raises `ValueError` when no character fits (`limit - reserve` below 2).
    """
    room = limit - reserve
    if room < 2:
        raise ValueError(f"A message of {limit} units with {reserve} kept back has no room for a character.")
    flat = flatten(markdown)
    ranges = cut_ranges(flat.text, room, utf16_len, _regions(flat, room))
    return [_piece(flat.text[start:end], spans) for start, end, spans in _shared_out(flat, ranges)]


def _shared_out(flat: Flat, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, tuple[Span, ...]]]:
    """Each piece with its spans, in the piece's own offsets; both come in order, so one pass does."""
    waiting = deque(flat.spans)
    running: list[Span] = []
    for start, end in ranges:
        while waiting and waiting[0].start < end:
            running.append(waiting.popleft())
        yield start, end, tuple(_clip(running, flat.text[start:end], start))
        running = [span for span in running if span.end > end]


def _regions(flat: Flat, room: int) -> list[Region]:
    """Links, code spans and blocks that fit are kept whole; longer blocks are cut between lines."""
    regions: list[Region] = []
    for span in flat.spans:
        if span.type not in ("text_link", "code", "pre"):
            continue
        if utf16_len(flat.text[span.start : span.end]) <= room:
            regions.append(Region(span.start, span.end))
        elif span.type == "pre":
            regions.append(Region(span.start, span.end, is_code=True))
    return regions


def _piece(text: str, spans: Sequence[Span]) -> FormattedPiece:
    astral = [found.start() for found in _ASTRAL.finditer(text)]
    entities: list[Entity] = []
    for span in _affordable(spans):
        offset = span.start + bisect_left(astral, span.start)
        length = span.end + bisect_left(astral, span.end) - offset
        entities.append(Entity(span.type, offset, length, span.url, span.language))
    return FormattedPiece(text, tuple(entities))


def _clip(spans: Sequence[Span], text: str, start: int) -> list[Span]:
    """The spans that lie in a piece, in its own offsets, without white space at their ends."""
    clipped: list[Span] = []
    for span in spans:
        low, high = max(0, span.start - start), min(len(text), span.end - start)
        if low >= high or not (inner := text[low:high].strip()):
            continue
        if span.type != "pre":
            low += len(text[low:high]) - len(text[low:high].lstrip())
            high = low + len(inner)
        clipped.append(Span(span.type, low, high, span.url, span.language))
    return [_around_code(span, clipped) if span.type == "blockquote" else span for span in clipped]


def _around_code(quote: Span, spans: Sequence[Span]) -> Span:
    """A quotation lies around the code in it also where that begins or ends with white space."""
    code = [s for s in spans if s.type == "pre" and s.start < quote.end and s.end > quote.start]
    low, high = (
        min((s.start for s in code), default=quote.start),
        max((s.end for s in code), default=quote.end),
    )
    return replace(quote, start=min(low, quote.start), end=max(high, quote.end))


def _affordable(spans: Sequence[Span]) -> Sequence[Span]:
    if len(spans) <= MAX_ENTITIES:
        return spans
    dear = [span for span in spans if span.type in _DEAREST]
    cheap = [span for span in spans if span.type not in _DEAREST]
    kept = set(map(id, [*dear, *cheap][:MAX_ENTITIES]))
    return [span for span in spans if id(span) in kept]
