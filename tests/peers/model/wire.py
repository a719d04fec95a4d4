"""Answers as bytes: one JSON object, or a stream of server-sent events.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from tests.peers.model.script import Answer, ToolCall

_numbers = itertools.count(1)


def pieces(text: str, count: int) -> list[str]:
    """`text` in at most `count` parts of about the same length, none empty."""
    if not text:
        return []
    size = max(1, -(-len(text) // max(1, count)))
    return [text[i : i + size] for i in range(0, len(text), size)]


def usage_of(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """Counts of about a quarter of the characters."""
    said = len(answer.text) + len(answer.reasoning) + sum(len(c.text()) for c in answer.tool_calls)
    asked = sum(len(str(m.get("content") or "")) for m in body.get("messages", ()))
    prompt, completion = max(1, asked // 4), max(1, said // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def with_ids(answer: Answer) -> list[tuple[ToolCall, str | None]]:
    """The calls with the ids that go over the wire."""
    return [(c, f"call_{next(_numbers):08d}" if c.id == "auto" else c.id) for c in answer.tool_calls]


def whole(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The answer to a request without `stream`."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = [_whole_call(call, call_id) for call, call_id in with_ids(answer)]
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "finish_reason": answer.finish_reason,
        "logprobs": None,
    }
    usage: Any = usage_of(body, answer)
    if answer.usage == "choice":
        choice["usage"] = usage
    completion = {**_head(body, "chat.completion"), "choices": [choice]}
    if answer.usage == "null":
        completion["usage"] = None
    elif answer.usage == "nulls":
        completion["usage"] = dict.fromkeys(usage)
    elif answer.usage not in ("none", "choice"):
        completion["usage"] = usage
    return completion


def _whole_call(call: ToolCall, call_id: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "function", "function": {"name": call.name, "arguments": call.text()}}
    return made if call_id is None else {"id": call_id, **made}


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    number = next(_numbers)
    return {
        "id": f"chatcmpl-{number:08d}",
        "object": kind,
        "created": int(time.time()),
        "model": body.get("model"),
    }


def deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    """What the stream adds to the message, in order."""
    yield {"role": "assistant", "content": "" if answer.text or not answer.tool_calls else None}
    for part in pieces(answer.reasoning, 2):
        yield {"reasoning_content": part}
    for part in pieces(answer.text, answer.chunks):
        yield {"content": part}
    yield from _call_deltas(answer)


def _call_deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    """Heads of all calls, then their arguments: in turn when interleaved, else call by call."""
    streams = [list(_one_call(i, call, call_id)) for i, (call, call_id) in enumerate(with_ids(answer))]
    rows = itertools.zip_longest(*streams) if answer.interleave else [itertools.chain(*streams)]
    for piece in itertools.chain.from_iterable(rows):
        if piece is not None:
            yield {"tool_calls": [piece]}


def _one_call(index: int, call: ToolCall, call_id: str | None) -> Iterator[dict[str, Any]]:
    head: dict[str, Any] = {
        "index": index,
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    yield head if call_id is None else {**head, "id": call_id}
    for part in pieces(call.text(), call.pieces):
        yield {"index": index, "function": {"arguments": part}}


def events(body: dict[str, Any], answer: Answer) -> list[bytes]:
    """The server-sent events of an answer, each with its blank line."""
    if answer.raw is not None:
        return [answer.raw.encode("utf-8", "surrogatepass")]
    head = _head(body, "chat.completion.chunk")
    usage = usage_of(body, answer)
    asked = bool((body.get("stream_options") or {}).get("include_usage"))
    steps: list[tuple[dict[str, Any], str | None]] = [(delta, None) for delta in deltas(answer)]
    if answer.finish_reason is not None:
        steps.append(({}, answer.finish_reason))
    out = [
        _event(
            {
                **head,
                "choices": [_choice(delta, finish, answer, usage)],
                **_chunk_usage(answer, usage, asked, n),
            }
        )
        for n, (delta, finish) in enumerate(steps, 1)
    ]
    if answer.malformed:
        out.insert(1, b'data: {"id": "chatcmpl-broken", "choices": [{"ind\n\n')
    if answer.usage == "always" or (answer.usage == "auto" and asked):
        out.append(_event({**head, "choices": [], "usage": usage}))
    if answer.usage == "nulls":
        out.append(_event({**head, "choices": [], "usage": dict.fromkeys(usage)}))
    return [*out, b"data: [DONE]\n\n"] if answer.done else out


def _choice(
    delta: dict[str, Any], finish: str | None, answer: Answer, usage: dict[str, Any]
) -> dict[str, Any]:
    inside = {"usage": usage} if answer.usage == "choice" and finish is not None else {}
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **inside}


def _chunk_usage(answer: Answer, usage: dict[str, Any], asked: bool, number: int) -> dict[str, Any]:
    if answer.usage == "each":
        grown = {**usage, "completion_tokens": number, "total_tokens": usage["prompt_tokens"] + number}
        return {"usage": grown}
    return {"usage": None} if answer.usage == "null" or (answer.usage == "auto" and asked) else {}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"
