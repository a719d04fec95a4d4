"""A mail without the bulk of its files: the standard library's reader takes seven times a mail's size. Pure."""

from __future__ import annotations

import re

__all__ = ["bounded", "first_lines", "parted", "slimmed", "slimming"]

_SMALL = 2_000_000
_LINES = 600_000
"""A mail of 25 MB has a third of a million lines; the reader takes a hundred bytes for each, be it empty."""
_RUN = 10_000
"""Lines of encoded data after which the rest of them is left out: 760 kB, more than any text that is answered."""
_TEXT = 100_000
"""Lines of encoded texts that are kept beyond that, of all together: 7.6 MB."""
_LABEL = 200
_ATTACHED = re.compile(rb"content-disposition:\s*attachment")
_HEAD, _HEAD_LINES = 262_144, 6_000
"""Bytes and lines of a head: more than servers take of one, nearly always."""
_LONG_FIELD = 32_768
"""Bytes by which a head may be longer, so that its last field is whole."""
_NEXT_FIELD = re.compile(rb"\n(?![ \t])")
_FROM = re.compile(rb"from:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE)


def first_lines(raw: bytes) -> bytes:
    """As many lines as are read of a mail; of an ordinary one all, and then the mail itself."""
    if raw.count(b"\n") <= _LINES:
        return raw
    end = 0
    for _ in range(_LINES):
        end = raw.find(b"\n", end) + 1
    return raw[:end]


def parted(raw: bytes) -> tuple[bytes, memoryview]:
    """As much of a mail's head as is read, and all that stands behind the head, from the empty line on.

    Who wrote a mail must not hang on where we cut: of the fields that are left out a From stays, and a second one.
    """
    end = min((at for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0), default=len(raw))
    top = raw[:end]
    cut = _cut_of(top)
    if cut < end:
        top = b"\n".join((top[:cut], *_senders(top, cut)))
    return top, memoryview(raw)[end:]


def bounded(raw: bytes) -> bytes:
    """The mail with as much of its head as is read; an ordinary one as it is."""
    top, rest = parted(raw)
    return raw if len(top) + len(rest) == len(raw) else b"".join((top, rest))


def _cut_of(top: bytes) -> int:
    """Where the part of a head that is read ends: at the end of a field, nearly always."""
    end = -1
    for _ in range(_HEAD_LINES):
        end = top.find(b"\n", end + 1)
        if end < 0:
            break
    start = _HEAD if end < 0 else min(end, _HEAD)
    if start >= len(top):
        return len(top)
    found = _NEXT_FIELD.search(top, start, start + _LONG_FIELD)
    return min(len(top), found.start() if found is not None else start + _LONG_FIELD)


def _senders(top: bytes, start: int) -> list[bytes]:
    """The first two fields behind `start` that say who wrote."""
    lines = top.lower().replace(b"\r", b"\n")
    found: list[bytes] = []
    at = start
    while len(found) < 2 and (at := lines.find(b"\nfrom:", at)) >= 0:
        at += 1
        if (field := _FROM.match(top, at)) is not None:
            found.append(field[0])
    return found


def slimmed(raw: bytes) -> bytes:
    """The mail with every long stretch of base64 cut off behind its beginning; a small one as it is."""
    return slimming(raw)[0]


def slimming(raw: bytes) -> tuple[bytes, bool]:
    """The same, and whether some of a text was cut off. A text may be long for the pictures that stand in it."""
    if len(raw) <= _SMALL:
        return raw, False
    kept = bytearray()
    start = run = 0
    left, is_text, is_cut = _TEXT, False, False
    while start < len(raw):
        end = raw.find(b"\n", start) + 1 or len(raw)
        run = run + 1 if _is_encoded(raw, start, end) else 0
        if run == 0 and raw[start] in b"Cc-":  # most lines are of no concern
            is_text = _is_text(raw[start : min(end, start + _LABEL)].lower(), is_text)
        if run <= _RUN or (is_text and left > 0):
            kept += raw[start:end]
            left -= run > _RUN
        else:
            is_cut |= is_text
        start = end
    return bytes(kept), is_cut


def _is_text(line: bytes, so_far: bool) -> bool:
    """Whether what stands below a line is a part's text: not behind it, and not in a file."""
    if line.startswith(b"content-type:"):
        return b"text/" in line
    return so_far and not line.startswith(b"--") and _ATTACHED.match(line) is None


def _is_encoded(raw: bytes, start: int, end: int) -> bool:
    """Whether a line looks like base64: long enough, and without any space."""
    return 58 <= end - start <= 80 and raw.find(b" ", start, end) < 0 and raw[start : start + 2] != b"--"
