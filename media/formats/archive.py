"""The parts of an office document in its ZIP archive, and how they hang together (ECMA-376 part 2, section 6.5)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder, XMLParser
from zipfile import ZipFile

from media.readable import Unreadable

__all__ = ["Related", "folder_of", "opened", "part", "related", "tree"]

_ENCRYPTED = 1  # APPNOTE.TXT 4.4.4, bit 0
_LARGEST_TREE = 16 * 1024**2


@dataclass(frozen=True, slots=True)
class Related:
    """Another part that a part names. kind: the last word of the relationship's type."""

    id: str
    kind: str
    target: str


class _Tree(TreeBuilder):
    def doctype(self, *_: object) -> None:
        raise Unreadable("damaged")


@contextmanager
def opened(file: BinaryIO) -> Iterator[ZipFile]:
    """The archive. Raises `Unreadable` where it needs a password."""
    with ZipFile(file) as archive:
        if any(entry.flag_bits & _ENCRYPTED for entry in archive.infolist()):
            raise Unreadable("protected")
        yield archive


def part(archive: ZipFile, name: str) -> IO[bytes]:
    """A part to read from. Raises `Unreadable` where it is not there."""
    try:
        return archive.open(name)
    except KeyError as error:
        raise Unreadable("damaged") from error


def tree(archive: ZipFile, name: str) -> Element:
    """A small part as a tree."""
    parser = XMLParser(target=_Tree())  # noqa: S314  # no document type, so no entities
    with part(archive, name) as stream:
        data = stream.read(_LARGEST_TREE + 1)
    if len(data) > _LARGEST_TREE:
        raise Unreadable("damaged")
    parser.feed(data)
    root: Element = parser.close()
    return root


def related(archive: ZipFile, name: str) -> list[Related]:
    """What a part names; of the archive itself for "". Empty where it names nothing."""
    folder, _, own = name.rpartition("/")
    names = posixpath.join(folder, "_rels", own + ".rels")
    if names not in archive.namelist():
        return []
    found = []
    for element in tree(archive, names):
        if element.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
            kind = element.get("Type", "").rpartition("/")[2]
            found.append(Related(element.get("Id", ""), kind, target.lstrip("/")))
    return found


def folder_of(name: str) -> str:
    """The folder of a part, with its slash; "" at the top."""
    return name[: name.rfind("/") + 1]
