"""Tables for targets that have none: columns of one width, drawn with characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from adapters.markdown.nodes import Align

_WIDEST = 40
"""Columns are padded up to here; a longer cell sticks out, so that one cell cannot inflate every row."""

_INFLATION = 2
"""A long table whose padding would take more than so many times its cells is not aligned."""


def draw_table(rows: Sequence[Sequence[str]], aligns: Sequence[Align]) -> str:
    """Lines of aligned cells, the first row underlined. Width is counted in columns of a terminal."""
    # Cells are one line each: the columns depend on it.
    lines = [[cell.replace("\n", " ") for cell in row] for row in rows]
    widths = [min(_WIDEST, max(1, *map(columns, column))) for column in zip(*lines, strict=True)]
    written = sum(len(cell) + 3 for row in lines for cell in row)
    if len(lines) * sum(widths) > _INFLATION * written + 4096:
        widths = [1] * len(widths)
    drawn = [_draw_row(row, widths, aligns) for row in lines]
    drawn.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(drawn)


def columns(text: str) -> int:
    """How many terminal columns a text takes: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _draw_row(cells: Sequence[str], widths: Sequence[int], aligns: Sequence[Align]) -> str:
    row = zip(cells, widths, aligns, strict=True)
    return " | ".join(_pad(cell, width, align) for cell, width, align in row).rstrip()


def _pad(cell: str, width: int, align: Align) -> str:
    space = max(0, width - columns(cell))
    left = {"right": space, "center": space // 2}.get(align, 0)
    return " " * left + cell + " " * (space - left)
