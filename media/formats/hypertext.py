"""HTML: what its reader sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import BinaryIO

from inscriptis import get_text
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig
from lxml import etree
from lxml.html import HTMLParser, fromstring, tostring

from media.charset import charset_of, declared_charset
from media.readable import Piece, Unreadable

__all__ = ["read"]

_MOST = 4_000_000
"""Bytes that are looked at: a tree takes twenty times as much."""
_CONFIG = ParserConfig(css=CSS_PROFILES["strict"], display_links=False)
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)
_NO_TEXT = ("script", "style", "head", "title", "template", "noscript", "object", "svg")


def read(file: BinaryIO) -> Iterator[Piece]:
    """The text of the document. Hidden text is left out: it is where instructions are smuggled in."""
    data = file.read(_MOST + 1)
    text = _decoded(data[:_MOST])
    try:
        seen = _seen(text)
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, IndexError, KeyError, TypeError):
        # inscriptis raises many things on documents that no browser would mind
        seen = unescape(re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text))
    yield Piece(re.sub(r"[ \t\u00a0]+", " ", seen))
    if len(data) > _MOST:
        raise Unreadable("too_long")


def _decoded(data: bytes) -> str:
    codec = charset_of(data) or "utf-8"
    if codec == "cp1252":
        codec = declared_charset(data) or codec
    return data.decode(codec, "replace")


def _seen(html: str) -> str:
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", " ", html)
    if not text.strip():
        return ""
    tree = fromstring(text.encode(), parser=HTMLParser(encoding="utf-8", remove_comments=True))
    gone = list(tree.iter(*_NO_TEXT))
    gone += [e for e in tree.iter() if e.get("hidden") is not None or _UNSEEN.search(e.get("style") or "")]
    for element in gone:
        if element.getparent() is not None:
            element.drop_tree()
    return str(get_text(tostring(tree, encoding="unicode"), _CONFIG))
