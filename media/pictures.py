"""How large a picture is, from its beginning alone. Pure.

Sources: PNG third edition 11.2.1; ITU T.81 B.2.2 (JPEG); GIF89a section 18; RFC 9649 (WebP).
"""

from __future__ import annotations

import struct

__all__ = ["size_of"]

# Start of frame, in all its kinds; between them lie the markers of tables: T.81, table B.1
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})


def size_of(head: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF or WebP that begins with `head`; `None` where it does not say.

    The frame of a JPEG comes after its colour profile and preview: 64 KiB of a beginning are enough for most.
    """
    try:
        size = _size(head)
    except (struct.error, IndexError):
        return None
    return size if size is not None and min(size) > 0 else None


def _size(head: bytes) -> tuple[int, int] | None:
    size: tuple[int, int] | None = None
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        size = struct.unpack_from(">II", head, 16)
    elif head.startswith((b"GIF87a", b"GIF89a")):
        size = struct.unpack_from("<HH", head, 6)
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        size = _webp(head)
    elif head.startswith(b"\xff\xd8"):
        size = _jpeg(head)
    return size


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", head, 21)
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        if marker == 0xFF:  # filling
            at += 1
        elif marker in _WITHOUT_LENGTH:
            at += 2
        else:
            (length,) = struct.unpack_from(">H", head, at + 2)
            at += 2 + length
    return None
