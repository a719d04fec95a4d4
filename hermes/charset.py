"""Which codec reads what somebody says that text is written in. Pure.

Source: https://encoding.spec.whatwg.org/#names-and-labels , which says what the labels mean in the wild.
"""

from __future__ import annotations

import codecs
import re

__all__ = ["codec_of", "declared_codec", "marked_codec"]

# The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Labels that Python does not know.
_NAMES = {
    "dos-874": "cp874",
    "iso-8859-6-e": "iso8859-6",
    "iso-8859-6-i": "iso8859-6",
    "iso-8859-8-e": "cp1255",
    "iso-8859-8-i": "cp1255",
    "koi8-ru": "koi8-u",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "x-euc-jp": "euc_jp",
    "x-gbk": "gb18030",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-roman": "mac-roman",
    "x-sjis": "cp932",
    "x-x-big5": "big5hkscs",
}
# What is meant is wider than what is said.
_MEANT = {
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "iso2022_jp": "iso2022_jp_ext",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_TEXT = re.compile(r"ascii|utf|cp\d|iso|koi8|mac-|big5|gb|hz|shift_jis|euc|kz1048|ptcp154|johab|hp-roman8")
"""Python's names of what people write in: it also has codecs that are no such thing, or that take the square of a length."""
_DECLARED = re.compile(
    rb"""(?i)<meta[^>]{0,200}charset\s*=[\s"']*+([\w.:-]{2,40})|<\?xml[^>]{0,100}encoding\s*=\s*["']([\w.:-]{2,40})"""
)
_LONGEST = 40
"""Characters of a label: Python remembers each that it was asked for."""


def codec_of(label: str) -> str | None:
    """The codec that reads text with that label; `None`: nobody knows it. US-ASCII is what says nothing."""
    label = label.strip().strip("\"'").lower()[:_LONGEST]
    try:
        name = codecs.lookup(_NAMES.get(label.replace("_", "-"), label)).name
    except (LookupError, ValueError):
        return None
    return _MEANT.get(name, name) if _TEXT.match(name) else None


def marked_codec(head: bytes) -> str | None:
    """The codec of a text that begins with a byte order mark."""
    return next((codec for mark, codec in _MARKS if head.startswith(mark)), None)


def declared_codec(head: bytes) -> str | None:
    """The codec that an HTML document names for itself; what is read as far as that is no UTF-16."""
    labels = [(found[1] or found[2]).decode("ascii", "replace") for found in _DECLARED.finditer(head[:4096])]
    codec = next(filter(None, map(codec_of, labels)), None)
    return None if codec is None or codec.startswith(("utf", "ascii")) else codec
