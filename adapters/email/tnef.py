"""The files in a winmail.dat, in which Outlook packs what it sends to who it takes for another Outlook. Pure.

Source: https://learn.microsoft.com/openspecs/exchange_server_protocols/ms-oxtnef . Nothing is raised: what is broken or cut off
is read as far as it goes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Tnef", "TnefFile", "read_tnef"]

_SIGNATURE = 0x223E9F78
_MOST = 200
_BODY, _CODEPAGE, _MESSAGE = 0x0002800C, 0x00069007, 0x00069003
_BEGIN, _TITLE, _DATA, _PROPERTIES = 0x00069002, 0x00018010, 0x0006800F, 0x00069005
_TEXT, _HTML, _NAME, _LONG_NAME, _MIME = 0x1000, 0x1013, 0x3704, 0x3707, 0x370E
_SIZES = {2: 4, 3: 4, 4: 4, 0xA: 4, 0xB: 4, 5: 8, 6: 8, 7: 8, 0x14: 8, 0x40: 8, 0x48: 16}
_VARIABLE = (0x1E, 0x1F, 0x102, 0xD)
_MULTIPLE = 0x1000


@dataclass(slots=True)
class TnefFile:
    """A file as it is packed; `name` may be empty. size: of its whole content, also where that is cut off."""

    name: str = ""
    mime: str = ""
    content: bytes = b""
    size: int = 0


@dataclass(slots=True)
class Tnef:
    """What is in one. text, html: the message itself, where it is written there. whole: nothing is missing at its end."""

    text: str = ""
    html: str = ""
    files: list[TnefFile] = field(default_factory=list)
    whole: bool = True


def read_tnef(data: bytes) -> Tnef | None:
    """Read it; `None` for what is no such file."""
    if len(data) < 6 or struct.unpack_from("<I", data)[0] != _SIGNATURE:
        return None
    found = Tnef()
    charset = "cp1252"
    for name, value, size in _attributes(data, found):
        match name:
            case _ if name == _CODEPAGE and len(value) >= 4:
                charset = f"cp{struct.unpack_from('<I', value)[0]}"
            case _ if name == _BODY:
                found.text = _text(value, charset)
            case _ if name == _MESSAGE:
                _message(value, charset, found)
            case _ if name == _BEGIN and len(found.files) < _MOST:
                found.files.append(TnefFile())
            case _ if found.files:
                _file(name, value, size, charset, found.files[-1])
    found.files = [file for file in found.files if file.size]
    return found


def _attributes(data: bytes, found: Tnef) -> Iterator[tuple[int, bytes, int]]:
    """Name, value and stated length of each; the last value may be cut off."""
    at = 6
    while at < len(data):
        if at + 9 > len(data):
            found.whole = False
            return
        _, name, size = struct.unpack_from("<BII", data, at)
        value = data[at + 9 : at + 9 + size]
        yield name, value, size
        if len(value) < size:
            found.whole = False
            return
        at += 9 + size + 2


def _message(value: bytes, charset: str, found: Tnef) -> None:
    for prop, words in _properties(value, charset):
        if prop == _TEXT:
            found.text = found.text or words
        elif prop == _HTML:
            found.html = words


def _file(name: int, value: bytes, size: int, charset: str, file: TnefFile) -> None:
    if name == _TITLE:
        file.name = file.name or _text(value, charset)
    elif name == _DATA:
        file.content, file.size = value, size
    elif name == _PROPERTIES:
        known = dict(_properties(value, charset))
        file.name = known.get(_LONG_NAME) or file.name or known.get(_NAME, "")
        file.mime = known.get(_MIME, "")


def _properties(data: bytes, charset: str) -> Iterator[tuple[int, str]]:
    """The properties that are text, or bytes that are text; the others are stepped over."""
    try:
        (count,) = struct.unpack_from("<I", data)
        at = 4
        for _ in range(min(count, 10_000)):
            kind, prop = struct.unpack_from("<HH", data, at)
            at = _behind_name(data, at + 4) if prop >= 0x8000 else at + 4
            at, value = _value(data, at, kind)
            if value is not None:
                yield prop, _text(value, "utf-16-le" if kind == 0x1F else charset)
    except struct.error:
        return


def _behind_name(data: bytes, at: int) -> int:
    (kind,) = struct.unpack_from("<I", data, at + 16)
    (size,) = struct.unpack_from("<I", data, at + 20)
    return at + 24 + (_padded(size) if kind == 1 else 0)


def _value(data: bytes, at: int, kind: int) -> tuple[int, bytes | None]:
    """Where the next property begins, and the value of one that is text."""
    plain = kind & ~_MULTIPLE
    if plain not in _VARIABLE and plain not in _SIZES:
        raise struct.error("a kind of value that nobody knows")
    count = 1
    if plain in _VARIABLE or kind & _MULTIPLE:
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
    if plain in _SIZES:
        return at + count * _SIZES[plain], None
    found: bytes | None = None
    for _ in range(min(count, 1000)):
        (size,) = struct.unpack_from("<I", data, at)
        found = data[at + 4 : at + 4 + size] if plain != 0xD else None
        at += 4 + _padded(size)
    return at, found


def _padded(size: int) -> int:
    return (size + 3) & ~3


def _text(value: bytes, charset: str) -> str:
    try:
        text = value.decode(charset, "replace")
    except LookupError:
        text = value.decode("cp1252", "replace")
    return re.sub(r"\r\n?", "\n", text.rstrip("\0"))
