"""Feeds an HTML page to what listens to its tags. No tree is made: one of many attributes or levels takes the square of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from lxml import etree

__all__ = ["Listener", "TooDeep", "feed"]

_PIECE = 16_384
"""Bytes that are fed at once: the parser hears only behind them that it is to stop."""
_DEEP = 500
"""Open elements: each end looks through all of them."""
_LINE_END = re.compile(r"\r\n?")
_BREAK = re.compile(r"</br\s*+>", re.IGNORECASE)
"""A slip that every browser takes for a `<br>`."""
_EMPTY = re.compile(
    r"<(?:wbr|source|track|embed|keygen|bgsound|command|menuitem|image|spacer)(?=[\s/>])",
    re.IGNORECASE,
)
"""They hold nothing and say nothing; the parser does not know that, and holds them open until what they stand in ends.

It knows that of a `<param>`; a tag is renamed, since it may be none, but stand in an attribute."""


class TooDeep(ValueError):
    """The page has too many elements within each other."""


class Listener(Protocol):
    """What hears of a page. Elements that hold nothing have an end too."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def end(self, tag: str) -> None:
        """An element ends."""

    def data(self, text: str) -> None:
        """Words."""

    def doctype(self) -> None:
        """The page says that it keeps to the standards."""


class _Target:
    """Of lxml's parser (https://lxml.de/parsing.html#the-target-parser-interface)."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._depth = 0
        self.data = listener.data

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEP:
            raise TooDeep("elements")
        self._listener.start(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._listener.end(tag)

    def doctype(self, *_identifiers: str | None) -> None:
        self._listener.doctype()

    def close(self) -> None:
        """The page ends."""


def feed(html: str, listener: Listener) -> None:
    """Read a page. Raises `TooDeep` and lxml's errors."""
    parser = etree.HTMLParser(target=_Target(listener), encoding="utf-8")
    html = _BREAK.sub("<br>", _EMPTY.sub("<param", _LINE_END.sub("\n", html)))
    data = html.encode("utf-8", "replace")
    for start in range(0, len(data), _PIECE):
        parser.feed(data[start : start + _PIECE])
    if data:
        parser.close()
