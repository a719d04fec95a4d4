"""A tool of your own: copy this file to `tools/` in your home (`~/.hermes/tools/dice.py`) and restart Hermes."""

from __future__ import annotations

import random

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult

__all__ = ["TOOLS"]

_MOST = 100


async def roll(arguments: JSONObject, context: ToolContext) -> ToolResult:
    """Roll `count` dice of `sides` sides; the session's rolls are counted in `context.state`."""
    count, sides = arguments.get("count", 1), arguments.get("sides", 6)
    if count > _MOST:
        raise ToolError(f"At most {_MOST} dice at once.")
    rolled = [random.randint(1, sides) for _ in range(count)]
    context.state["rolls"] = context.state.get("rolls", 0) + 1
    shown = " + ".join(map(str, rolled))
    return ToolResult(f"{shown} = {sum(rolled)} (roll {context.state['rolls']} of this conversation)")


TOOLS = (
    Tool(
        name="roll",
        description="Roll dice and say what they show. Use it whenever chance has to decide.",
        parameters={
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1, "description": "How many dice; default 1."},
                "sides": {"type": "integer", "minimum": 2, "description": "Sides of each; default 6."},
            },
            "additionalProperties": False,
        },
        handler=roll,
        toolset="games",
        emoji="🎲",
        timeout=5.0,
    ),
)
