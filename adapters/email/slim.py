"""A mail without the bulk of its files: the standard library's reader takes seven times a mail's size. Pure."""

from __future__ import annotations

__all__ = ["first_lines", "slimmed"]

_SMALL = 2_000_000
_LINES = 600_000
"""A mail of 25 MB has a third of a million lines; the reader takes a hundred bytes for each, be it empty."""
_RUN = 10_000
"""Lines of encoded data after which the rest of them is left out: 760 kB, more than any text that is answered."""


def first_lines(raw: bytes) -> bytes:
    """As many lines as are read of a mail; of an ordinary one all, and then the mail itself."""
    if raw.count(b"\n") <= _LINES:
        return raw
    end = 0
    for _ in range(_LINES):
        end = raw.find(b"\n", end) + 1
    return raw[:end]


def slimmed(raw: bytes) -> bytes:
    """The mail with every long stretch of base64 cut off behind its beginning; a small one as it is."""
    if len(raw) <= _SMALL:
        return raw
    kept = bytearray()
    start = run = 0
    while start < len(raw):
        end = raw.find(b"\n", start) + 1 or len(raw)
        run = run + 1 if _is_encoded(raw, start, end) else 0
        if run <= _RUN:
            kept += raw[start:end]
        start = end
    return bytes(kept)


def _is_encoded(raw: bytes, start: int, end: int) -> bool:
    """Whether a line looks like base64: long enough, and without any space."""
    return 58 <= end - start <= 80 and raw.find(b" ", start, end) < 0 and raw[start : start + 2] != b"--"
