"""Markdown for targets without any format."""

from __future__ import annotations

from adapters.markdown.flat import write_flat
from adapters.markdown.tree import parse


def plain(markdown: str) -> str:
    """The displayed text alone; a link whose text is not its address is shown as `text (address)`."""
    return write_flat(parse(markdown), link_schemes=()).text.strip()
