"""What a file is: by what is in it, never by what it is called. Pure.

Sources: the registrations of the media types at IANA, https://mimesniff.spec.whatwg.org/ for images, sound and HTML,
and the table of file(1) for the rest.
"""

from __future__ import annotations

import re

from hermes.files import FileKind
from media.charset import charset_of
from media.containers import type_of_ebml, type_of_iso, type_of_ogg
from media.packages import type_of_zip

__all__ = ["HEAD", "UNKNOWN", "kind_of"]

HEAD = 65_536
"""Bytes from a file's beginning by which it is told; fewer are taken and tell less."""

UNKNOWN = "application/octet-stream"

# A frame of layer III: its version, then no bit rate and no sampling rate that there are not.
_FRAME = rb"\xff[\xfa\xfb\xf2\xf3\xe2\xe3][" + b"".join(rb"\x%x0-\x%xb" % (n, n) for n in range(1, 15)) + b"]"
# What stands at the beginning, with `.` for any byte.
_BEGINNINGS = tuple(
    (re.compile(pattern, re.DOTALL), mime)
    for pattern, mime in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF.{4}WEBP", "image/webp"),
        (rb"II\*\0|MM\0\*|II\+\0|MM\0\+", "image/tiff"),
        # BITMAPFILEHEADER with its two reserved words, then the size of one of the known headers
        (rb"BM.{4}\0{4}.{4}[\x0c\x10\x28\x34\x38\x40\x6c\x7c]\0{3}", "image/bmp"),
        (rb"\0\0\x01\0[^\0]\0", "image/vnd.microsoft.icon"),
        (rb"\0\0\0\x0cJXL \r\n\x87\n|\xff\x0a", "image/jxl"),
        (rb"ID3[\x02-\x04].", "audio/mpeg"),
        (_FRAME, "audio/mpeg"),
        (rb"\xff[\xf0\xf1\xf8\xf9][\x40-\x7f]", "audio/aac"),
        (rb"fLaC", "audio/flac"),
        (rb"RIFF.{4}WAVE", "audio/wav"),
        (rb"#!AMR", "audio/amr"),
        (rb"FORM.{4}AIF[FC]", "audio/aiff"),
        (rb"MThd\0\0\0\x06", "audio/midi"),
        (rb"RIFF.{4}AVI ", "video/x-msvideo"),
        (rb"\0.{3}(?:moov|mdat|wide|pnot)", "video/quicktime"),  # older than its `ftyp`
        (rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
        (rb"\0\0\x01[\xba\xb3]", "video/mpeg"),
        (rb"(?:\xef\xbb\xbf)?\s*%PDF-", "application/pdf"),
        (rb"\{\\rtf", "application/rtf"),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),  # Word, Excel before 2007, or locked
        (rb"%!PS", "application/postscript"),
        (rb"SQLite format 3\0", "application/vnd.sqlite3"),
        (rb"\x1f\x8b\x08", "application/gzip"),
        (rb"BZh[1-9]1AY&SY", "application/x-bzip2"),
        (rb"\xfd7zXZ\0", "application/x-xz"),
        (rb"\x28\xb5\x2f\xfd", "application/zstd"),
        (rb"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
        (rb"Rar!\x1a\x07", "application/vnd.rar"),
        (rb".{257}ustar[\0 ]", "application/x-tar"),
        (rb"\x7fELF", "application/x-executable"),
    )
)  # fmt: skip
_CONTAINERS = (
    (re.compile(rb"PK\x03\x04"), type_of_zip),
    (re.compile(rb".{4}ftyp", re.DOTALL), type_of_iso),
    (re.compile(rb"\x1a\x45\xdf\xa3"), type_of_ebml),
    (re.compile(rb"OggS"), type_of_ogg),
)
_PDF_WITHIN = (
    1024  # ISO 32000-1, implementation note 13: readers take a header anywhere in the first kilobyte
)

# Each comment is taken for good (`(?>`): tried in every way that they can be parted, forty comments have no end.
_XML = r"(?:<\?xml[^>]{0,200}\?>\s*)?(?>(?:<!--.{0,4000}?-->\s*)*)"
_TEXTS = tuple(
    (re.compile(pattern, re.DOTALL | re.IGNORECASE), mime)
    for pattern, mime in (
        (_XML + r"(?:<!doctype\s+html\b|<(?:html|head|body)\b)", "text/html"),
        (_XML + r"(?:<!doctype\s+svg\b|<svg\b)", "image/svg+xml"),
        (r"<\?xml\s", "application/xml"),
        (r"BEGIN:VCALENDAR\s", "text/calendar"),
        (r"BEGIN:VCARD\s", "text/vcard"),
    )
)
_TEXT_NAMES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "htm": "text/html",
    "html": "text/html",
    "json": "application/json",
}
_KINDS: dict[str, FileKind] = {"image": "image", "audio": "audio", "video": "video"}


def kind_of(head: bytes, name: str = "") -> tuple[FileKind, str]:
    """The kind and the media type of a file that begins with `head`.

    name: tells CSV, Markdown, JSON and bare HTML from other text, and nothing else. A drawing in XML (SVG) is a
    document: it is read, not looked at. What is not known is a document of type application/octet-stream.
    """
    mime = _type_of(head[:HEAD], name)
    if mime == "image/svg+xml":
        return "document", mime
    return _KINDS.get(mime.partition("/")[0], "document"), mime


def _type_of(head: bytes, name: str) -> str:
    for pattern, mime in _BEGINNINGS:
        if pattern.match(head):
            return mime
    for pattern, look_into in _CONTAINERS:
        if pattern.match(head):
            return look_into(head)
    charset = charset_of(head)
    if charset is not None:
        return _type_of_text(head.decode(charset, "replace"), name)
    return "application/pdf" if b"%PDF-" in head[:_PDF_WITHIN] else UNKNOWN


def _type_of_text(text: str, name: str) -> str:
    begin = text.lstrip("\ufeff\0 \t\r\n")
    for pattern, mime in _TEXTS:
        if pattern.match(begin):
            return mime
    return _TEXT_NAMES.get(name.rpartition(".")[2].lower(), "text/plain")
