"""What happens when the provider says that a request is too long: shrink, a bounded number of times.

The provider knows best, so our estimate is not argued with: each retry gets half of what the last request
took.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST_SHRINKS", "Room", "room"]

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
