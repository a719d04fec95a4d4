"""How much a request may hold, and what happens when the provider says that it is too long: shrink, a bounded number of times.

The provider knows best, so our estimate is not argued with: each retry gets half of what the last request
took.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["FILES_SHARE", "MOST_SHRINKS", "Room", "cut_to", "room"]

FILES_SHARE = 0.25
"""Of a model's window, for what the files of a message say: what is asked never leaves a request, so it must fit by itself."""
MOST_SHRINKS = 2
_ANSWER_SHARE = 0.25
_ANSWER_MOST = 8192
_LEAST = 256


def room(window: int, fixed: int) -> int:
    """Tokens for messages in `window`, when system text and tools take `fixed` and an answer must fit."""
    return max(_LEAST, window - fixed - min(_ANSWER_MOST, int(window * _ANSWER_SHARE)))


@dataclass(slots=True)
class Room:
    """Tokens that messages may take in this turn; halved at most `MOST_SHRINKS` times."""

    tokens: int
    shrinks: int = 0

    def shrink(self, used: int) -> bool:
        """Halve what the refused request used; `False` when that was tried often enough."""
        if self.shrinks >= MOST_SHRINKS:
            return False
        self.shrinks += 1
        self.tokens = max(_LEAST // 4, min(self.tokens, used) // 2)
        return True


def cut_to(texts: Sequence[str], tokens: int, cost: Callable[[str], int]) -> list[str]:
    """Pure: the texts with at most so many tokens together; what is too much is cut off at the end."""
    kept: list[str] = []
    for text in texts:
        fits = cost(text) <= tokens
        kept.append(text if fits else text[: _longest(text, tokens, cost)])
        tokens -= cost(kept[-1])
    return kept


def _longest(text: str, tokens: int, cost: Callable[[str], int]) -> int:
    """How many of its first characters cost no more."""
    return bisect_right(range(len(text) + 1), tokens, key=lambda length: cost(text[:length])) - 1
