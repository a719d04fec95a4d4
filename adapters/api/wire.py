"""OpenAI's JSON.

Source: platform.openai.com/docs/api-reference/chat/object, .../chat-streaming, .../models, errors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from aiohttp import web

from hermes.messages import JSONObject, Usage

__all__ = ["DONE", "Answer", "error", "error_event", "event", "models"]

DONE = b"data: [DONE]\n\n"
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """One completion: the fields that all its parts share."""

    id: str
    created: int
    model: str
    include_usage: bool = False

    def whole(self, text: str, usage: Usage) -> web.Response:
        """The answer in one piece."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
        return _json(200, self._object("chat.completion", [choice]) | {"usage": _usage(usage)})

    def chunk(self, delta: JSONObject, finish: str | None = None) -> bytes:
        """One event of a stream."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        extra: JSONObject = {"usage": None} if self.include_usage else {}
        return event(self._object("chat.completion.chunk", [choice]) | extra)

    def usage_chunk(self, usage: Usage) -> bytes:
        """The last event before the end, for those who asked for it."""
        return event(self._object("chat.completion.chunk", []) | {"usage": _usage(usage)})

    def _object(self, kind: str, choices: list[JSONObject]) -> JSONObject:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        }


def event(data: JSONObject) -> bytes:
    """A server-sent event; JSON has no raw line breaks.

    Source: html.spec.whatwg.org/multipage/server-sent-events.html.
    """
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def error(status: int, text: str, code: str, param: str | None = None, **headers: str) -> web.Response:
    """An error. Underscores in the names of headers stand for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return _json(status, _error(status, text, code, param), named)


def error_event(text: str, code: str) -> bytes:
    """An error in the middle of a stream; clients raise it."""
    return event(_error(500, text, code, None))


def models(created: int) -> web.Response:
    """The one model."""
    return _json(200, {"object": "list", "data": [model(created)]})


def model(created: int) -> JSONObject:
    """The agent, in the form of a model."""
    return {"id": "hermes", "object": "model", "created": created, "owned_by": "hermes"}


def _error(status: int, text: str, code: str, param: str | None) -> JSONObject:
    kind = (
        "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    )
    return {"error": {"message": text, "type": kind, "param": param, "code": code}}


def _usage(usage: Usage) -> JSONObject:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def _json(status: int, data: JSONObject, headers: dict[str, str] | None = None) -> web.Response:
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return web.Response(status=status, body=body, content_type=_JSON, headers=headers)
