"""`session_search`: full text over past conversations."""

from __future__ import annotations

import time

from hermes.errors import StoreError, ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult
from tools.schema import arguments, integer, text

__all__ = ["TOOLS"]


async def session_search(asked: JSONObject, context: ToolContext) -> ToolResult:
    """The best hits with their conversation, day and words around."""
    search = context.services.search
    if search is None:
        raise ToolError("There is no search over past conversations in this installation.")
    try:
        hits = await search.search(
            asked["query"], session_key=context.session_key, limit=asked.get("limit", 10)
        )
    except StoreError as error:
        raise ToolError(str(error)) from error
    if not hits:
        return ToolResult("Nothing found.")
    lines = [
        f"- {time.strftime('%Y-%m-%d', time.gmtime(hit.at))} {hit.role} in "
        f"{hit.title or 'untitled'} ({hit.session_id}): {' '.join(hit.snippet.split())}"
        for hit in hits
    ]
    return ToolResult("\n".join(lines), untrusted=True)


TOOLS = (
    Tool(
        name="session_search",
        description=(
            "Search past conversations for words, in any language. "
            "Use it before you say that you do not remember."
        ),
        parameters=arguments(
            {
                "query": text("Words to look for."),
                "limit": integer("At most so many hits (default 10).", 1, 50),
            },
            required=("query",),
        ),
        handler=session_search,
        toolset="memory",
        parallel="read",
        idempotent=True,
        emoji="🗂",
        timeout=30.0,
    ),
)
