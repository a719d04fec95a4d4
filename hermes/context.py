"""Keeping a conversation inside the model's window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes.messages import Message

__all__ = ["ContextEngine", "Fitted"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Messages that fit.

    `dropped`: how many of the oldest are not in them; a tool call and its result are never separated.
    """

    messages: tuple[Message, ...]
    dropped: int


class ContextEngine(Protocol):
    """Chooses what of a history goes into a request. The history itself is never changed."""

    async def fit(self, messages: Sequence[Message], *, budget_tokens: int) -> Fitted:
        """The newest messages, in whole turns, that fit into `budget_tokens` by the current estimate.

        At least the last user message.
        """
        ...
