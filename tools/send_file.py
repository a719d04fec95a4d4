"""`send_file`: a file of the workspace goes out with the answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from hermes.errors import ToolError
from hermes.messages import JSONObject
from hermes.tools import Tool, ToolContext, ToolResult
from tools.paths import Place, locate, open_regular
from tools.schema import arguments, text

__all__ = ["TOOLS"]

_BLOCK = 256 * 1024


async def send_file(asked: JSONObject, context: ToolContext) -> ToolResult:
    """Copy the file into the home; the turn's end sends the copy, whatever becomes of the file meanwhile."""
    keeper, most = context.services.files, context.largest_file
    place = await asyncio.to_thread(locate, context.workspace, asked["path"], context.services)
    descriptor = await asyncio.to_thread(_opened, place)
    try:
        if keeper is None or most is None:
            raise ToolError(
                f"No file can be sent in this conversation. {place.shown} lies in the workspace {place.root}; say so, or "
                "tell what is in it."
            )
        file = await keeper.keep(_content(descriptor), place.parts[-1], limit=most)
    finally:
        os.close(descriptor)
    said = f"{place.shown} ({file.size:,} bytes) goes out with your answer."
    return ToolResult(said, files=((file, asked.get("caption", "")),))


def _opened(place: Place) -> int:
    with open_regular(place) as descriptor:
        return os.dup(descriptor)


async def _content(descriptor: int) -> AsyncIterator[bytes]:
    while block := await asyncio.to_thread(os.read, descriptor, _BLOCK):
        yield block


TOOLS = (
    Tool(
        name="send_file",
        description="Send a file of the workspace to the people in this conversation, with your answer.",
        parameters=arguments(
            {
                "path": text("Path relative to the workspace."),
                "caption": text("A few words that stand beside the file; none by default."),
            },
            required=("path",),
        ),
        handler=send_file,
        toolset="files",
        idempotent=True,
        emoji="📎",
        trusted_only=True,
    ),
)
