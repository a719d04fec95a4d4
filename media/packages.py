"""What a ZIP archive is: a document of an office program, or only an archive. Pure: its beginning in, a media type out.

Sources: ECMA-376 part 2 (content types), OpenDocument 1.3 part 2 section 3.3 (the entry "mimetype").
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

__all__ = ["DOCX", "PPTX", "XLSX", "type_of_zip"]

_OOXML = "application/vnd.openxmlformats-officedocument."
DOCX = _OOXML + "wordprocessingml.document"
XLSX = _OOXML + "spreadsheetml.sheet"
PPTX = _OOXML + "presentationml.presentation"
# What the main part says of itself; with macros and as a template too.
_MAIN = (
    (
        re.compile(rb"wordprocessingml\.(?:document|template)\.main|ms-word\.(?:document|template)\.macro"),
        DOCX,
    ),
    (re.compile(rb"spreadsheetml\.(?:sheet|template)\.main|ms-excel\.(?:sheet|template)\.macro"), XLSX),
    (
        re.compile(rb"presentationml\.(?:presentation|slideshow|template)\.main|ms-powerpoint\.\w+\.macro"),
        PPTX,
    ),
)
# Where the list of types comes last, the first parts are known by their place.
_PLACES = (
    (re.compile(rb"word/(?:document\.xml|styles\.xml|_rels/|theme/|media/)"), DOCX),
    (re.compile(rb"xl/(?:workbook\.xml|styles\.xml|sharedStrings\.xml|_rels/|theme/|worksheets/)"), XLSX),
    (re.compile(rb"ppt/(?:presentation\.xml|_rels/|theme/|slides/|slideMasters/|slideLayouts/)"), PPTX),
)
_ENTRY = re.compile(rb"PK\x03\x04.{4}(..).{8}(....).{4}(..)(..)", re.DOTALL)
_MOST_ENTRIES = 500
_MOST_TYPES = 1 << 18
_OPEN_DOCUMENT = re.compile(rb"application/(?:vnd\.oasis\.opendocument\.[a-z-]{1,40}|epub\+zip)")


def type_of_zip(head: bytes) -> str:
    """The media type of an archive that begins with `head`."""
    found, types = "", 0
    for number, (name, packed, method) in enumerate(_entries(head)):
        if number == 0 and name == b"mimetype" and (kind := _OPEN_DOCUMENT.match(packed)):
            return kind[0].decode("ascii")
        if name == b"[Content_Types].xml":
            types += 1
            if types == 1:  # a package has one; five hundred times the same bytes would be half a minute
                found = _first(_MAIN, _inflated(packed) if method else packed) or found
        found = found or _first(_PLACES, name, at_start=True)
    return found or "application/zip"


def _entries(head: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Name, packed bytes as far as they are there, and method of each entry in reach."""
    for number, entry in enumerate(_ENTRY.finditer(head)):
        if number == _MOST_ENTRIES:
            return
        method, size, name_size, extra_size = (int.from_bytes(part, "little") for part in entry.groups())
        begin = entry.end() + name_size + extra_size
        yield head[entry.end() : entry.end() + name_size], head[begin : begin + (size or len(head))], method


def _inflated(packed: bytes) -> bytes:
    try:
        return zlib.decompressobj(-15).decompress(packed, _MOST_TYPES)
    except zlib.error:
        return b""


def _first(table: tuple[tuple[re.Pattern[bytes], str], ...], text: bytes, *, at_start: bool = False) -> str:
    return next(
        (mime for pattern, mime in table if (pattern.match(text) if at_start else pattern.search(text))), ""
    )
