"""`offer_choices`: answers that people may pick below the agent's own."""

from __future__ import annotations

import re
import unicodedata

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult
from tools.schema import arguments, text

__all__ = ["TOOLS"]

_MOST = 8
_LONGEST = 60
"""Characters of a label that every platform's buttons show (Slack's have 75, Discord's 80)."""
_JOINERS = "\u200c\u200d"
"""Signs without a shape that make what stands beside them: letters of some scripts, families of emoji."""
_FLAG_LETTERS = re.compile("[\U000e0020-\U000e007f]")
_EMPTY = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and signs that are drawn as nothing."""


async def offer_choices(asked: JSONObject, context: ToolContext) -> ToolResult:  # noqa: ARG001  the contract
    """Put the labels below the turn's answer; what was offered before in the turn is forgotten."""
    labels = [_cleaned(label) for label in asked["choices"]]
    if not 1 <= len(labels) <= _MOST or not all(
        _is_seen(label) and len(label) <= _LONGEST for label in labels
    ):
        raise ToolError(f"Offer 1 to {_MOST} choices of 1 to {_LONGEST} characters each.")
    if len(set(labels)) < len(labels):
        raise ToolError("Two choices are alike.")
    said = "They stand below your answer. Ask the question in it and end; what is picked comes as the next message."
    return ToolResult(said, choices=tuple(labels))


def _cleaned(label: str) -> str:
    """Without control characters, and without those that turn the direction of what follows."""
    kept = [" " if unicodedata.category(c) == "Cc" else c for c in label if _is_shown(c)]
    return " ".join("".join(kept).split())


def _is_shown(char: str) -> bool:
    return (
        unicodedata.category(char) not in ("Cf", "Cs") or char in _JOINERS or bool(_FLAG_LETTERS.match(char))
    )


def _is_seen(label: str) -> bool:
    return any(not char.isspace() and char not in _EMPTY + _JOINERS for char in label)


TOOLS = (
    Tool(
        name="offer_choices",
        description="Offer the people in this conversation a few answers to pick; ask the question in your answer.",
        parameters=arguments(
            {"choices": {"type": "array", "items": text("A few words."), "description": f"Up to {_MOST}."}},
            required=("choices",),
        ),
        handler=offer_choices,
        toolset="core",
        idempotent=True,
        emoji="🔘",
    ),
)
