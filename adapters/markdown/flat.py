"""A tree written as one text with marked stretches: what flat formats (entities, plain text) are made of.

Offsets count code points. Spans are properly nested and obey the rules for entities: code holds no other
span and lies in none but a quotation, links do not hold links, quotations do not hold quotations
(https://core.telegram.org/bots/api#messageentity).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from adapters.markdown.nodes import (
    Block,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Link,
    List,
    Paragraph,
    Quote,
    Rule,
    Style,
    Styled,
    Table,
    Text,
)
from adapters.markdown.table import draw_table
from adapters.markdown.tree import normalize, parse

SpanType: TypeAlias = Literal[
    "bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote"
]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch `[start, end)` of a text, in code points."""

    type: SpanType
    start: int
    end: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Flat:
    """What is displayed, and how. Outer spans come before the inner ones."""

    text: str
    spans: tuple[Span, ...] = ()


# Anything that the dialect could read as markup. A text without it is displayed as it is.
_MAY_BE_MARKUP = re.compile(
    r"[`\\*]|__|(?<!\w)_|_(?!\w)|~~|\|\||\]\(|<[A-Za-z.]|[ \t]\n|\n[ \t]|\A[ \t]"
    r"|(?:\A|\n)(?:[#>+|:-]|\d{1,9}[.)])"
)


def flatten(markdown: str) -> Flat:
    """What a Markdown text displays. Addresses of links that cannot be a span stand behind their text."""
    text = normalize(markdown)
    if _MAY_BE_MARKUP.search(text) is None:
        return Flat(text.strip(" \t\n"))
    return write_flat(parse(text))


def write_flat(blocks: Sequence[Block], *, link_schemes: Sequence[str] = ("http", "https", "tg")) -> Flat:
    """Writes a tree. Links of other schemes than `link_schemes` are shown as `text (address)`."""
    writer = _Writer(tuple(link_schemes))
    writer.blocks(blocks)
    return writer.flat()


def goes_on(text: str, end: int) -> bool:
    """Whether who finds an address by itself would take what stands behind it, at `end`, for a part of it."""
    after = text[end : end + 1]
    return bool(after) and not after.isspace() and after not in ".,:;!?\"')]"


@dataclass(slots=True)
class _Stretch:
    """A styled node whose span is still growing; code in it leaves a hole."""

    type: Style
    start: int
    end: int


@dataclass(slots=True)
class _Writer:
    schemes: tuple[str, ...]
    _parts: list[str] = field(default_factory=list)
    _at: int = 0
    _spans: list[Span] = field(default_factory=list)
    _addresses: list[Span] = field(default_factory=list)  # readers find them by themselves, in most places
    _styles: list[_Stretch] = field(default_factory=list)
    _is_code_text: bool = False  # inside a link or a spoiler code is plain text
    _in_link: bool = False
    _in_quote: bool = False
    _lead: str = ""  # begins every line of a quotation inside a quotation

    def flat(self) -> Flat:
        order = {"blockquote": 0, "text_link": 1}
        text = "".join(self._parts)
        links = [span for span in self._addresses if goes_on(text, span.end)]
        spans = sorted(
            [*self._spans, *links], key=lambda span: (span.start, -span.end, order.get(span.type, 2))
        )
        return Flat(text, tuple(spans))

    def blocks(self, blocks: Sequence[Block], depth: int = 0) -> None:
        for number, block in enumerate(blocks):
            if number:
                self._newlines(1 + block.gap)
            self._block(block, depth)

    def _block(self, block: Block, depth: int) -> None:
        match block:
            case Paragraph(children):
                self._inlines(children)
            case Heading(_, children):
                self._styled(Styled("bold", children))
            case Rule(source):
                self._put(source)
            case CodeBlock(text, language):
                self._pre(text, language)
            case Table(aligns, rows):
                cells = [["".join(map(self._cell, cell)) for cell in row] for row in rows]
                self._pre(draw_table(cells, aligns), None)
            case Quote(children):
                self._quote(children)
            case List(items):
                self._items(items, depth)

    def _items(self, items: Sequence[Item], depth: int) -> None:
        for number, item in enumerate(items):
            if number:
                self._newlines(1 + item.gap)
            if number or not self._at_item_start(depth):
                self._put("  " * depth)
            self._put(item.marker if item.is_numbered or not item.children else "•")
            if item.children:
                is_inline = isinstance(item.children[0], Paragraph | Heading | List | Rule)
                self._put(" ") if is_inline else self._newlines(1)
                self.blocks(item.children, depth + 1)

    def _at_item_start(self, depth: int) -> bool:
        return depth > 0 and self._parts[-1:] == [" "]

    def _quote(self, children: Sequence[Block]) -> None:
        if self._in_quote:
            outer, self._lead = self._lead, self._lead + "> "
            self._put("> ")
            self.blocks(children)
            self._lead = outer
            return
        start, self._in_quote = self._at, True
        self.blocks(children)
        self._in_quote = False
        self._spans.append(Span("blockquote", start, self._at))

    def _pre(self, text: str, language: str | None) -> None:
        start = self._at
        self._put(text)
        self._spans.append(Span("pre", start, self._at, language=language))

    def _inlines(self, inlines: Sequence[Inline]) -> None:
        for node in inlines:
            match node:
                case Text("\n"):
                    self._styled_text("\n" + self._lead)
                case Text(text):
                    self._styled_text(text)
                case Code(text):
                    self._code(text)
                case Styled():
                    self._styled(node)
                case Link():
                    self._link(node)

    def _styled(self, node: Styled) -> None:
        if any(style.type == node.style for style in self._styles):
            self._inlines(node.children)
            return
        is_code_text, self._is_code_text = self._is_code_text, self._is_code_text or node.style == "spoiler"
        self._styles.append(_Stretch(node.style, self._at, self._at))
        self._inlines(node.children)
        self._close(self._styles.pop())
        self._is_code_text = is_code_text

    def _close(self, style: _Stretch) -> None:
        if style.end > style.start:
            self._spans.append(Span(style.type, style.start, style.end))

    def _styled_text(self, text: str) -> None:
        self._put(text)
        for style in self._styles:
            style.end = self._at

    def _code(self, text: str) -> None:
        if self._is_code_text:
            self._styled_text(text)
            return
        for style in self._styles:
            self._close(style)
        start = self._at
        self._put(text)
        self._spans.append(Span("code", start, self._at))
        for style in self._styles:
            style.start = style.end = self._at

    def _link(self, node: Link) -> None:
        if self._in_link:
            self._inlines(node.children)
            return
        start, first, is_code_text = self._at, len(self._parts), self._is_code_text
        self._in_link = self._is_code_text = True
        self._inlines(node.children)
        self._in_link, self._is_code_text = False, is_code_text
        shown = "".join(self._parts[first:])
        if node.url.partition(":")[0].lower() in self.schemes:
            found = self._addresses if shown == node.url else self._spans
            found.append(Span("text_link", start, self._at, url=node.url))
        elif shown != node.url and shown != _address(node.url):
            self._styled_text(f" ({_address(node.url)})")

    def _cell(self, node: Inline) -> str:
        match node:
            case Text(text) | Code(text):
                return text
            case Styled(_, children):
                return "".join(map(self._cell, children))
            case Link(url, children):
                shown = "".join(map(self._cell, children))
                return shown if shown in (url, _address(url)) else f"{shown} ({_address(url)})"

    def _newlines(self, count: int) -> None:
        self._put(("\n" + self._lead) * count)

    def _put(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._at += len(text)


def _address(url: str) -> str:
    return url.removeprefix("mailto:").removeprefix("tel:")
