"""From Markdown to the tree: one parse, then the parser's flat list of tokens folded up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import cast

from markdown_it.token import Token

from adapters.markdown.dialect import parser
from adapters.markdown.nodes import (
    Align,
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

_STYLES: dict[str, Style] = {
    "strong_open": "bold",
    "em_open": "italic",
    "s_open": "strikethrough",
    "spoiler_open": "spoiler",
}
MAX_LINES = 10_000
"""A longer text is no chat message: it is shown as it is, which keeps the time of a parse bounded."""

_MAX_STYLES = 16
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,64}")
# `__init__` in prose is a name, not bold text.
_DUNDERS = {
    name[2:-2]
    for kind in (type, int, dict, str, FunctionType, ModuleType, BaseException)
    for name in dir(kind)
    if name.startswith("__") and name.endswith("__")
} | {"all", "debug", "file", "future", "import", "main", "path", "post_init", "proto", "slots"}
_DUNDERS |= {"aenter", "aexit", "await", "enter", "exit", "pycache"}


_UNSHOWABLE = re.compile("[\x00\ud800-\udfff]")


def normalize(markdown: str) -> str:
    """Line ends become newlines; NUL and lone surrogates, which no platform takes, become U+FFFD."""
    if "\r" in markdown:
        markdown = markdown.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSHOWABLE.sub("\ufffd", markdown)


def parse(markdown: str) -> tuple[Block, ...]:
    """The tree of a Markdown text. Never raises on its account: what is not markup is text."""
    text = normalize(markdown)
    if text.count("\n") > MAX_LINES:
        return (Paragraph((Text(text.strip(" \t\n")),)),)
    # The parser bounds the depth, and so the recursion here.
    return _Builder(parser().parse(text)).blocks("")


class _Builder:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._line = 0  # the first source line that has not been shown

    def blocks(self, closing: str) -> tuple[Block, ...]:
        found: list[Block] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == closing:
                break
            found.append(self._block(token))
        return tuple(found)

    def _block(self, token: Token) -> Block:
        gap = self._enter(token)
        match token.type:
            case "paragraph_open":
                block: Block = Paragraph(self._inline_content())
            case "heading_open":
                block = _heading(token, self._inline_content())
            case "fence" | "code_block":
                block = _code(token)
            case "blockquote_open":
                block = _quote(self.blocks("blockquote_close"))
            case "bullet_list_open" | "ordered_list_open":
                block = List(self._items(token.type.replace("open", "close")))
            case "table_open":
                block = self._table()
            case "hr":
                block = Rule(token.content)
            case other:
                raise AssertionError(f"the dialect has no block {other}")
        self._leave(token)
        return replace(block, gap=gap)

    def _enter(self, token: Token) -> int:
        start = token.map[0] if token.map else self._line
        gap = max(0, start - self._line)
        self._line = max(self._line, start)
        return gap

    def _leave(self, token: Token) -> None:
        if token.map:
            # The end of a container may count blank lines that follow it, so its leaves decide.
            is_leaf = token.nesting == 0 or token.type in ("paragraph_open", "heading_open", "table_open")
            self._line = max(self._line, token.map[1] if is_leaf else token.map[0] + 1)

    def _inline_content(self) -> tuple[Inline, ...]:
        children = self._tokens[self._at].children or []
        self._at += 2
        return _inlines(children)

    def _items(self, closing: str) -> tuple[Item, ...]:
        items: list[Item] = []
        while (token := self._tokens[self._at]).type != closing:
            self._at += 1
            gap = self._enter(token)
            children = self.blocks("list_item_close")
            self._leave(token)
            items.append(Item(token.info + token.markup, children, gap))
        self._at += 1
        return tuple(items)

    def _table(self) -> Table:
        aligns: list[Align] = []
        rows: list[list[tuple[Inline, ...]]] = []
        while (token := self._tokens[self._at]).type != "table_close":
            self._at += 1
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                aligns.append(cast("Align", str(token.attrGet("style") or "").removeprefix("text-align:")))
            elif token.type == "inline":
                rows[-1].append(_inlines(token.children or []))
        self._at += 1
        return Table(tuple(aligns), tuple(tuple(row) for row in rows))


def _heading(token: Token, children: tuple[Inline, ...]) -> Heading | Paragraph:
    if not children:
        return Paragraph((Text(token.markup),))
    return Heading(len(token.markup), children)


def _quote(children: tuple[Block, ...]) -> Quote | Paragraph:
    return Quote(children) if children else Paragraph((Text(">"),))


def _code(token: Token) -> CodeBlock | Paragraph:
    text = token.content.removesuffix("\n")
    info = token.info.strip()
    language, _, rest = info.partition(" ")
    if not _LANGUAGE.fullmatch(language):
        language, rest = "", info
    if rest.strip():
        text = f"{rest.strip()}\n{text}"
    text = text.rstrip()  # blanks at the end show nothing, and a quote around them would end before them
    if text:
        return CodeBlock(text, language or None)
    closed = token.map is not None and token.map[1] - token.map[0] > 1
    return Paragraph((Text(token.markup + token.info + (f"\n{token.markup}" if closed else "")),))


def _inlines(tokens: Sequence[Token]) -> tuple[Inline, ...]:
    return _inline_run(tokens, 0, 0)[0]


def _inline_run(tokens: Sequence[Token], at: int, depth: int) -> tuple[tuple[Inline, ...], int]:
    found: list[Inline] = []
    too_deep = 0  # styles open in this run whose marks are shown as text
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.nesting < 0 and not too_deep:
            break
        if token.nesting and depth >= _MAX_STYLES and token.type != "link_open":
            too_deep += token.nesting
            found.append(Text(token.markup))
        elif token.nesting:
            children, at = _inline_run(tokens, at, depth + 1)
            found.extend(_span(token, children))
        elif leaf := _leaf(token):
            found.append(leaf)
    return tuple(found), at


def _leaf(token: Token) -> Inline | None:
    match token.type:
        case "image":
            return _image(token)
        case "code_inline":
            return Code(token.content)
        case "softbreak" | "hardbreak":
            return Text("\n")
        case _:
            return Text(token.content) if token.content else None


def _span(token: Token, children: tuple[Inline, ...]) -> Sequence[Inline]:
    if token.type == "link_open":
        return _link(token, children)
    if token.markup == "__" and len(children) == 1 and isinstance(children[0], Text):
        name = children[0].text
        if name in _DUNDERS:
            return (Text(f"__{name}__"),)
    return (Styled(_STYLES[token.type], children),)


def _link(token: Token, children: tuple[Inline, ...]) -> Sequence[Inline]:
    url = str(token.attrGet("href") or "")
    if token.info == "auto" and url.startswith("mailto:"):
        return (Text("<"), *children, Text(">"))  # "Ada <ada@example.org>" is prose
    if not any(_shows(child) for child in children):
        return (Text("["), *children, Text(f"]({url})"))
    return (Link(url, children),)


def _image(token: Token) -> Link:
    url = str(token.attrGet("src") or "")
    children = _inlines(token.children or [])
    return Link(url, children if any(map(_shows, children)) else (Text(url),), is_image=True)


def _shows(node: Inline) -> bool:
    match node:
        case Text(text) | Code(text):
            return bool(text.strip())
        case _:
            return any(map(_shows, node.children))
