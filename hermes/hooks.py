"""Places where user code may look on or step in.

A hook is a plain function `(HookEvent) -> HookDecision | None`. `None` passes. Only "before" hooks may block
or rewrite. A hook must
not raise; one that does is logged and counts as `None`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Hook", "HookDecision", "HookEvent", "HookName"]

HookName = Literal[
    "gateway:start",
    "gateway:stop",
    "session:start",
    "session:end",
    "session:reset",
    "agent:start",
    "agent:step",
    "agent:end",
    "tool:before",
    "tool:after",
    "reply:before",
    "reply:after",
    "command",
]


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What happened. `data` is JSON-able and holds no secrets."""

    name: HookName
    session_key: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HookDecision:
    """What a before-hook wants: `block` with a reason, or `rewrite` of the text or arguments."""

    block: str | None = None
    rewrite: Any = None


Hook = Callable[[HookEvent], "HookDecision | Awaitable[HookDecision | None] | None"]
