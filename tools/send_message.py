"""`send_message`: a message goes to another chat, at once, while the turn goes on."""

from __future__ import annotations

from hermes.errors import HermesError, ToolError
from hermes.messages import JSONObject
from hermes.services import Delivered, Errand
from hermes.tools import Tool, ToolContext, ToolResult
from tools.schema import arguments, text

__all__ = ["TOOLS"]

_LONGEST = 20_000
"""Characters: some messages on every platform. More is a file's work."""


async def send_message(asked: JSONObject, context: ToolContext) -> ToolResult:
    """Put it into the outbox under this call's own key, so that the same call sends once, however often it is run."""
    deliveries, words = context.services.deliveries, str(asked["text"]).strip()
    if deliveries is None:
        raise ToolError("Nothing can be sent elsewhere in this installation.")
    if not words or len(words) > _LONGEST:
        raise ToolError(f"A message has 1 to {_LONGEST} characters.")
    errand = Errand(
        str(asked["target"]).strip(),
        words,
        context.turn_id,
        context.call_id,
        context.origin,
        context.session_key,
    )
    try:
        done = await deliveries.deliver(errand)
    except HermesError as error:
        return ToolResult(str(error), ok=False, untrusted=True)  # it lists what people call their chats
    return _told(done)


def _told(done: Delivered) -> ToolResult:
    match done.state:
        case "sent":
            return ToolResult(f"It was sent to {done.target}.")
        case "queued":
            said = f"It goes to {done.target} as soon as the platform takes it; do not send it again."
            return ToolResult(said)
        case "dropped":
            return ToolResult(f"Nobody knows whether it arrived at {done.target}.", ok=False)
        case _:
            said = f"The platform refused it for {done.target}: {done.error or 'it did not say why'}"
            return ToolResult(said, ok=False, untrusted=True)


TOOLS = (
    Tool(
        name="send_message",
        description="Send a message to another chat now. Your answer goes to this chat by itself: do not send it here too.",
        parameters=arguments(
            {
                "target": text(
                    "`home`, a platform (its home), `platform:chat`, `platform:#name`, `platform:@name`, or "
                    "`origin` (this chat)."
                ),
                "text": text("The message, in Markdown."),
            },
            required=("target", "text"),
        ),
        handler=send_message,
        toolset="messages",
        idempotent=True,
        emoji="✉️",
        trusted_only=True,
    ),
)
