"""`offer_choices`: answers that people may pick below the agent's own."""

from __future__ import annotations

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult
from tools.schema import arguments, text

__all__ = ["TOOLS"]

_MOST = 8
_LONGEST = 60
"""Characters of a label that every platform's buttons show (Slack's have 75, Discord's 80)."""


async def offer_choices(asked: JSONObject, context: ToolContext) -> ToolResult:  # noqa: ARG001  the contract
    """Put the labels below the turn's answer; what was offered before in the turn is forgotten."""
    labels = [" ".join(label.split()) for label in asked["choices"]]
    if not 1 <= len(labels) <= _MOST or not all(0 < len(label) <= _LONGEST for label in labels):
        raise ToolError(f"Offer 1 to {_MOST} choices of 1 to {_LONGEST} characters each.")
    if len(set(labels)) < len(labels):
        raise ToolError("Two choices are alike.")
    said = "They stand below your answer. Ask the question in it and end; what is picked comes as the next message."
    return ToolResult(said, choices=tuple(labels))


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
