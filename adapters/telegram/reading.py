"""What updates are read with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adapters.telegram.addressing import Account
from hermes.events import ChatKind, Target

__all__ = ["Reading"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Our instance, our account, whether groups must mention us, reactions count, and where answers quote."""

    instance: str
    account: Account
    mention: Literal["required", "off"] = "required"
    reactions: bool = False
    quotes: Literal["groups", "always", "off"] = "groups"

    def target(self, kind: ChatKind, chat: str, thread: str | None, message: int) -> Target:
        """Where the answer to a message goes. `Target.answers` is its id, where the answer quotes it."""
        quotes = self.quotes == "always" or (self.quotes == "groups" and kind != "direct")
        return Target(self.instance, chat, thread, str(message) if quotes else None)
