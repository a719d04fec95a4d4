"""What a part's bytes are behind its transfer encoding, decoded as they come. Pure; heavy for big parts: off the loop.

Source: https://www.rfc-editor.org/rfc/rfc2045#section-6 . What is broken is read as far as it goes, as mail programs do.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64, a2b_qp, a2b_uu
from collections.abc import Iterator
from typing import Protocol

__all__ = ["Decoder", "UUBlock", "decoder", "uu_blocks"]

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_NO_BASE64 = bytes(set(range(256)) - set(_BASE64))
_LONGEST_LINE = 100_000
# Nothing is tried twice (`++`): without an end, the way back through millions of lines took gigabytes.
_UU = re.compile(
    rb"^begin [0-7]{3,4} ([^\r\n]{1,200})\r?\n((?:[ -`]{1,90}+\r?\n)++)end[ \t]*\r?$", re.MULTILINE
)


class Decoder(Protocol):
    """Decodes one part. Nothing is raised."""

    def feed(self, data: bytes) -> bytes:
        """The next bytes, decoded as far as they can be."""
        ...

    def finish(self) -> bytes:
        """What was held back."""
        ...


def decoder(coding: str) -> Decoder:
    """For a Content-Transfer-Encoding; what nobody knows is taken as it is."""
    match coding.strip().lower():
        case "base64":
            return _Base64()
        case "quoted-printable":
            return _QuotedPrintable()
        case "x-uuencode" | "uuencode" | "uue" | "x-uue":
            return _UULines()
        case _:
            return _Plain()


class _Plain:
    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class _Base64:
    """Ends at the first padding, as every reader does: what stands behind it (a list's footer) is no data."""

    def __init__(self) -> None:
        self._rest = b""
        self._over = False

    def feed(self, data: bytes) -> bytes:
        if self._over:
            return b""
        text = self._rest + data.translate(None, _NO_BASE64)
        end = _padding(text)
        if end is not None:
            self._over, self._rest = True, b""
            return _unpadded(text[:end].replace(b"=", b""))
        text = text.replace(b"=", b"")
        whole = len(text) - len(text) % 4
        self._rest = text[whole:]
        return a2b_base64(text[:whole])

    def finish(self) -> bytes:
        return _unpadded(self._rest)


def _padding(text: bytes) -> int | None:
    """Where the padding begins that ends the data; one where none can be says nothing."""
    seen = start = 0
    while (at := text.find(b"=", start)) >= 0:
        seen += at - start
        if seen % 4 >= 2:
            return at
        start = at + 1
    return None


def _unpadded(text: bytes) -> bytes:
    whole = len(text) - (len(text) % 4 == 1)
    return a2b_base64(text[:whole] + b"=" * (-whole % 4))


class _QuotedPrintable:
    """Whole lines at a time: what an equals sign means depends on what follows."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        text = self._rest + data
        end = text.rfind(b"\n") + 1
        if not end and len(text) > _LONGEST_LINE:
            at = text.find(b"=", len(text) - 3)
            end = len(text) if at < 0 else at
        self._rest = text[end:]
        return a2b_qp(text[:end])

    def finish(self) -> bytes:
        return a2b_qp(self._rest)


class _UULines:
    """The lines between `begin` and `end`."""

    def __init__(self) -> None:
        self._rest = b""
        self._begun = self._over = False

    def feed(self, data: bytes) -> bytes:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        return b"".join(map(self._line, lines))

    def finish(self) -> bytes:
        return self._line(self._rest)

    def _line(self, line: bytes) -> bytes:
        line = line.rstrip(b"\r")
        if not self._begun:
            self._begun = line.startswith(b"begin ")
            return b""
        self._over = self._over or line.strip() in (b"end", b"`", b"")
        return b"" if self._over else _uu_line(line)


def _uu_line(line: bytes) -> bytes:
    try:
        return a2b_uu(line)
    except Error:  # encoders that pad too much: the first character says how many bytes there are
        count = (((line[0] - 32) & 63) * 4 + 5) // 3
        try:
            return a2b_uu(line[:count])
        except Error:
            return b""


class UUBlock:
    """A file that stands in a text between `begin` and `end`, as mail programs sent files before MIME."""

    def __init__(self, found: re.Match[bytes]) -> None:
        self.start, self.end = found.span()
        self.name = found[1].decode("utf-8", "replace").strip()
        self._lines = found[2]

    def content(self) -> bytes:
        """Its bytes."""
        return b"".join(map(_uu_line, self._lines.splitlines()))


def uu_blocks(text: bytes) -> Iterator[UUBlock]:
    """All of them, in order."""
    return map(UUBlock, _UU.finditer(text))
