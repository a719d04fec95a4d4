"""Marks text from outside so that the model can tell it from its user's words.

The text cannot pretend that it ended.
"""

from __future__ import annotations

import re

from hermes.messages import scrub_surrogates

__all__ = ["fence", "is_fence_free", "label"]

_TAGS = ("untrusted-input", "untrusted-output")
# Characters that show nothing and would hide a tag from the eye of this pattern, not from a model's. Taken for good
# (`*+`): of two such runs side by side, tried in every split, ten thousand spaces would be a minute.
_HIDDEN = "[\\s\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*+"
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
