"""What a thread began with, where that was a message of ours that answered nothing: who writes below it answers it.

https://docs.slack.dev/reference/methods/conversations.replies . Best effort: Slack waits for its acknowledgement meanwhile.
"""

from __future__ import annotations

import asyncio

from adapters.fields import objects, text
from adapters.slack.client import WebApi
from adapters.slack.markup import beginning, read_text
from hermes.errors import AdapterError

__all__ = ["first_message"]

_PATIENCE = 1.0  # seconds


async def first_message(api: WebApi, chat: str, thread: str) -> str | None:
    """The words of a thread's first message, cut where they are long; `None` where Slack does not tell them in time."""
    try:
        async with asyncio.timeout(_PATIENCE):
            found = await api.call("conversations.replies", {"channel": chat, "ts": thread, "limit": 1})
        said = next((text(m, "text") for m in objects(found, "messages") if m.get("ts") == thread), "")
    except (AdapterError, TimeoutError, ValueError):
        return None
    return beginning(read_text(said).text)
