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
from lxml.html import HtmlElement, HTMLParser, document_fromstring, tostring

from hermes.charset import declared_codec
from media.charset import charset_of
from media.readable import Piece, Unreadable

__all__ = ["read"]

_MOST = 4_000_000
"""Bytes that are looked at: a tree takes twenty times as much."""
_MOST_TEXT = 100_000
"""Characters, hidden ones too, that are laid out: inscriptis takes the square of a long line's length."""
_CONFIG = ParserConfig(css=CSS_PROFILES["strict"], display_links=False)
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)
_NO_TEXT = ("script", "style", "title", "template", "noscript", "object", "svg")


def read(file: BinaryIO) -> Iterator[Piece]:
    """The text of the document. Hidden text is left out: it is where instructions are smuggled in."""
    data = file.read(_MOST + 1)
    text = _decoded(data[:_MOST])
    is_cut, is_whole = len(data) > _MOST, True
    try:
        tree, is_whole = _tree(text)
        is_cut = _cut(tree) or is_cut
        seen = _seen(tree)
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, IndexError, KeyError, TypeError):
        # inscriptis raises many things on documents that no browser would mind
        seen = unescape(re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text))
    yield Piece(re.sub(r"[ \t\u00a0]+", " ", seen))
    if is_cut:
        raise Unreadable("too_long")
    if not is_whole:
        raise Unreadable("damaged")


def _decoded(data: bytes) -> str:
    codec = charset_of(data) or "utf-8"
    if codec == "cp1252":
        codec = declared_codec(data) or codec
    return data.decode(codec, "replace")


def _tree(html: str) -> tuple[HtmlElement, bool]:
    """The document, and whether it is all of it: libxml2 leaves out what is nested deeper than 256."""
    parser = HTMLParser(encoding="utf-8", remove_comments=True)
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", " ", html)
    tree = document_fromstring(text.encode(), parser=parser)
    for element in list(tree.iter(*_NO_TEXT)):
        _drop(element)
    for head in list(
        tree.iter("head")
    ):  # in which libxml2 leaves what it does not know of HTML5, without a <body>
        head.tag = "div"
    return tree, not any("depth" in error.message for error in parser.error_log)


def _cut(tree: HtmlElement) -> bool:
    """Take away what comes after so much text; whether there was any."""
    left = _MOST_TEXT
    for element in tree.iter():
        element.text = (element.text or "")[: left + 1]
        left -= len(element.text) + len(element.tail or "")
        if left < 0:
            element.tail = (element.tail or "")[:_MOST_TEXT]
            _end_at(element)
            return True
    return False


def _end_at(element: HtmlElement) -> None:
    del element[:]
    while (parent := element.getparent()) is not None:
        del parent[parent.index(element) + 1 :]
        element = parent


def _seen(tree: HtmlElement) -> str:
    for element in list(tree.iter()):
        if element.get("hidden") is not None or _UNSEEN.search(element.get("style") or ""):
            _drop(element)
        else:
            # inscriptis makes spaces of them, as many as are asked for.
            for measure in ("style", "align", "valign", "value"):
                element.attrib.pop(measure, None)
    return str(get_text(tostring(tree, encoding="unicode"), _CONFIG))


def _drop(element: HtmlElement) -> None:
    if element.getparent() is not None:
        element.drop_tree()
