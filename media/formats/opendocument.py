"""OpenDocument text, slides and sheets (OpenDocument 1.3, part 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from media.formats.archive import opened, part
from media.formats.flow import Flow, lines_of, value
from media.readable import Piece, Unreadable

__all__ = ["read"]

_MANIFEST = "META-INF/manifest.xml"
_MOST_SPACES = 100


class _Content(Flow):
    paragraphs = frozenset({"p", "h"})
    rows = frozenset({"table-row"})
    cells = frozenset({"table-cell"})
    skipped = frozenset({"annotation", "tracked-changes", "scripts", "automatic-styles"})

    def __init__(self) -> None:
        super().__init__()
        self._item = False

    def began(self, name: str, attributes: Mapping[str, str]) -> None:
        match name:
            case "h":
                self.mark = "#" * min(_number(value(attributes, "outline-level")), 9) + " "
            case "p" if self._item:
                self.mark, self._item = "- ", False
            case "list-item":
                self._item = True
            case "tab":
                self.put("\t")
            case "line-break":
                self.put("\n")
            case "s":
                self.put(" " * min(_number(value(attributes, "c")), _MOST_SPACES))
            case "table" if not self._rows:
                self.lines.append(f"\n## {value(attributes, 'name')}")
            case "page":
                self.lines.append(f"\n[{value(attributes, 'name')}]")
            case _:
                pass


def read(file: BinaryIO) -> Iterator[Piece]:
    """The text of the document, with what was deleted and what was said about it left out."""
    with opened(file) as archive:
        if _MANIFEST in archive.namelist():
            with part(archive, _MANIFEST) as manifest:
                if b"encryption-data" in manifest.read(1 << 20):
                    raise Unreadable("protected")
        with part(archive, "content.xml") as content:
            yield from map(Piece, lines_of(content, _Content()))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else 1
