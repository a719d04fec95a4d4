"""How large pictures are, by their beginning."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.pictures import size_of

APP = b"\xff\xe1\x00\x10" + b"\xff\xc0" * 7  # a preview that looks like a frame
FRAME = b"\x00\x11\x08" + struct.pack(">HH", 768, 1024) + b"\x03"
VP8L = (1023 | 767 << 14).to_bytes(4, "little")
PICTURES = {
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1024, 768) + b"\x08\2\0\0\0",
    "gif": b"GIF89a" + struct.pack("<HH", 1024, 768),
    "jpeg": b"\xff\xd8" + APP + b"\xff\xff\xc0" + FRAME,
    "progressive": b"\xff\xd8\xff\xe0\x00\x02\xff\xc4\x00\x02\xff\xc2" + FRAME,
    "webp": b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\x30\1\0\x9d\1\x2a" + struct.pack("<HH", 1024 | 0x4000, 768),
    "lossless": b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + VP8L,
    "extended": b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + b"\xff\3\0" + b"\xff\2\0",
}


@pytest.mark.parametrize("name", PICTURES)
def test_width_and_height(name: str) -> None:
    assert size_of(PICTURES[name]) == (1024, 768)


@given(st.sampled_from(sorted(PICTURES)), st.integers(0, 60), st.binary(max_size=8))
def test_half_a_picture_has_a_size_or_none(name: str, length: int, rest: bytes) -> None:
    size = size_of(PICTURES[name][:length] + rest)
    assert size is None or min(size) > 0


@pytest.mark.parametrize(
    "head", [b"", b"text", b"\xff\xd8", b"\xff\xd8\xff\xd9", b"\x89PNG\r\n\x1a\n\0\0\0\0IHDR" + b"\0" * 8]
)
def test_what_does_not_say_it_has_none(head: bytes) -> None:
    assert size_of(head) is None
