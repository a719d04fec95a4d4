"""A mail's bytes as parts, by the standard library's reader, which is kept from what takes it long. Pure.

It reads some fields again and again, with a time that grows by the square of their length: so each field but From has a
bound, far above what people and programs write. What stands behind it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from email.feedparser import FeedParser
from email.message import Message
from email.policy import Compat32
from functools import partial
from itertools import count

__all__ = ["read_mail"]

_PIECE = 8_192
_FIELD = 16_384
_CONTENT, _PARAMETERS = 4_096, 64
"""Characters and parameters of a field that says what a part is."""
_MULTIPARTS = 50
"""Parts that have parts: each line is compared with the ends of all that are open."""
_FIELDS = 2_000
"""Fields of a head: each look for one goes through all of them."""
_HEAD_LINES = 20_000
"""Lines of the heads of all parts together: ten times what the parts have that are read."""


class _Bounded(Compat32):
    """The oldest policy (the newer ones raise on what arrives in the wild), with bounds."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        if name.lower().startswith("content-"):
            return name, ";".join(value[:_CONTENT].split(";", _PARAMETERS)[:_PARAMETERS])
        # Who wrote a mail must not hang on where we cut: what stands behind would be a second address to others.
        return name, value if name.lower() == "from" else value[:_FIELD]

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002  the policy's own form
        """Bytes that are no ASCII: UTF-8 (RFC 6532), or what programs write that know nothing of either."""
        raw = value.encode("utf-8", "surrogateescape")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("cp1252", "replace")


class _Part(Message):
    """A mail or a part of it, with a bound for its fields; a second From may stand behind others."""

    def __init__(self, policy: Compat32, multiparts: Iterator[int]) -> None:
        super().__init__(policy)
        self._multiparts = multiparts

    def set_raw(self, name: str, value: str) -> None:
        if len(self) >= _FIELDS and not (name.lower() == "from" and len(self) < 2 * _FIELDS):
            return
        is_multipart = name.lower() == "content-type" and value.lstrip().lower().startswith("multipart/")
        if is_multipart and next(self._multiparts) > _MULTIPARTS:
            value = "text/plain"
        super().set_raw(name, value)


class _Reader(FeedParser):
    """The standard library's reader, with a bound for the heads of all parts."""

    _left = _HEAD_LINES

    def _parse_headers(self, lines: list[str]) -> None:
        read = lines[: self._left]
        self._left -= len(read)
        super()._parse_headers(read)  # type: ignore[misc]  # the one place where lines become fields


_POLICY = _Bounded()


def read_mail(raw: bytes) -> Message:
    """The mail. Raises what the standard library raises."""
    reader = _Reader(partial(_Part, multiparts=count(1)), policy=_POLICY)
    text = raw.decode("ascii", "surrogateescape")
    for start in range(0, len(text), _PIECE):  # as it is read from files: many lines at once take it longer
        reader.feed(text[start : start + _PIECE])
    message: Message = reader.close()
    return message
