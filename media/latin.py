"""Which of two encodings text in Latin letters is in, where nothing in the file says it. Pure.

Windows-1252 and Windows-1250 read the same bytes as the letters of Western and of Central European languages: E8 is an
e with a grave in one and a c with a caron in the other. So it is asked which language has the letters that come of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["is_rather_western", "is_western"]

# The letters beyond ASCII of one language each, or of some that have nearly the same.
_WESTERN = tuple(
    map(
        frozenset,
        (
            "äöüßé",
            "àâæçéèêëîïôœùûüÿ",
            "áéíñóúü",
            "àçèéíïòóúü",
            "áàâãçéêíóôõúü",
            "àèéìíîòóùú",
            "æøåéèêóòâô",
            "åäöéàü",
            "áéëïóöüèêç",
        ),
    )
)
_CENTRAL = tuple(
    map(
        frozenset,
        (
            "ąćęłńóśźż",
            "áčďéěíňóřšťúůýž",
            "áäčďéíĺľňóôŕšťúýž",
            "áéíóöőúüű",
            "čćđšž",
            "ăâîşţ",
        ),
    )
)
_MARKS = (
    "\u2018\u2019\u201c\u201d\u201e\u2039\u203a\u2013\u2014\u2026\u2022\u2122€ £§°·²³½¼¾ºª¿¡©®´×«»\xa0\xad"
)
_WITHIN = re.compile(r"[^\W\d_][\u201c\u201d\u201e\u2022\u2122€£§²³½¼¾ºª¿¡©®×][^\W\d_]")
"""Marks within a word: in another encoding they are its letters."""


def is_western(head: bytes) -> bool:
    """Whether Windows-1252 makes nothing of it but plain letters, and fewer others of one Western language."""
    text = head.decode("cp1252", "replace")
    beyond = _beyond(text)
    letters = {c for c in beyond if c not in _MARKS}
    plain = sum(1 for c in text if c.isascii() and c.isalpha())
    is_one = any(letters <= alphabet for alphabet in _WESTERN)
    return is_one and len(beyond) <= plain and _WITHIN.search(text) is None


def is_rather_western(head: bytes) -> bool:
    """Whether more of it are letters of a Western language in Windows-1252 than of another in Windows-1250, or as many."""
    return _best(head, "cp1252", _WESTERN) >= _best(head, "cp1250", _CENTRAL)


def _best(head: bytes, codec: str, alphabets: Sequence[frozenset[str]]) -> int:
    beyond = _beyond(head.decode(codec, "replace"))
    return max(sum(1 for c in beyond if c in alphabet) for alphabet in alphabets)


def _beyond(text: str) -> list[str]:
    """What is not ASCII, in small letters."""
    return [c for c in text.lower() if not c.isascii()]
