"""An HTML page as the lines that its reader sees, written while its tags come. Linear in its length, whatever it says.

No tree is made: one of many attributes or levels takes the parser the square of them. No measure counts: a page may ask for
any number of spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lxml import etree

from adapters.email.lines import Lines
from adapters.email.rules import Rules, rules_of
from adapters.email.unseen import declarations, is_tiny, is_unseen

__all__ = ["TooDeep", "lines_of"]

_PIECE = 16_384
"""Bytes that are fed at once: the parser hears only behind them that it is to stop."""
_DEEP = 500
"""Open elements: each end looks through all of them."""
_CELLS = 20
"""Cells within each other that are cells: each level copies what is in it."""
_NO_TEXT = frozenset(
    "script style title template noscript object svg datalist rp video audio canvas iframe".split()  # noqa: SIM905
)
"""Not the head: what of HTML5 the parser does not know, it leaves in there where a page has no <body>."""
_APART = frozenset(["p", "h1", "h2", "h3", "h4", "h5", "h6", "figure"])
_BLOCKS = _APART | frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "footer",
        "form",
        "header",
        "hgroup",
        "hr",
        "layer",
        "li",
        "listing",
        "main",
        "nav",
        "ol",
        "plaintext",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
        "xmp",
    ]
)
_AS_IT_STANDS = frozenset(["pre", "xmp", "listing", "plaintext"])
_QUOTES = frozenset(["gmail_quote", "moz-cite-prefix", "yahoo_quoted", "protonmail_quote"])
_BULLETS = ("* ", "+ ", "o ", "- ")


class TooDeep(ValueError):
    """The page has too many elements within each other."""


class _Open(NamedTuple):
    """An element that is open. cell, quote: the lines around it, where it is one.

    beside: it stands as a box beside others, which touch none of its words. row: so do those in it.
    """

    block: bool
    apart: bool
    as_it_stands: bool
    tiny: bool
    below: bool
    beside: bool = False
    row: bool = False
    cell: Lines | None = None
    quote: Lines | None = None


def lines_of(html: str, *, keep_quotes: bool) -> list[str]:
    """The lines. keep_quotes: mails that are quoted stand there as the rest does, else behind `> ` as in plain text.

    Raises `TooDeep` and lxml's errors.
    """
    page = _Page(rules_of(html), keep_quotes=keep_quotes)
    parser = etree.HTMLParser(target=page, encoding="utf-8")
    data = html.encode("utf-8", "replace")
    for start in range(0, len(data), _PIECE):
        parser.feed(data[start : start + _PIECE])
    if data:
        parser.close()
    page.lines.end()
    return page.lines.done


class _Page:
    """A target of lxml's parser (https://lxml.de/parsing.html#the-target-parser-interface)."""

    def __init__(self, rules: Rules, *, keep_quotes: bool) -> None:
        self.lines = Lines()
        self._marks_quotes = not keep_quotes
        self._open = [_Open(block=True, apart=False, as_it_stands=False, tiny=False, below=False)]
        self._cells = 0
        self._left_out = 0  # elements that are open, from the one on that is not read
        self._lists: list[int | None] = []
        self._rules = rules

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        if len(self._open) + self._left_out > _DEEP:
            raise TooDeep("elements")
        if self._left_out or tag in _NO_TEXT:
            self._left_out += 1
            return
        own = declarations(attributes["style"]) if "style" in attributes else {}
        style = {**self._rules.of(tag, attributes), **own}
        if "hidden" in attributes or (tag == "dialog" and "open" not in attributes) or is_unseen(style):
            self._left_out += 1
            return
        display = style.get("display", "")
        block = (
            tag in _BLOCKS if not display else not display.startswith(("inline", "table-cell", "contents"))
        )
        element = _Open(
            block,
            tag in _APART,
            self._stands(tag, style),
            *self._sizes(tag, attributes, own, style),
            beside=self._open[-1].row or _is_box(style),
            row=display.endswith("flex"),
        )
        self._begin(tag, element, quote=self._marks_quotes and _is_quote(tag, attributes))
        self._mark(tag, attributes)

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._left_out:
            self._left_out -= 1
            return
        if tag in ("ul", "ol"):
            self._lists.pop()
        elif tag == "q":
            self.data('"')
        elif tag == "li":
            self.lines.end()
            self.lines.bullet = ""
        self._finish(self._open.pop())

    def data(self, text: str) -> None:
        """Words."""
        if not self._left_out and not self._open[-1].tiny:
            self.lines.write(text, as_it_stands=self._open[-1].as_it_stands)

    def close(self) -> None:
        """The page ends."""

    def _stands(self, tag: str, style: Mapping[str, str]) -> bool:
        space = style.get("white-space", "")
        if space:
            return space.startswith("pre") or space == "break-spaces"
        return tag in _AS_IT_STANDS or self._open[-1].as_it_stands

    def _sizes(
        self, tag: str, attributes: Mapping[str, str], own: Mapping[str, str], style: Mapping[str, str]
    ) -> tuple[bool, bool]:
        """Whether its words have no size to be read at, and whether those of what is in it have none for that.

        Layouts take the size from what is around boxes, and the page gives it back to what is in them.
        """
        tiny = is_tiny(style)
        if tiny is None:
            below = self._open[-1].below and not (tag == "font" and "size" in attributes)
            return below, below
        return tiny, tiny and is_tiny(own) is True and not self._rules.sizes_elsewhere

    def _begin(self, tag: str, element: _Open, *, quote: bool) -> None:
        if quote:  # the outermost alone: marks of many levels would be longer than the page
            self._marks_quotes = False
            self.lines.end()
            element = element._replace(quote=self.lines)
            self.lines = Lines()
        elif tag in ("td", "th") and self._cells < _CELLS:
            self._cells += 1
            self.lines.begin_cell()
            element = element._replace(block=False, cell=self.lines)
            self.lines = Lines()
        elif element.apart:
            self.lines.apart()
        elif element.block or tag in ("td", "th"):
            self.lines.end()
        elif element.beside:
            self.lines.write(" ")
        self._open.append(element)

    def _finish(self, element: _Open) -> None:
        if element.quote is not None:
            self._marks_quotes = True
            element.quote.add_quote(self.lines)
            self.lines = element.quote
        elif element.cell is not None:
            self._cells -= 1
            element.cell.add_cell(self.lines)
            self.lines = element.cell
        elif element.apart:
            self.lines.apart()
        elif element.block:
            self.lines.end()
        elif element.beside:
            self.lines.write(" ")

    def _mark(self, tag: str, attributes: Mapping[str, str]) -> None:
        """What an element writes itself."""
        if tag == "br":
            self.lines.line_break()
        elif tag == "q":
            self.data('"')
        elif tag == "ul":
            self._lists.append(None)
        elif tag == "ol":
            self._lists.append(_number(attributes.get("start"), 1))
        elif tag == "li":
            self.lines.bullet = self._bullet(attributes)

    def _bullet(self, attributes: Mapping[str, str]) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return _BULLETS[max(0, len(self._lists) - 1) % len(_BULLETS)]
        number = _number(attributes.get("value"), number)
        self._lists[-1] = number + 1
        return f"{number}. "


def _is_box(style: Mapping[str, str]) -> bool:
    """Whether an element that is no line of its own stands beside its neighbours all the same."""
    display = style.get("display", "")
    return (
        display.startswith("inline-")
        or display == "table-cell"
        or style.get("float", "none") in ("left", "right")
    )


def _is_quote(tag: str, attributes: Mapping[str, str]) -> bool:
    classes = attributes.get("class", "").split()
    return not _QUOTES.isdisjoint(classes) or (tag == "blockquote" and attributes.get("type") == "cite")


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else otherwise
