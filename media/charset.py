"""Whether bytes are text, and in which encoding. Pure."""

from __future__ import annotations

import codecs
import re
import unicodedata

from hermes.charset import marked_codec

__all__ = ["charset_of"]

_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\f\r\x1b\x1a"))
_ASCII = bytes({*range(32, 127), *b"\t\n\r"})
_FEW = 200
"""One control character in so many bytes makes text no binary: logs have NULs where a machine went down."""
_NO_LETTER = ("Cc", "Cf", "Cn", "Co", "Cs")
_UNSEEN = "\t\n\f\r\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
"""What text has of them: among others what joins and parts letters in Persian and Hindi."""
_USUAL = re.compile("[\t\n\r -~\u3001-\u30ff\uff01-\uff5e]")
"""What text of any language has some of: spaces, line ends, Latin letters and digits, the marks of East Asia, kana."""
_KANA = re.compile("[\u3001-\u301f\u3041-\u30ff]")
_SOME = 40
_FEW_KANA = 3


def charset_of(head: bytes) -> str | None:
    """The codec that reads a file which begins with `head`; `None`: it is no text.

    One byte a character is read as Windows-1252, which is what most such text is in; it is a guess.
    """
    codec = marked_codec(head)
    if codec is not None:
        return codec if _reads(head, codec) else None
    if not head:
        return "utf-8"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls * _FEW <= len(head) and _is_utf8(head):
        return "utf-8"
    return _unmarked(head) or ("cp1252" if controls * _FEW <= len(head) else None)


def _unmarked(head: bytes) -> str | None:
    """UTF-16 without its mark: all of it are characters, and what every text has some of is among them.

    Text of one byte a character has no zeros. A short Japanese one may have none either; then much of it must be kana, since
    their first byte is the digit 0.
    """
    if len(head.translate(None, _ASCII)) * 8 <= len(head):
        return None
    usual, part, least = (_USUAL, _SOME, 1) if 0 in head else (_KANA, _FEW_KANA, _FEW_KANA)
    found = {codec: len(usual.findall(head.decode(codec, "replace"))) for codec in ("utf-16-le", "utf-16-be")}
    best = max(found, key=lambda codec: found[codec])
    is_some = found[best] >= max(least, len(head) // 2 / part)
    return best if is_some and _reads(head, best) else None


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def _reads(head: bytes, codec: str) -> bool:
    """Whether the codec makes text of it: nearly no control characters, nothing unassigned."""
    text = codecs.getincrementaldecoder(codec)("replace").decode(head)
    odd = sum(
        1 for c in text if c == "\ufffd" or (c not in _UNSEEN and unicodedata.category(c) in _NO_LETTER)
    )
    return odd * _FEW <= len(text)
