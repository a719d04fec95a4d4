"""The text of an HTML mail: what its reader sees, and what it quotes apart. Pure; heavy, so off the loop."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote

from inscriptis import get_text
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig
from lxml import etree
from lxml.html import HtmlElement, HTMLParser, fromstring, tostring

__all__ = ["shown_pictures", "text_of_html"]

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
_UNREAD = re.compile(r"<(script|style|head)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>?")
_PICTURE = re.compile(r"\bcid:([^\"'\s<>)]{1,300})", re.IGNORECASE)
_QUOTE_BEGINS = re.compile(
    r"<blockquote\b|\bgmail_quote\b|\bmoz-cite-prefix\b|\byahoo_quoted\b|\bprotonmail_quote\b|\bdivRplyFwdMsg\b"
    r"|\bappendonsend\b|\bborder-top:\s?solid #(?:E1E1E1|B5C4DF)",
    re.IGNORECASE,
)


def shown_pictures(html: str, *, keep_quotes: bool) -> set[str]:
    """The Content-IDs of pictures in a document; of one that has new words above a quotation, of those alone."""
    html = html[:_MOST]
    quote = None if keep_quotes else _QUOTE_BEGINS.search(html)
    if quote is not None and _by_hand(html[: html.rfind("<", 0, quote.end())]):
        html = html[: quote.start()]
    return {unquote(found[1]) for found in _PICTURE.finditer(unescape(html))}


def text_of_html(html: str, *, keep_quotes: bool, by_hand: bool = False) -> str:
    """What a reader sees of a document. Hidden text is left out: it is where instructions are smuggled in.

    by_hand: without the parser, and so with what is hidden and with what is quoted.
    """
    if by_hand:
        return _by_hand(html[:_MOST])
    try:
        tree = _tree(html[:_MOST])
        if tree is None:
            return ""
        _strip(tree, keep_quotes=keep_quotes)
        return _tidy(get_text(tostring(tree, encoding="unicode"), _CONFIG))
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, IndexError, KeyError, TypeError):
        # inscriptis raises many things on documents that no browser would mind
        return _by_hand(html[:_MOST])


def _by_hand(html: str) -> str:
    return _tidy(unescape(_TAG.sub(" ", _UNREAD.sub(" ", html))))


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
