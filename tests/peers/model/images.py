"""Limits on pictures, as strict providers have them: 8000 px a side, 2000 px when there are more than 20."""

import base64
import binascii
import struct
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_SIDE = 8000
LONGEST_SIDE_OF_MANY = 2000
MANY = 20


def image_faults(messages: list[dict[str, Any]]) -> list[str]:
    """What a provider would refuse about the pictures of a request."""
    urls = list(_data_urls(messages))
    limit = LONGEST_SIDE_OF_MANY if len(urls) > MANY else LONGEST_SIDE
    faults = []
    for number, url in enumerate(urls):
        size = _size(url)
        if size is None:
            faults.append(f"image {number}: could not process image")
        elif max(size) > limit:
            faults.append(f"image {number}: a side of {max(size)} px is over {limit} px")
    return faults


def _data_urls(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            image: Mapping[str, Any] = part.get("image_url") or {}
            if str(image.get("url", "")).startswith("data:"):
                yield str(image["url"])


def _size(url: str) -> tuple[int, int] | None:
    try:
        data = base64.b64decode(url.partition(",")[2], validate=True)
    except binascii.Error:
        return None
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        return width, height
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return 1, 1
    return _jpeg_size(data) if data.startswith(b"\xff\xd8") else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the frame header (ITU T.81, B.2.2)."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
