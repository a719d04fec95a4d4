"""`todo`: the list of what is to be done in this conversation."""

from __future__ import annotations

from typing import Any

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult
from tools.schema import arguments, choice

__all__ = ["TOOLS"]

_STATES = ("pending", "doing", "done", "dropped")
_MARKS = {"pending": "[ ]", "doing": "[>]", "done": "[x]", "dropped": "[-]"}
_MOST = 100
_LONGEST = 500


async def todo(asked: JSONObject, context: ToolContext) -> ToolResult:
    """The list after the change; without `items` the list as it is."""
    items = asked.get("items")
    if items is not None:
        context.state["todo"] = _merged(context.state.get("todo", []), items, replace=not asked.get("merge"))
    return ToolResult(_shown(context.state.get("todo", [])))


def _merged(old: list[JSONObject], new: list[JSONObject], *, replace: bool) -> list[JSONObject]:
    """The items of `new`; or `old`, with items of the same text updated and the others appended."""
    out: dict[str, JSONObject] = {} if replace else {item["text"]: item for item in old}
    for item in new:
        words = " ".join(str(item["text"]).split())
        if not words or len(words) > _LONGEST:
            raise ToolError(f"An item needs 1 to {_LONGEST} characters of text.")
        out[words] = {"text": words, "state": item.get("state", "pending")}
    if len(out) > _MOST:
        raise ToolError(f"The list holds at most {_MOST} items; drop or join some.")
    return list(out.values())


def _shown(items: list[Any]) -> str:
    if not items:
        return "The list is empty."
    done = sum(item["state"] in ("done", "dropped") for item in items)
    lines = [f"{_MARKS[item['state']]} {item['text']}" for item in items]
    return "\n".join([f"{done} of {len(items)} done", *lines])


_ITEM = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "state": choice("Default: pending.", _STATES),
    },
    "required": ["text"],
    "additionalProperties": False,
}

TOOLS = (
    Tool(
        name="todo",
        description=(
            "Keep the list of steps of a longer task. Without items: show it. With items: replace it, or "
            "with merge=true update items of the same text and append new ones."
        ),
        parameters=arguments(
            {
                "items": {"type": "array", "items": _ITEM},
                "merge": {"type": "boolean"},
            }
        ),
        handler=todo,
        idempotent=True,
        emoji="📋",
        timeout=10.0,
    ),
)
