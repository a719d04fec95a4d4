"""Numbers at the beginnings of lines that a reader of Markdown would change: it counts a list on from its first number. Pure."""

from __future__ import annotations

import re

__all__ = ["jumps"]

_NUMBER = re.compile(r"([ ]*)(\d{1,9})\.(?=[ ])")


def jumps(text: str) -> set[int]:
    """Where the dots stand behind numbers that are not the next of their list, or begin with a nought.

    With its dot escaped a number is shown as it is.
    """
    found: set[int] = set()
    next_: dict[int, int] = {}  # the number that comes next, by indentation
    at, after_blank = 0, False
    for line in text.split("\n"):
        number = _NUMBER.match(line)
        if number is not None:
            depth, value = len(number[1]), int(number[2])
            next_ = {other: n for other, n in next_.items() if other <= depth}
            if next_.get(depth, value) == value and number[2] == str(value):
                next_[depth] = value + 1
            else:
                found.add(at + number.end() - 1)  # no item any more, so the list's count stays
        elif after_blank and line[:1].strip():
            next_ = {}
        after_blank = not line.strip()
        at += len(line) + 1
    return found
