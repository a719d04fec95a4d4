"""Paragraphs and tables of an office document, in the order of reading, as lines of text.

The XML is read as a stream and no tree is built, so that memory follows the longest paragraph and not the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, ClassVar
from xml.etree.ElementTree import XMLParser

from media.readable import Unreadable

__all__ = ["Flow", "lines_of", "value"]

_CHUNK = 65_536


class Flow:
    """A target for `XMLParser`. Names are looked at without their namespace.

    A row of a table is a line with its cells parted by bars; a table inside a cell becomes that cell's text.
    """

    paragraphs: ClassVar[frozenset[str]] = frozenset({"p"})
    rows: ClassVar[frozenset[str]] = frozenset({"tr"})
    cells: ClassVar[frozenset[str]] = frozenset({"tc"})
    skipped: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._sinks: list[list[str]] = [self.lines]
        self._rows: list[list[str]] = []
        self._texts: list[list[str]] = []
        self._passed_over = 0
        self.mark = ""
        """Stands before the text of the paragraph that is open, and is forgotten with it."""

    def doctype(self, *_: object) -> None:
        """No office program writes one; what does wants entities that grow."""
        raise Unreadable("damaged")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        name = tag.rpartition("}")[2]
        if self._passed_over or name in self.skipped:
            self._passed_over += 1
        elif name in self.paragraphs:
            self._texts.append([])
            self.mark = ""
            self.began(name, attributes)
        elif name in self.cells:
            self._sinks.append([])
        elif name in self.rows:
            self._rows.append([])
        else:
            self.began(name, attributes)

    def end(self, tag: str) -> None:
        """An element ends."""
        name = tag.rpartition("}")[2]
        if self._passed_over:
            self._passed_over -= 1
        elif name in self.paragraphs:
            self._paragraph("".join(self._texts.pop()).strip())
        elif name in self.cells:
            self._cell(" ".join(" ".join(self._sinks.pop()).split()))
        elif name in self.rows:
            self._row(self._rows.pop())
        else:
            self.ended(name)

    def _paragraph(self, text: str) -> None:
        if text:
            self._sinks[-1].append(self.mark + text)
        self.mark = ""

    def _cell(self, text: str) -> None:
        if self._rows:
            self._rows[-1].append(text)
        elif text:
            self._sinks[-1].append(text)

    def _row(self, cells: list[str]) -> None:
        if line := " | ".join(cells).rstrip(" |"):
            self._sinks[-1].append(line)

    def data(self, text: str) -> None:
        """Characters. Which of them are text says the format."""
        if not self._passed_over and self._texts:
            self.put(text)

    def close(self) -> None:
        """The document is over."""

    def put(self, text: str) -> None:
        """Add to the paragraph that is open."""
        if self._texts:
            self._texts[-1].append(text)

    def began(self, name: str, attributes: Mapping[str, str]) -> None:
        """For the format: an element begins that is no part of a table."""

    def ended(self, name: str) -> None:
        """For the format: it ends."""


def lines_of(part: IO[bytes], flow: Flow) -> Iterator[str]:
    """The lines of an XML document as they come; often none, so that the time can be looked at."""
    parser = XMLParser(target=flow)  # noqa: S314  # no document type, so no entities
    while chunk := part.read(_CHUNK):
        parser.feed(chunk)
        yield "".join(line + "\n" for line in flow.lines)
        flow.lines.clear()
    parser.close()
    yield "".join(line + "\n" for line in flow.lines)


def value(attributes: Mapping[str, str], name: str) -> str:
    """An attribute by its name without namespace; "" where it is not there."""
    return next((v for key, v in attributes.items() if key.rpartition("}")[2] == name), "")
