"""Marks text from outside so that the model can tell it from its user's words.

The text cannot pretend that it ended.
"""

from __future__ import annotations

import re

from hermes.messages import scrub_surrogates

__all__ = ["fence", "is_fence_free", "label"]

_TAGS = ("untrusted-input", "untrusted-output")
# Characters that show nothing and would hide a tag from the eye of this pattern, not from a model's: controls, formats,
# what Unicode calls Default_Ignorable_Code_Point, marks upon a letter, and a Braille cell without dots. Taken for good
# (`*+`): of two such runs side by side, tried in every split, ten thousand spaces would be a minute.
_HIDDEN = (
    "["
    r"\s\0-\x1f\x7f-\xa0\xad"
    r"\u0300-\u036f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20f0\u2800\u3164\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]*+"
)
_TAG = re.compile(
    "[<\uff1c\ufe64]"
    + _HIDDEN
    + "(/?)"
    + _HIDDEN
    + "("
    + "|".join(_HIDDEN.join(re.escape(c) for c in tag) for tag in _TAGS)
    + ")",
    re.IGNORECASE,
)


def fence(text: str, tag: str, source: str) -> str:
    """`text` between `<tag source=...>` and `</tag>`; what looks like one of our tags in it is defused."""
    inside = _TAG.sub(r"&lt;\1\2", scrub_surrogates(text))
    return f'<{tag} source="{label(source)}">\n{inside}\n</{tag}>'


def is_fence_free(text: str) -> bool:
    """Whether nothing in `text` looks like one of our tags."""
    return _TAG.search(text) is None


def label(text: str) -> str:
    """A name from outside as one short line without characters that mean something to us."""
    return re.sub(r'[\s<>"\[\]&]+', " ", scrub_surrogates(text)).strip()[:64]
