"""Long-term memory: what is kept over sessions, and who keeps it.

`LongTermMemory` may be subclassed by users; the built-in one and at most one external provider are used
together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["LongTermMemory", "MemoryItem", "MemoryKind"]

MemoryKind = Literal["fact", "preference", "procedure"]


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One remembered thing. `importance` and `score` lie in 0..1; `score` is only set on recalled items."""

    text: str
    kind: MemoryKind = "fact"
    importance: float = 0.5
    source: str = ""
    score: float = 0.0


class LongTermMemory(ABC):
    """A place that remembers.

    One that fails must raise; it never breaks a turn, the caller goes on without it.
    """

    @abstractmethod
    async def recall(self, query: str, *, person: str, limit: int = 5) -> Sequence[MemoryItem]:
        """What matters for `query`, best first."""

    @abstractmethod
    async def remember(self, item: MemoryItem, *, person: str) -> None:
        """Keep the item; durable when this returns."""

    async def aclose(self) -> None:  # noqa: B027  most have nothing to close
        """Let go of connections."""
