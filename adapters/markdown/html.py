"""Markdown as an HTML fragment for mail: inline styles, nothing that is fetched from elsewhere, all text escaped.

Mail programs drop style sheets and scripts, and show a picture from elsewhere only after asking, so an image is a
link here. Each paragraph runs the way of its own script. Source of what they take: https://www.caniemail.com .
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

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
from adapters.markdown.tree import parse

__all__ = ["html", "write_html"]

_SCHEMES = frozenset({"http", "https", "mailto", "tel"})
_TAGS: Mapping[Style, str] = {"bold": "strong", "italic": "em", "strikethrough": "s", "spoiler": "span"}
_MONO = "font-family:ui-monospace,Consolas,Menlo,monospace;font-size:13px"
_PRE = f"{_MONO};background:#f4f4f5;padding:8px 10px;border-radius:4px;white-space:pre-wrap;margin:0 0 12px"
_CELL = "border:1px solid #d0d0d5;padding:4px 8px"
_QUOTE = "margin:0 0 12px;padding:0 0 0 10px;border-left:3px solid #d0d0d5;color:#555"
# What no HTML document may hold (https://html.spec.whatwg.org/#parse-error-control-character-in-input-stream).
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def html(markdown: str) -> str:
    """The fragment; empty for blank text."""
    return write_html(parse(markdown))


def write_html(blocks: Sequence[Block]) -> str:
    """A tree as a fragment."""
    return "\n".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Paragraph(children):
            return f'<p dir="auto" style="margin:0 0 12px">{_inlines(children)}</p>'
        case Heading(level, children):
            size = (20, 18, 16, 15, 14, 14)[min(level, 6) - 1]
            return f'<h{level} dir="auto" style="font-size:{size}px;margin:16px 0 8px">{_inlines(children)}</h{level}>'
        case Rule():
            return '<hr style="border:0;border-top:1px solid #d0d0d5;margin:12px 0">'
        case CodeBlock(text):
            first = "\n" if text.startswith("\n") else ""  # the one behind the tag is dropped by who reads it
            return f'<pre style="{_PRE}">{first}{_literal(text)}</pre>'
        case Quote(children):
            return f'<blockquote style="{_QUOTE}">{write_html(children)}</blockquote>'
        case List(items):
            return _list(items)
        case Table(aligns, rows):
            return _table(aligns, rows)


def _list(items: Sequence[Item]) -> str:
    """Each item keeps its own number; a list that changes its kind is written as it comes."""
    lines: list[str] = []
    open_tag = ""
    for item in items:
        tag = "ol" if item.is_numbered else "ul"
        if tag != open_tag:
            lines += [f"</{open_tag}>"] if open_tag else []
            lines.append(f'<{tag} dir="auto" style="margin:0 0 12px;padding:0 24px">')
            open_tag = tag
        lines.append(f"<li{_number(item)}>{_item(item)}</li>")
    return "\n".join([*lines, f"</{open_tag}>"]) if open_tag else ""


def _number(item: Item) -> str:
    return f' value="{item.marker[:-1]}"' if item.is_numbered else ""


def _item(item: Item) -> str:
    """The first paragraph stands beside the marker."""
    if item.children and isinstance(item.children[0], Paragraph):
        head = _inlines(item.children[0].children)
        rest = write_html(item.children[1:])
        return f"{head}\n{rest}" if rest else head
    return write_html(item.children)


def _table(aligns: Sequence[Align], rows: Sequence[Sequence[Sequence[Inline]]]) -> str:
    lines = ['<table style="border-collapse:collapse;margin:0 0 12px">']
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        cells = "".join(
            f'<{tag} dir="auto" style="{_CELL};text-align:{align or "left"}">{_inlines(cell)}</{tag}>'
            for align, cell in zip(aligns, row, strict=True)
        )
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def _inlines(inlines: Sequence[Inline], *, linked: bool = False) -> str:
    return "".join(_inline(node, linked=linked) for node in inlines)


def _inline(node: Inline, *, linked: bool) -> str:
    match node:
        case Text(text):
            return _running(text)
        case Code(text):
            return f'<code style="{_MONO}">{_running(text)}</code>'
        case Styled(style, children):
            return f"<{_TAGS[style]}>{_inlines(children, linked=linked)}</{_TAGS[style]}>"
        case Link(url, children):
            shown = _inlines(children, linked=True) or _running(url)
            if linked or url.partition(":")[0].lower() not in _SCHEMES:
                return shown
            return f'<a href="{_literal(url)}">{shown}</a>'


def _running(text: str) -> str:
    """Text whose line breaks and runs of spaces are the author's."""
    kept = re.sub(r"(?<=\n) | (?= )", "\u00a0", _literal(text))
    return kept.replace("\n", "<br>\n")


def _literal(text: str) -> str:
    return escape(_CONTROL.sub("\ufffd", text), quote=True)
