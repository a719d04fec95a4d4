"""An HTML page as the lines that its reader sees, written while its tags come. Linear in its length, whatever it says.

No measure counts: a page may ask for any number of spaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adapters.email.boxes import APART, AS_IT_STANDS, NO_TEXT, OWN_SIZE, display_of, is_block, is_box
from adapters.email.lines import LOWERED, RAISED, STRUCK, Lines
from adapters.email.links import address_of, is_said
from adapters.email.parser import feed
from adapters.email.rules import Rules
from adapters.email.sheets import rules_of
from adapters.email.style import Style, declarations, laid_over
from adapters.email.unseen import is_tiny, is_unseen

__all__ = ["lines_of"]

_CELLS = 20
"""Cells within each other that are cells: each level copies what is in it."""
_LINKS = 60
"""Links of which it is said where they lead."""
_ALT = 300
"""Characters of what stands for a picture."""
_NO_STYLE = Style({}, {})
_SIZES = ("width", "height", "max-width", "max-height")
_VISIBLE = {"visible": True, "hidden": False, "collapse": False}
_QUOTES = frozenset(["gmail_quote", "protonmail_quote"])
"""They hold the line that says who wrote, what is quoted, and what is answered between."""
_ALONE = ("moz-cite-prefix", "gmail_attr", "yahoo_quoted")
_SHIFTED = {"sup": RAISED, "super": RAISED, "sub": LOWERED}
_STRUCK_OUT = ("s", "strike", "del")
_BULLETS = ("* ", "+ ", "o ", "- ")


class _Open(NamedTuple):
    """An element that is open. cell, quote: the lines around it, where it is one.

    beside: it stands as a box beside others, which touch none of its words. row: so do those in it. visible: its words are
    seen, if not those of all that is in it. history: what is quoted in it needs no other mark. behind: what stands behind it.
    """

    block: bool
    apart: bool
    as_it_stands: bool
    tiny: bool
    below: bool
    beside: bool = False
    row: bool = False
    visible: bool = True
    history: bool = False
    behind: str = ""
    cell: Lines | None = None
    quote: Lines | None = None


class _Link(NamedTuple):
    """A link that is open, and its words until now."""

    address: str
    words: list[str]


def lines_of(html: str, *, keep_quotes: bool) -> list[str]:
    """The lines. keep_quotes: mails that are quoted stand there as the rest does, else behind `> ` as in plain text.

    Raises `TooDeep` and lxml's errors.
    """
    page = _Page(rules_of(html), keep_quotes=keep_quotes)
    feed(html, page)
    page.lines.end()
    return page.lines.done


class _Page:
    """A listener to its tags."""

    def __init__(self, rules: Rules, *, keep_quotes: bool) -> None:
        self.lines = Lines()
        self._marks_quotes = not keep_quotes
        self._open = [_Open(block=True, apart=False, as_it_stands=False, tiny=False, below=False)]
        self._cells = 0
        self._left_out = 0  # elements that are open, from the one on that is not read
        self._lists: list[int | None] = []
        self._rules = rules
        self._link: _Link | None = None
        self._links = 0
        self._keeps_to_standards = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._left_out or tag in NO_TEXT:
            self._left_out += 1
            return
        own = declarations(attributes["style"]) if "style" in attributes else _NO_STYLE
        style = laid_over(*self._rules.of(tag, attributes), own)
        display = display_of(tag, attributes, style)
        if display == "none" or (style and is_unseen(style, display)):
            self._left_out += 1
            return
        around = self._open[-1]
        classes = attributes.get("class", "").split()
        element = _Open(
            is_block(display),
            tag in APART,
            self._stands(tag, style),
            *self._sizes(tag, attributes, style),
            beside=around.row or is_box(tag, style),
            row=display.endswith("flex"),
            visible=_VISIBLE.get(style.get("visibility", ""), around.visible),
            history=around.history or not _QUOTES.isdisjoint(classes),
            behind=_mark_around(tag, display, style),
        )
        self._begin(tag, element, quote=self._marks_quotes and self._is_quote(tag, attributes, classes))
        self._mark(tag, attributes, style)

    def end(self, tag: str) -> None:
        if self._left_out:
            self._left_out -= 1
            return
        if tag == "a":
            self._end_link()
        self._say(self._open[-1].behind)
        if tag in ("ul", "ol"):
            self._lists.pop()
        elif tag == "li":
            self.lines.end()
            self.lines.bullet = ""
        self._finish(self._open.pop())

    def data(self, text: str) -> None:
        if self._say(text) and self._link is not None:
            self._link.words.append(text)

    def doctype(self) -> None:
        self._keeps_to_standards = True

    def _say(self, text: str) -> bool:
        """Write words if they are seen; whether they are."""
        element = self._open[-1]
        is_seen = not self._left_out and not element.tiny and element.visible
        if is_seen and text:
            self.lines.write(text, as_it_stands=element.as_it_stands)
        return is_seen

    def _stands(self, tag: str, style: Mapping[str, str]) -> bool:
        space = style.get("white-space", "")
        if space:
            return space.startswith("pre") or space == "break-spaces"
        return tag in AS_IT_STANDS or self._open[-1].as_it_stands

    def _sizes(self, tag: str, attributes: Mapping[str, str], style: Mapping[str, str]) -> tuple[bool, bool]:
        """Whether its words have no size to be read at, and whether those of what is in it have none for that.

        Layouts take the size from what is around boxes, and the page gives it back to what is in them.
        """
        tiny = is_tiny(style) if style else None
        if tiny is None:
            own_size = tag in OWN_SIZE or (tag == "font" and "size" in attributes)
            old_table = tag == "table" and not self._keeps_to_standards
            below = self._open[-1].below and not (own_size or old_table)
            return below, below
        return tiny, tiny and not self._rules.sizes_elsewhere

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

    def _mark(self, tag: str, attributes: Mapping[str, str], style: Mapping[str, str]) -> None:
        """What an element writes itself."""
        if tag == "br":
            self.lines.line_break()
        elif tag == "ul":
            self._lists.append(None)
        elif tag == "ol":
            self._lists.append(_number(attributes.get("start"), 1))
        elif tag == "li":
            self.lines.bullet = self._bullet(attributes)
        elif tag == "img":
            self.data(_picture(attributes, style))
        elif tag == "input" and attributes.get("type", "").lower() in ("checkbox", "radio"):
            self.data("[x]" if "checked" in attributes else "[ ]")
        elif tag == "a":
            address = address_of(attributes.get("href", ""))
            self._link = _Link(address, []) if address else None
        self._say(_SHIFTED.get(tag) or _SHIFTED.get(style.get("vertical-align", ""), ""))
        self._say(self._open[-1].behind)

    def _end_link(self) -> None:
        link, self._link = self._link, None
        words = "".join(link.words) if link is not None else ""
        if link is not None and words.strip() and self._links < _LINKS and not is_said(link.address, words):
            self._links += self._say(f" <{link.address}>")

    def _is_quote(self, tag: str, attributes: Mapping[str, str], classes: Sequence[str]) -> bool:
        if tag != "blockquote":
            return any(name.endswith(_ALONE) for name in classes)
        known = attributes.get("type") == "cite" or not _QUOTES.isdisjoint(classes)
        return known or self._open[-1].history or self.lines.name_somebody()

    def _bullet(self, attributes: Mapping[str, str]) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return _BULLETS[max(0, len(self._lists) - 1) % len(_BULLETS)]
        number = _number(attributes.get("value"), number)
        self._lists[-1] = number + 1
        return f"{number}. "


def _mark_around(tag: str, display: str, style: Mapping[str, str]) -> str:
    """What stands before and behind an element."""
    struck = not is_block(display) and "line-through" in style.get(
        "text-decoration", style.get("text-decoration-line", "")
    )
    if struck or tag in _STRUCK_OUT:
        return STRUCK
    return '"' if tag == "q" else ""


def _picture(attributes: Mapping[str, str], style: Mapping[str, str]) -> str:
    """What people read until they load a picture. One of a point counts readers; one of a sign is that sign."""
    alt = " ".join(attributes.get("alt", "")[:_ALT].split())
    sizes = [attributes.get("width"), attributes.get("height"), *map(style.get, _SIZES)]
    if any(size is not None and size.removesuffix("px") in ("0", "1") for size in sizes):
        return ""
    if attributes.get("src", "").strip()[:5].lower().startswith(("cid:", "data:")):
        return ""  # it lies in the mail, so nobody reads what stands for it
    if sum(map(str.isalnum, alt)) > 1:
        return f"[{alt}]"
    return "" if any(char.isascii() or char.isalnum() for char in alt) else alt


def _number(text: str | None, otherwise: int) -> int:
    bare = (text or "").strip().removeprefix("-")
    return int(text or "") if bare.isascii() and bare.isdecimal() and len(bare) < 10 else otherwise
