"""A mail of which only the beginning is there, completed by the headers of its other parts, so that its files are known.

Pure. Only the parts of the mail itself count, not those of its parts: files lie there, nearly always.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adapters.email.reader import read_mail

__all__ = ["MOST_PARTS", "completed"]

MOST_PARTS = 30
"""Parts whose headers are asked for."""


def completed(beginning: bytes, headers: Mapping[int, bytes]) -> bytes:
    """The beginning, and behind it an empty part with its header for each part that does not begin there.

    headers: by the part's number, the first is 1.
    """
    mark = _boundary(beginning)
    if mark is None:
        return beginning
    seen = len(re.findall(rb"(?:\A|\n)--" + re.escape(mark) + rb"[ \t]*\r?\n", beginning))
    missing = [
        headers[number].strip() for number in sorted(headers) if number > seen and headers[number].strip()
    ]
    if not seen or not missing:
        return beginning
    parts = (b"\r\n--" + mark + b"\r\n" + header + b"\r\n\r\n" for header in missing)
    return beginning + b"".join(parts) + b"\r\n--" + mark + b"--\r\n"


def _boundary(beginning: bytes) -> bytes | None:
    """What parts the mail's own parts, when the mail is not one itself."""
    ends = [at for end in (b"\r\n\r\n", b"\n\n") if (at := beginning.find(end)) >= 0]
    head = read_mail(beginning[: min(ends, default=0)])
    if head.get_content_maintype() != "multipart":
        return None
    try:
        mark = head.get_boundary()
    except (ValueError, LookupError):
        return None
    return mark.encode("utf-8", "surrogateescape") if mark else None
