"""No regular expression takes more time than the length of its text deserves: one that does holds the whole process."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from tests.property.patterns import Expression, all_expressions, pumped

SIZE = 5000  # characters
MOST = 0.04  # s of CPU; what is linear takes a tenth of it on a slow machine, what grows by the square several times it
# What no stranger can feed: settings, and what a process of its own with a deadline reads.
OWN = {
    "adapters.webhook.template:_HOLE",
    "gateway.config.environment:_REFERENCE",
    "media.formats.hypertext:45",
}
# Dear, but linear: what they repeat is bounded.
DEAR = {"agent_core.security.scan:_PATTERNS", "adapters.discord.settings:_TOKEN"}
# Tables whose patterns are asked for the beginning alone.
AT_START = {"media.kinds:_BEGINNINGS", "media.kinds:_TEXTS", "media.kinds:_CONTAINERS"}


class TooLong(Exception):
    """The pattern was cut off."""


@contextmanager
def cut_off(seconds: float) -> Iterator[None]:
    def cut(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, cut)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def cost(pattern: re.Pattern[Any], use: str, text: Any) -> float:
    began = time.process_time()
    try:
        with cut_off(1.0):
            if use in ("match", "fullmatch"):
                getattr(pattern, use)(text)
            else:
                for _ in pattern.finditer(text):
                    pass
    except TooLong:
        pass
    return time.process_time() - began


def worn_out(each: Expression) -> str | None:
    """The text and the use that take too long, thrice."""
    uses = (
        {"match"} if each.place in AT_START else {u if u.endswith("match") else "finditer" for u in each.uses}
    )
    for text in pumped(each.pattern, SIZE):
        for use in uses:
            if all(cost(each.pattern, use, text) > MOST for _ in range(3)):
                return f"{each.place} by {use}: {text[:60]!r}... for {each.pattern.pattern!r}"
    return None


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,4000}?-->\s*)*(?:<html\b)",
        r"<\s*(/?)\s*(untrusted)",
        r"\s*(?:re)\s*(?:\[\d+\])?\s*:",
        r"[ \t]+\n",
    ],
)
def test_a_pattern_that_has_no_end_is_found(pattern: str) -> None:
    each = Expression("here", re.compile(pattern, re.DOTALL), frozenset({"search", "match"}))
    assert worn_out(each) is not None


def test_no_pattern_is_worn_out_by_a_text_of_its_own_parts() -> None:
    expressions = all_expressions()
    assert len(expressions) > 200
    assert [found for each in expressions if each.place not in OWN | DEAR if (found := worn_out(each))] == []
