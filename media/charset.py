"""Whether bytes are text, and in which encoding. Pure."""

from __future__ import annotations

import codecs
import re

__all__ = ["charset_of", "declared_charset"]

# The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\f\r\x1b\x1a"))
_FEW = 200
"""One control character in so many bytes makes text no binary: logs have NULs where a machine went down."""
_ONE_BYTE = re.compile(r"cp\d|iso8859|koi8|mac-|big5|gb|hz|shift_jis|euc|tis-620")
"""Python's names of what text is written in where it is no Unicode; it also has codecs that are no such thing."""
_TAKEN_FOR_1252 = ("iso8859-1", "ascii")  # https://encoding.spec.whatwg.org/#names-and-labels
_DECLARED = re.compile(
    rb"""(?i)<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{2,40})|<\?xml[^>]{0,100}encoding\s*=\s*["']([\w.:-]{2,40})"""
)


def charset_of(head: bytes) -> str | None:
    """The codec that reads a file which begins with `head`; `None`: it is no text.

    One byte a character is read as Windows-1252, which is what most such text is in; it is a guess.
    """
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec if _reads(head, codec) else None
    if not head:
        return "utf-8"
    if head.count(0) * 4 >= len(head):
        return _unmarked(head)
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls * _FEW > len(head):
        return None
    return "utf-8" if _is_utf8(head) else "cp1252"


def declared_charset(head: bytes) -> str | None:
    """The codec that an HTML document of one byte a character names for itself, where Python has it."""
    found = _DECLARED.search(head[:4096])
    if found is None:
        return None
    try:
        codec = codecs.lookup((found[1] or found[2]).decode("ascii")).name
    except LookupError:
        return None
    if codec in _TAKEN_FOR_1252:
        return "cp1252"
    return codec if _ONE_BYTE.match(codec) else None


def _unmarked(head: bytes) -> str | None:
    """UTF-16 without its mark: every second byte is zero, since most letters are Latin."""
    first, second = head[::2].count(0), head[1::2].count(0)
    codec = "utf-16-le" if second > 9 * first else "utf-16-be" if first > 9 * second else None
    return codec if codec is not None and _reads(head, codec) else None


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def _reads(head: bytes, codec: str) -> bool:
    """Whether the codec makes letters of it: nearly no control characters, nothing unassigned."""
    text = codecs.getincrementaldecoder(codec)("replace").decode(head)
    odd = sum(1 for c in text if c == "\ufffd" or not (c.isprintable() or c in "\t\n\f\r\ufeff"))
    return odd * _FEW <= len(text)
