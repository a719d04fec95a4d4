"""The tree of a Markdown text: a few blocks and inlines, what every renderer starts from.

Blocks carry `gap`, the number of blank lines that the author left before them. What has no content to show
(an empty fence, a lone `*`) is a paragraph that holds its own source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["bold", "italic", "strikethrough", "spoiler"]
Align: TypeAlias = Literal["", "left", "right", "center"]


@dataclass(frozen=True, slots=True)
class Text:
    """Characters to be shown as they are; a line break is a newline."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A code span."""

    text: str


@dataclass(frozen=True, slots=True)
class Styled:
    """Inlines in one style."""

    style: Style
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A link, or an image (then the children are its description)."""

    url: str
    children: tuple[Inline, ...]
    is_image: bool = False


Inline: TypeAlias = "Text | Code | Styled | Link"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; its line breaks and indentation are the author's."""

    children: tuple[Inline, ...]
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6."""

    level: int
    children: tuple[Inline, ...]
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """A thematic break, with the characters it was drawn with."""

    source: str
    gap: int = 0


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code without a final newline. An info string that is no language name is the first line of `text`."""

    text: str
    language: str | None = None
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation."""

    children: tuple[Block, ...]
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list. `marker` is as written: `-`, `*`, `+`, `3.`, `3)`."""

    marker: str
    children: tuple[Block, ...]
    gap: int = 0

    @property
    def is_numbered(self) -> bool:
        """Whether the marker says something that must be kept."""
        return self.marker[0].isdigit()


@dataclass(frozen=True, slots=True)
class List:
    """A list; the numbers stand on its items."""

    items: tuple[Item, ...]
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first row is its head; every row has as many cells as `aligns`."""

    aligns: tuple[Align, ...]
    rows: tuple[tuple[tuple[Inline, ...], ...], ...]
    gap: int = 0


Block: TypeAlias = "Paragraph | Heading | Rule | CodeBlock | Quote | List | Table"
