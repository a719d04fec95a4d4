"""Folds text and queries alike, so that words are found in scripts that put no spaces between them.

A run of such script becomes overlapping pairs and its last character: `部署了` is indexed as `部署 署了 了`.
A query's run becomes the same pairs as one phrase, a single character a prefix. Pure; no text makes it raise.

Grammar of the index: https://www.sqlite.org/fts5.html#full_text_query_syntax. No part of a query reaches it
unquoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hermes.messages import scrub_surrogates

__all__ = ["FOLD_VERSION", "MatchPlan", "fold", "match_query"]

FOLD_VERSION = 1
"""Raised when `fold` gives another text for the same input; the index is then rebuilt."""

_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ece\u0edc-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd"  # Khmer
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"  # Hangul
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff"  # Han
    "\uf900-\ufaff\U00020000-\U0002fa1f"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_LAST_INDEXED = 0x2FA1F
"""Letters above are unknown to the index's tokenizer."""

_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
_MAX_QUERY = 16_384
_MAX_TERMS = 32
_MAX_PAIRS = 32


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """How to look for what a user typed.

    match: an expression of the index's grammar, `None` when nothing in the query is a word. contains: strings
    that the text itself must contain (emoji, symbols). words: the query's words, to show where they stand.
    Nothing is to be looked for when both are empty.
    """

    match: str | None
    contains: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def fold(text: str) -> str | None:
    """The text to index in place of `text`, or `None` when `text` can be indexed as it is."""
    if _RUN.search(text) is None:
        return None
    return _RUN.sub(lambda run: f" {' '.join(_indexed(run[0]))} ", text)


def _indexed(run: str) -> list[str]:
    normal = unicodedata.normalize("NFKC", run)
    return [*_pairs(normal), normal[-1]]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def match_query(query: str) -> MatchPlan:
    """Words are all required; `OR` in capitals parts alternatives; other operators are only words.

    The query is bounded: its first 16,384 characters and 32 terms count.
    """
    bounded = scrub_surrogates(query[:_MAX_QUERY])
    words = tuple(dict.fromkeys(bounded.replace("\x00", " ").split()))
    groups = list(_groups(bounded.replace("\x00", " ").split()))
    if not any(groups):
        # Nothing but operators: then they are the words that are looked for.
        groups = [[term for word in words for term in _terms(word)][:_MAX_TERMS]]
    alternatives = [" AND ".join(group) for group in groups if group]
    match = " OR ".join(f"({a})" for a in alternatives) if alternatives else None
    shown = tuple(w for w in words if w not in _OPERATORS)[:_MAX_TERMS]
    return MatchPlan(match, tuple(_symbols(words, only=match is None))[:_MAX_TERMS], shown)


def _groups(words: Iterable[str]) -> Iterator[list[str]]:
    """The terms between one OR and the next, capped over all groups together."""
    group: dict[str, None] = {}
    left = _MAX_TERMS
    for word in words:
        if word == "OR":
            yield list(group)
            group = {}
        elif word not in _OPERATORS:
            fresh = [term for term in _terms(word) if term not in group][:left]
            group.update(dict.fromkeys(fresh))
            left -= len(fresh)
        if left <= 0:
            break
    yield list(group)


def _terms(word: str) -> Iterator[str]:
    """The quoted terms of one word: runs without spaces, and what stands between them as a phrase each."""
    position = 0
    for run in _RUN.finditer(word):
        yield from _phrase(word[position : run.start()])
        yield from _run_term(run[0])
        position = run.end()
    yield from _phrase(word[position:])


def _phrase(piece: str) -> Iterator[str]:
    clean = " ".join("".join(c if _is_indexed(c) else " " for c in piece).split())
    if any(unicodedata.category(c)[0] in "LN" for c in clean):
        yield f'"{clean}"'


def _run_term(run: str) -> Iterator[str]:
    pairs = _pairs(unicodedata.normalize("NFKC", run))[:_MAX_PAIRS]
    if pairs:
        yield f'"{" ".join(pairs)}"'
    elif unicodedata.category(run)[0] in "LN":
        yield f'"{unicodedata.normalize("NFKC", run)}"*'


def _is_indexed(character: str) -> bool:
    category = unicodedata.category(character)
    return (category[0] in "LN" or category in ("Mn", "Mc", "Co")) and ord(character) <= _LAST_INDEXED


def _symbols(words: Iterable[str], *, only: bool) -> Iterator[str]:
    # Words without a letter or digit. Beside real words only pictures count: `-` in "a - b" is punctuation.
    for word in words:
        if any(_is_indexed(c) and unicodedata.category(c)[0] in "LN" for c in word):
            continue
        if only or any(unicodedata.category(c) == "So" for c in word):
            yield word
