"""The Markdown that models write: CommonMark, tables, strikethrough and spoilers, read with care.

Where CommonMark would swallow characters of ordinary prose, the characters win: `2*3*4`, `/_next_/`,
`>>> print(1)`, `[note]: text`, `&amp;`, `<tag>` and line indentation stay visible. Nothing is dropped at
the limits of nesting either: markers that are nested too deep are text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt

from adapters.markdown import block_rules, inline_rules

LINK_SCHEMES = frozenset({"http", "https", "mailto", "tel", "tg"})
"""Targets that make a link; text around any other target keeps its brackets."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):\S")


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The one parser of the process, built at first use. It holds no state between two parses."""
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    md.enable(["table", "strikethrough"])
    md.disable(["entity", "reference", "html_block", "html_inline", "lheading"])
    md.validateLink = _is_link_target  # type: ignore[method-assign]  # the documented way to set the policy
    md.normalizeLinkText = _same  # type: ignore[assignment,method-assign]  # an address is shown as it was written
    inline_rules.install(md)
    block_rules.install(md)
    return md


def _is_link_target(url: str) -> bool:
    scheme = _SCHEME.match(url)
    return scheme is not None and scheme[1].lower() in LINK_SCHEMES


def _same(url: str) -> str:
    return url
