"""Where a reader sees one character: cuts must not fall inside it.

A small part of the grapheme clusters of https://www.unicode.org/reports/tr29/ that needs no tables:
combining marks, variation selectors, joined, toned and tagged emoji, flags, Hangul syllables, letters that a virama
joins.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
# Letters and a format character that belong to what stands before them: a non-joiner, Thai and Lao AM, half-width voicing marks.
_TAILS = frozenset("\u200c\u0e33\u0eb3\uff9e\uff9f")
_VIRAMA = 9  # the combining class of the marks that join two letters of an Indic script
_LONGEST = 256


def is_boundary(text: str, at: int, floor: int = 0) -> bool:
    """Whether a reader could see a new character begin at `at`, when one begins at `floor`."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after.isascii():
        return not (before == "\r" and after == "\n")
    if _JOINER in (before, after) or _extends(after):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, at, floor) % 2 == 0
    return not _joins_hangul(before, after) and not _joins_letters(text, at, floor)


def boundary_before(text: str, at: int, floor: int) -> int:
    """The last boundary in `(floor, at]`, or `at` where the cluster has no end worth waiting for."""
    for candidate in range(at, max(floor, at - _LONGEST), -1):
        if is_boundary(text, candidate, floor):
            return candidate
    return at


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char).startswith("M")
        or char in _TAILS
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int, floor: int) -> int:
    start = at
    while start > floor and _is_flag_letter(text[start - 1]):
        start -= 1
    return at - start


def _joins_hangul(before: str, after: str) -> bool:
    is_syllable = "\uac00" <= after <= "\ud7a3"
    if "\u1100" <= before <= "\u115f":
        return is_syllable or "\u1100" <= after <= "\u11ff"
    return (
        "\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    ) and "\u1160" <= after <= "\u11ff"


def _joins_letters(text: str, at: int, floor: int) -> bool:
    """Rule GB9c, for all scripts: a virama, and what extends it, joins the letter that follows."""
    if unicodedata.category(text[at]) != "Lo":
        return False
    for before in reversed(text[max(floor, at - 4) : at]):
        if unicodedata.combining(before) == _VIRAMA:
            return True
        if not unicodedata.combining(before) and not _extends(before):
            return False
    return False
