"""Word documents and PowerPoint slides since 2007, also with macros and as templates (ECMA-376 part 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from media.formats.archive import folder_of, opened, part, related, tree
from media.formats.flow import Flow, lines_of, value
from media.readable import Piece

__all__ = ["read_slides", "read_words"]

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)  # Word stores built-in names in English everywhere
_OFF = frozenset({"0", "false", "off"})


class _Words(Flow):
    """What a reader of the document sees: with what is inserted, without what is deleted or hidden."""

    # Fallback says for old programs what Choice beside it says; the others are the past of tracked changes.
    skipped = frozenset(
        {"Fallback", "del", "moveFrom", "pPrChange", "rPrChange", "sectPr", "tblPr", "trPr", "tcPr"}
    )

    def __init__(self, marks: Mapping[str, str]) -> None:
        super().__init__()
        self._marks = marks
        self._in_text = False
        self._in_properties = False
        self._is_hidden = False

    def data(self, text: str) -> None:
        if self._in_text and not self._is_hidden:
            super().data(text)

    def began(self, name: str, attributes: Mapping[str, str]) -> None:
        match name:
            case "t":
                self._in_text = True
            case "r":
                self._is_hidden = False
            case "pPr":
                self._in_properties = True
            case "vanish":
                self._is_hidden = not self._in_properties and value(attributes, "val") not in _OFF
            case "tab" if not self._in_properties:
                self.put("\t")
            case "br" | "cr":
                self.put("\n")
            case "noBreakHyphen":
                self.put("-")
            case "pStyle":
                self.mark = self._marks.get(value(attributes, "val"), "")
            case "numPr" if not self.mark:
                self.mark = "- "
            case _:
                pass

    def ended(self, name: str) -> None:
        if name == "t":
            self._in_text = False
        elif name == "pPr":
            self._in_properties = False


class _Slide(_Words):
    skipped = _Words.skipped | {"fld"}  # the slide's number, the day

    def __init__(self) -> None:
        super().__init__({})
        self._is_title = False

    def began(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sp":
            self._is_title = False
        elif name == "ph":
            self._is_title = value(attributes, "type") in {"title", "ctrTitle"}
        elif name == "p" and self._is_title:
            self.mark = "# "
        else:
            super().began(name, attributes)


def read_words(file: BinaryIO) -> Iterator[Piece]:
    """The text of a Word document, then its notes. Headers and footers are left out: they repeat themselves."""
    with opened(file) as archive:
        main = _main_part(archive, "word/document.xml")
        folder = folder_of(main)
        marks = _marks(archive, folder + "styles.xml")
        for name in (main, folder + "footnotes.xml", folder + "endnotes.xml"):
            if name == main or name in archive.namelist():
                with part(archive, name) as stream:
                    yield from map(Piece, lines_of(stream, _Words(marks)))


def read_slides(file: BinaryIO) -> Iterator[Piece]:
    """The text of each slide under its number, with what its speaker wrote below it."""
    with opened(file) as archive:
        main = _main_part(archive, "ppt/presentation.xml")
        targets = {r.id: r.target for r in related(archive, main)}
        slides = [
            targets[name]
            for shown in _all(tree(archive, main), "sldId")
            for key, name in shown.items()
            if key.endswith("elationships}id") and name in targets
        ]
        for number, slide in enumerate(slides, 1):
            place = f"slide {number} of {len(slides)}"
            yield Piece(f"[Slide {number}]\n", place)
            notes = [r.target for r in related(archive, slide) if r.kind == "notesSlide"]
            for name in (slide, *notes):
                with part(archive, name) as stream:
                    yield from (Piece(text, place) for text in lines_of(stream, _Slide()))
            yield Piece("\n", place)


def _main_part(archive: ZipFile, usual: str) -> str:
    return next((r.target for r in related(archive, "") if r.kind == "officeDocument"), usual)


def _marks(archive: ZipFile, styles: str) -> dict[str, str]:
    """What stands before a paragraph of a style, by the style's id: headings by their level, and lists."""
    if styles not in archive.namelist():
        return {}
    found = {}
    for style in _all(tree(archive, styles), "style"):
        name = next((value(e.attrib, "val") for e in style if e.tag.endswith("}name")), "")
        level = (
            1 if name.lower() == "title" else int(heading[1]) if (heading := _HEADING.fullmatch(name)) else 0
        )
        if level or next(_all(style, "numPr"), None) is not None:
            found[value(style.attrib, "styleId")] = "#" * level + " " if level else "- "
    return found


def _all(root: Element, name: str) -> Iterator[Element]:
    return (element for element in root.iter() if element.tag.rpartition("}")[2] == name)
