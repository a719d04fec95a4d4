"""The text of an HTML mail: what its reader sees, and what it quotes apart. Pure; heavy, so off the loop."""

from __future__ import annotations

import re
from html import unescape

from inscriptis import get_text
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig
from lxml import etree
from lxml.html import HtmlElement, HTMLParser, fromstring, tostring

__all__ = ["text_of_html"]

_MOST = 2_000_000
_CONFIG = ParserConfig(css=CSS_PROFILES["strict"], display_links=False)
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])|mso-hide\s*:\s*all",
    re.IGNORECASE,
)
_NO_TEXT = ("script", "style", "head", "title", "template", "noscript", "object", "svg")
_QUOTES = (
    "//blockquote[@type='cite']",
    "//*[contains(concat(' ', @class, ' '), ' gmail_quote ')]",
    "//*[contains(concat(' ', @class, ' '), ' moz-cite-prefix ')]",
    "//*[contains(concat(' ', @class, ' '), ' yahoo_quoted ')]",
    "//*[contains(concat(' ', @class, ' '), ' protonmail_quote ')]",
)


def text_of_html(html: str, *, keep_quotes: bool) -> str:
    """What a reader sees of a document. Hidden text is left out: it is where instructions are smuggled in."""
    try:
        tree = _tree(html[:_MOST])
        if tree is None:
            return ""
        _strip(tree, keep_quotes=keep_quotes)
        return _tidy(get_text(tostring(tree, encoding="unicode"), _CONFIG))
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, IndexError, KeyError, TypeError):
        # inscriptis raises many things on documents that no browser would mind
        return _tidy(unescape(re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]*>", " ", html[:_MOST])))


def _tree(html: str) -> HtmlElement | None:
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", " ", html)
    if not text.strip():
        return None
    return fromstring(text.encode(), parser=HTMLParser(encoding="utf-8", remove_comments=True))


def _strip(tree: HtmlElement, *, keep_quotes: bool) -> None:
    gone = list(tree.iter(*_NO_TEXT))
    gone += [e for e in tree.iter() if e.get("hidden") is not None or _UNSEEN.search(e.get("style") or "")]
    if not keep_quotes:
        gone += [e for path in _QUOTES for e in tree.xpath(path)]
    for element in gone:
        if element.getparent() is not None:
            element.drop_tree()


def _tidy(text: str) -> str:
    lines = [re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
