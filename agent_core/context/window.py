"""The plain context engine: old turns leave the request whole, nothing is summarised."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.history import blocks
from hermes.context import Fitted
from hermes.messages import Message

__all__ = ["TrailingWindow"]


_KEPT_SHARE = 0.75
"""Of the budget, once something has to leave: else each turn would push out another, and no two requests begin alike."""


class TrailingWindow:
    """Keeps the newest turns that fit. `tokens`: what messages cost by the current estimate."""

    def __init__(self, tokens: Callable[[Sequence[Message]], int]) -> None:
        self._tokens = tokens

    async def fit(self, messages: Sequence[Message], *, budget_tokens: int) -> Fitted:
        """See `ContextEngine.fit`.

        When the last turn alone is too long, its oldest calls leave with their results.
        """
        if self._tokens(messages) <= budget_tokens:
            return Fitted(tuple(messages), 0)
        turns = _turns(messages)
        last = turns.pop()
        kept = self._shortened(last, budget_tokens)
        left = int(budget_tokens * _KEPT_SHARE) - self._tokens(kept)
        # An older turn may stand there only when the last one is whole, or the order of things is lost.
        while turns and len(kept) >= len(last) and (cost := self._tokens(turns[-1])) <= left:
            left -= cost
            last = [*turns.pop(), *last]
            kept = last
        return Fitted(tuple(kept), len(messages) - len(kept))

    def _shortened(self, turn: list[Message], budget: int) -> list[Message]:
        """The turn's own user message and as many of its newest blocks as fit; at least one."""
        if self._tokens(turn) <= budget:
            return turn
        pieces = blocks(turn)
        asked = [piece for piece in pieces if piece[0].role == "user"]
        rest = [piece for piece in pieces if piece[0].role != "user"]
        left = budget - sum(self._tokens(piece) for piece in asked)
        kept: list[list[Message]] = []
        for piece in reversed(rest):
            left -= self._tokens(piece)
            if left < 0 and kept:
                break
            kept.insert(0, piece)
        return [message for piece in (*asked, *kept) for message in piece]


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Runs that begin with a user message; what stands before the first one is a run of its own."""
    out: list[list[Message]] = []
    before = ""
    for message in messages:
        if not out or (message.role == "user" and before != "user"):
            out.append([])
        out[-1].append(message)
        before = message.role
    return out
