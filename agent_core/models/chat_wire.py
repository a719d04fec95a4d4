"""What is sent to a chat-completions endpoint. Pure.

Source: OpenAI API reference, "Create chat completion"; OpenRouter's "Reasoning tokens" for the fields that
go back as they came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hermes.messages import JSONObject, Message, ToolCall, scrub_surrogates
from hermes.model import ModelRequest, ToolSpec

__all__ = ["REASONING_FIELDS", "WireSettings", "build_request", "encode_request", "output_limit"]

REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details")
_MARGIN = 64  # tokens that an estimate may be short by


@dataclass(frozen=True, slots=True)
class WireSettings:
    """What of a request does not change from call to call.

    origin: whose reasoning fields may go back; another provider's are left out, since it would refuse them.
    max_tokens_field: OpenAI's newer models know only `max_completion_tokens`.
    cache_key: the provider knows `prompt_cache_key`.
    stream_usage: ask for usage at the end of the stream; off for servers that refuse `stream_options`.
    sees: whether the model takes pictures; `None`: nobody has said.
    """

    model: str
    window: int
    max_tokens: int | None = None
    temperature: float | None = None
    origin: str = ""
    max_tokens_field: str = "max_tokens"
    cache_key: bool = False
    stream_usage: bool = True
    sees: bool | None = None


def build_request(
    request: ModelRequest,
    settings: WireSettings,
    prompt_tokens: int = 0,
    pictures: Mapping[str, str] = MappingProxyType({}),
) -> JSONObject:
    """The body. `prompt_tokens`: the estimate that a configured output limit is capped with.

    pictures: data URLs (RFC 2397) by digest; a file of a message that has none is left out.
    """
    body: JSONObject = {
        "model": settings.model,
        "messages": list(_messages(request, settings.origin, pictures)),
        "stream": True,
    }
    if settings.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(t) for t in request.tools]
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    limit = output_limit(request.max_tokens or settings.max_tokens, settings.window, prompt_tokens)
    if limit is not None:
        body[settings.max_tokens_field] = limit
    if settings.cache_key and request.session:
        body["prompt_cache_key"] = request.session
    return body


def output_limit(configured: int | None, window: int, prompt_tokens: int) -> int | None:
    """The output limit to send.

    What is configured, at most what the window leaves. `None`: leave the field out.

    Where nothing is left the provider decides, since the estimate may be wrong.
    """
    if configured is None:
        return None
    left = window - prompt_tokens - _MARGIN
    return min(configured, left) if left > 0 else None


def encode_request(body: JSONObject) -> bytes:
    """The body as UTF-8 JSON without lone surrogates, neither raw nor escaped."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return scrub_surrogates(text).encode()


def _messages(request: ModelRequest, origin: str, pictures: Mapping[str, str]) -> Iterator[JSONObject]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        if message.role == "assistant":
            # An empty one (it only thought) is refused as an empty block by some providers.
            if message.text or message.tool_calls:
                yield _assistant(message, origin)
        elif message.role == "tool":
            yield {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text}
        else:
            yield {"role": message.role, "content": _content(message, pictures)}


def _content(message: Message, pictures: Mapping[str, str]) -> str | list[JSONObject]:
    """The text; with pictures a list of parts (API reference, "Create chat completion", content parts)."""
    urls = [pictures[file.digest] for file in message.files if file.digest in pictures]
    if not urls:
        return message.text
    said: list[JSONObject] = [{"type": "text", "text": message.text}] if message.text else []
    return [*said, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


def _assistant(message: Message, origin: str) -> JSONObject:
    out: JSONObject = {"role": "assistant", "content": message.text or None}
    if message.tool_calls:
        out["tool_calls"] = [_call(c) for c in message.tool_calls]
    if message.extra and message.extra.get("origin", origin) == origin:
        out.update((name, message.extra[name]) for name in REASONING_FIELDS if name in message.extra)
    return out


def _call(call: ToolCall) -> JSONObject:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name or "unknown", "arguments": _arguments(call)},
    }


def _arguments(call: ToolCall) -> str:
    """A JSON object in any case: a broken one would be refused now and with every later request."""
    if call.arguments is None:
        return "{}"
    if call.raw.lstrip().startswith("{") and "\\u" not in call.raw:
        return call.raw  # byte for byte, for the provider's prefix cache
    return json.dumps(call.arguments, ensure_ascii=False)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
