"""A part of a mail put together from a server's answers, whatever the server makes of being asked for a piece. Pure.

Source: https://www.rfc-editor.org/rfc/rfc3501#section-6.4.5 (asking) and #section-7.4.2 (the answer). By these a piece says
where it begins, and is shorter than asked for only at the part's end. There are servers that give the whole part each
time, that do not say where a piece begins, and that give less at once than they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hermes.errors import Gone

__all__ = ["Assembly", "Given", "given"]

_NAMED = re.compile(
    rb'BODY\[([\d.]*)\](?:<(\d+)>)? (?:(\{\d+\}$)|NIL|"((?:[^"\\]|\\.)*)")', re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Given:
    """What an answer holds of a part. start: where that lies in the part; `None`: the server does not say."""

    data: bytes
    start: int | None


def given(lines: Sequence[bytes | bytearray], part: str) -> Given | None:
    """What the lines of an answer to FETCH (literals as `bytearray`) hold of that part; `None`: nothing."""
    found: list[Given] = []
    for number, line in enumerate(lines):
        if isinstance(line, bytearray):
            continue
        for named in _NAMED.finditer(line):
            if named[1].decode() != part:
                continue
            start = None if named[2] is None else int(named[2])
            if named[3] is None:
                found.append(Given(re.sub(rb"\\(.)", rb"\1", named[4] or b""), start))
            elif isinstance(following := lines[number + 1] if number + 1 < len(lines) else b"", bytearray):
                found.append(Given(bytes(following), start))
    return max(found, key=lambda g: len(g.data), default=None)


class Assembly:
    """at: the byte from which on the next piece is wanted. over: there is no more. most: bytes asked for at once."""

    def __init__(self, most: int) -> None:
        self.at = 0
        self.over = False
        self._most = most
        self._first: bytes | None = None
        self._last = most

    @property
    def may_end(self) -> bool:
        """Whether the last piece was a short one: then an answer that is none is the end too."""
        return self._last < self._most

    def add(self, answer: Given | None) -> bytes:
        """What is new in the answer. Raises `Gone` when it leaves open what comes next."""
        new = b"" if answer is None else self._new(answer)
        if not new and not self.may_end and (answer is None or answer.start not in (None, self.at)):
            raise Gone(
                "The mail went away while it was read."
                if answer is None
                else "The mail server gives other pieces of it than it is asked for."
            )
        self.over = not new or len(new) > self._most
        self.at += len(new)
        self._last = len(new)
        self._first = new if self._first is None else self._first
        return new

    def _new(self, answer: Given) -> bytes:
        start = self.at if answer.start is None else answer.start
        if start > self.at:
            return b""
        if start == self.at and answer.data == self._first:  # all of it once more
            return b""
        return answer.data[self.at - start :]
