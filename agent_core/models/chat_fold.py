"""One answer put together from the events of a chat stream, or from one whole body.

Pure: no socket, no clock.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Mapping
from typing import Any

from agent_core.models.chat_calls import CallFolder
from agent_core.models.chat_usage import find_usage
from agent_core.models.thinking import ThinkFilter
from hermes.errors import ModelError
from hermes.messages import JSONObject, Message, Usage, scrub_surrogates
from hermes.model import Completion, FinishReason

__all__ = ["Folder", "RefusedInStream"]

_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
}
_LONGEST = 32 * 1024 * 1024  # bytes of events in one answer
_BROKEN = frozenset({"error", "insufficient_system_resource"})


class RefusedInStream(Exception):
    """The provider reported an error inside an answer that had begun with status 200."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__("refused in the stream")
        self.body = body


def _new_id() -> str:
    return f"call_{secrets.token_hex(12)}"


class Folder:
    """Feed events' data; `completion` is the answer once `done`, or once the stream has ended.

    `on_text` gets each visible piece.
    `origin` is kept beside reasoning. `taken`: call ids that are in use.
    Raises `ModelError` (kind `malformed`) and `RefusedInStream`.
    """

    def __init__(
        self,
        on_text: Callable[[str], None],
        new_id: Callable[[], str] = _new_id,
        *,
        origin: str = "",
        taken: Collection[str] = (),
    ) -> None:
        self._on_text = on_text
        self._origin = origin
        self._thinking = ThinkFilter()
        self._calls = CallFolder(new_id, taken)
        self._extra: dict[str, list[str]] = {}
        self._details: list[JSONObject] = []
        self._finish: str | None = None
        self._size = 0
        self.events = 0
        self.usage: Usage | None = None
        self.done = False

    @property
    def finished(self) -> bool:
        """Whether the answer is whole; usage and [DONE] may still follow."""
        return self.done or self._finish is not None

    def feed(self, data: bytes) -> None:
        """Take the data of one event."""
        text = data.strip()
        if not text:
            return
        self._size += len(text)
        if self._size > _LONGEST:
            raise ModelError("The provider's answer has no end.", kind="malformed")
        self.events += 1
        if text == b"[DONE]":
            self.done = True
            return
        try:
            chunk = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            if b"\n" not in text:
                raise ModelError("The provider's answer is no JSON.", kind="malformed") from error
            for line in text.split(b"\n"):  # servers that leave out the empty line between events
                self.feed(line)
            return
        self.chunk(chunk)

    def chunk(self, chunk: object) -> None:
        """Take one decoded event, or a whole answer."""
        if not isinstance(chunk, dict):
            raise ModelError("The provider's answer is no JSON object.", kind="malformed")
        if chunk.get("error"):
            raise RefusedInStream(chunk)
        usage = find_usage(chunk)
        if usage is not None:
            self.usage = usage
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._choice(choices[0])

    def completion(self) -> Completion:
        """The answer.

        Raises `ModelError`: `network` where the stream was cut, `malformed` where it held nothing.
        """
        if not self.finished:
            if not self.events:
                raise ModelError("The provider's answer is empty.", kind="malformed")
            raise ModelError("The provider's answer was cut before its end.", kind="network")
        if self._finish is None and not (self._thinking.shown or self._calls or self._extra):
            raise ModelError("The provider's answer is empty.", kind="malformed")
        rest = self._thinking.finish()
        if rest:
            self._on_text(rest)
        cut = self._finish is not None and _FINISH.get(self._finish.lower()) == "length"
        calls = self._calls.calls(cut=cut)
        message = Message(
            "assistant",
            scrub_surrogates(self._thinking.text.rstrip()),
            calls,
            extra=self._extras(),
        )
        return Completion(message, self.usage or Usage(estimated=True), self._reason(has_calls=bool(calls)))

    def _choice(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta")
        message = choice.get("message")
        if isinstance(delta, dict) and delta:
            self._message(delta, self._calls.delta)
        elif isinstance(message, dict):
            self._message(message, self._calls.whole)
        elif isinstance(choice.get("text"), str):
            self._text(choice["text"])
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
            if finish in _BROKEN:
                raise RefusedInStream({"error": {"message": "server_error", "code": 502}})

    def _message(self, part: Mapping[str, Any], take_call: Callable[[Mapping[str, Any]], None]) -> None:
        content = part.get("content")
        if isinstance(content, str):
            self._text(content)
            if len(part) == 1:  # nearly every piece of a stream
                return
        elif isinstance(content, list):
            for piece in content:
                self._content_part(piece)
        if isinstance(part.get("refusal"), str):
            self._text(part["refusal"])
        self._reasoning(part)
        if isinstance(calls := part.get("tool_calls"), list):
            for call in calls:
                if isinstance(call, dict):
                    take_call(call)
        elif isinstance(call := part.get("function_call"), dict):
            self._calls.delta({"index": 0, "function": call})

    def _reasoning(self, part: Mapping[str, Any]) -> None:
        for name in ("reasoning", "reasoning_content"):
            if isinstance(value := part.get(name), str) and value:
                self._extra.setdefault(name, []).append(value)
        if isinstance(details := part.get("reasoning_details"), list):
            for detail in details:
                self._detail(detail)

    def _content_part(self, piece: object) -> None:
        """Mistral sends text as parts; its thinking is a part of its own."""
        if isinstance(piece, str):
            self._text(piece)
        elif isinstance(piece, dict) and isinstance(piece.get("text"), str):
            self._text(piece["text"])

    def _text(self, text: str) -> None:
        if text and (visible := self._thinking.feed(text)):
            self._on_text(visible)

    def _detail(self, detail: object) -> None:
        """Pieces of one detail share index and type: their texts join, the other fields are replaced."""
        if not isinstance(detail, dict):
            return
        last = self._details[-1] if self._details else {}
        index = detail.get("index")
        same = index is not None and (index, detail.get("type")) == (last.get("index"), last.get("type"))
        if not same or "data" in detail:
            self._details.append(dict(detail))
            return
        for name, value in detail.items():
            if name in ("text", "summary") and isinstance(value, str):
                last[name] = (last.get(name) or "") + value
            elif value is not None:
                last[name] = value

    def _extras(self) -> JSONObject:
        out: JSONObject = {name: scrub_surrogates("".join(parts)) for name, parts in self._extra.items()}
        if self._details:
            out["reasoning_details"] = self._details
        if out and self._origin:
            out["origin"] = self._origin
        return out

    def _reason(self, *, has_calls: bool) -> FinishReason:
        if self._finish is None:
            return "tool_calls" if has_calls else "stop"
        reason = _FINISH.get(self._finish.lower(), "other")
        if has_calls and reason in ("stop", "other"):
            return "tool_calls"
        return "stop" if reason == "tool_calls" and not has_calls else reason
