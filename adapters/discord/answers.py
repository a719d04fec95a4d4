"""What a reply must know of the message that it answers, as `Target.answers` carries it. Pure.

One of: a message to refer to, a slash command whose place it takes, a thread that begins at the message.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

__all__ = ["Answers"]


@dataclass(frozen=True, slots=True)
class Answers:
    """message: the id to refer to. application, token: of an interaction. parent, name: of the thread to be."""

    message: str = ""
    application: str = ""
    token: str = ""
    parent: str = ""
    name: str = ""

    def to_text(self) -> str:
        """As it is stored."""
        return json.dumps(
            {k: v for k, v in asdict(self).items() if v}, separators=(",", ":"), ensure_ascii=False
        )

    @classmethod
    def from_text(cls, text: str | None) -> Answers:
        """The inverse of `to_text`; an empty one for anything else."""
        try:
            told = json.loads(text or "{}")
            return cls(**{k: str(v) for k, v in told.items()})
        except (ValueError, TypeError, AttributeError):
            return cls()
