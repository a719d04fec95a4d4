"""The text of an HTML mail: what its reader sees, and what it quotes apart. Pure; heavy, so off the loop."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote

from lxml import etree

from adapters.email.page import lines_of
from adapters.email.parser import TooDeep

__all__ = ["shown_pictures", "text_of_html", "without_data"]

_MOST = 2_000_000
_INLINE = re.compile(r"(?<=[\"'(])data:[\w/+.;=-]{1,100},[A-Za-z0-9+/=%]{1000,}+")
_NO_LETTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_UNREAD = re.compile(r"<(script|style|title)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>?")
_LETTERHEAD = re.compile(r"\A(?:\[[^\]\n]{1,300}\](?: <[^<>\n]{1,250}>)?\n++)++(?=/)")
"""Pictures above a command."""
_BLANK = re.compile(r"\n{3,}")
_LONG_NUMBER = re.compile(r"&#\d{8,}+;?")
"""No letter; the standard library makes a number of it all the same, which may be too long for that."""
_PICTURE = re.compile(r"\bcid:([^\"'\s<>)]{1,300})", re.IGNORECASE)
_QUOTE_BEGINS = re.compile(
    r"<blockquote\b(?=[^>]{0,300}\bcite\b)"
    r"|\b(?:class|id)=[\"']?[^\"'<>]{0,100}?(?:\bgmail_quote\b|\bmoz-cite-prefix\b|yahoo_quoted\b"
    r"|\bprotonmail_quote\b|\bdivRplyFwdMsg\b|\bappendonsend\b)|\bborder-top:\s?solid #(?:E1E1E1|B5C4DF)",
    re.IGNORECASE,
)


def without_data(html: str) -> tuple[str, bool]:
    """As much of a document as is read, without the bulk of pictures that stand in it; and whether that is all."""
    text = _INLINE.sub("data:", html)
    return text[:_MOST], len(text) <= _MOST


def shown_pictures(html: str, *, keep_quotes: bool) -> set[str]:
    """The Content-IDs of pictures in a document; of one that has new words above a quotation, of those alone."""
    html = html[:_MOST]
    quote = None if keep_quotes else _QUOTE_BEGINS.search(html)
    if quote is not None and _by_hand(html[: html.rfind("<", 0, quote.end())]):
        html = html[: quote.start()]
    return {unquote(found[1]) for found in _PICTURE.finditer(_unescaped(html))}


def text_of_html(html: str, *, keep_quotes: bool, by_hand: bool = False) -> str:
    """What a reader sees of a document. Hidden text is left out: it is where instructions are smuggled in.

    keep_quotes: mails that are quoted are no quotation, else they stand behind `> `. by_hand: without the parser, and so with
    what is hidden and with quotations unmarked.
    """
    html = html[:_MOST]
    if by_hand:
        return _by_hand(html)
    try:
        lines = lines_of(_NO_LETTER.sub(" ", html), keep_quotes=keep_quotes)
    except (etree.LxmlError, TooDeep):
        return _by_hand(html)
    text = _BLANK.sub("\n\n", "\n".join(lines)).strip("\n")
    return _LETTERHEAD.sub("", text, count=1)


def _by_hand(html: str) -> str:
    return _tidy(_unescaped(_TAG.sub(" ", _UNREAD.sub(" ", html))))


def _unescaped(html: str) -> str:
    return unescape(_LONG_NUMBER.sub("\ufffd", html))


def _tidy(text: str) -> str:
    lines = [re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in text.splitlines()]
    return _BLANK.sub("\n\n", "\n".join(lines)).strip()
