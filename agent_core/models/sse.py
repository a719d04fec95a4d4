"""Server-sent events of a chat stream, from bytes. Only `data` matters there (WHATWG HTML, section 9.2.6).

Lines are split as bytes: U+2028 inside a text is no line end, and a character cut by a chunk border stays
whole.
"""

from __future__ import annotations

from typing import Protocol

from hermes.errors import ModelError

__all__ = ["BodyReader", "EventLines", "WholeBody", "body_reader"]

_LONGEST = 16 * 1024 * 1024  # one line without an end, in bytes


class BodyReader(Protocol):
    """Finds the JSON texts in the body of an answer."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The texts that `chunk` completes."""
        ...

    def finish(self) -> list[bytes]:
        """What is left at the end of the body."""
        ...


class EventLines:
    """Turns chunks of bytes into the data of events, in order. Comments and other fields are left out."""

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of each event that `chunk` completes. Raises `ModelError` for a line without end."""
        text = self._rest + chunk if self._rest else chunk
        if b"\r" in text:
            text = self._newlines(text)
        lines = text.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST:
            raise ModelError("The provider's answer has a line without end.", kind="malformed")
        out: list[bytes] = []
        for line in lines:
            self._line(line, out)
        return out

    def finish(self) -> list[bytes]:
        """What was begun when the stream ended: some servers leave out the last empty line."""
        out: list[bytes] = []
        self._line(self._rest.rstrip(b"\r"), out)
        self._line(b"", out)
        self._rest = b""
        return out

    def _line(self, line: bytes, out: list[bytes]) -> None:
        if not line:
            if self._data:
                out.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
        elif line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])

    @staticmethod
    def _newlines(text: bytes) -> bytes:
        # A CR at the very end may be the first half of a CRLF: it waits as it is for the next chunk.
        tail = b"\r" if text.endswith(b"\r") else b""
        return text.removesuffix(tail).replace(b"\r\n", b"\n").replace(b"\r", b"\n") + tail


class WholeBody:
    """One JSON text without events: some servers do not stream though they were asked to."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Nothing: the text is complete at the end of the body."""
        self._size += len(chunk)
        if self._size > 2 * _LONGEST:
            raise ModelError("The provider's answer has no end.", kind="malformed")
        self._parts.append(chunk)
        return []

    def finish(self) -> list[bytes]:
        """The text."""
        return [b"".join(self._parts)]


def body_reader(start: bytes) -> BodyReader | None:
    """The reader for a body that begins so.

    `None` while only white space came. Content types are not to be trusted here.

    Raises `ModelError` for a page of HTML (a proxy's, a portal's, or a wrong `base_url`).
    """
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if head == b"<":
        told = "The provider answered with a web page; check `base_url`."
        raise ModelError(told, kind="malformed")
    if head == b"{":
        return WholeBody()
    return EventLines() if head else None
