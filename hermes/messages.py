"""The conversation, provider-neutral: what is stored, and what model clients translate to their wire form.

`Message` and `ToolCall` are kept as JSON in the store (`to_json`/`from_json`); unknown keys in stored JSON
are ignored, so that an
older program can read what a newer one wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes.files import StoredFile

__all__ = ["JSON", "JSONObject", "Message", "Role", "ToolCall", "Usage", "scrub_surrogates"]

JSON = str | int | float | bool | None | list[Any] | dict[str, Any]
JSONObject = dict[str, Any]
Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model asked for.

    id: unique within its message (made unique by the client where a provider repeats one).
    arguments: the parsed object; `None` when `raw` is no JSON object, and then the call must not run.
    raw: the argument text as it came.
    """

    id: str
    name: str
    arguments: JSONObject | None
    raw: str = ""

    def to_json(self) -> JSONObject:
        """A JSON object with all fields."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments, "raw": self.raw}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ToolCall:
        """The inverse of `to_json`. Raises `KeyError` without id or name."""
        return cls(raw["id"], raw["name"], raw.get("arguments"), raw.get("raw", ""))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call. `estimated`: the provider did not say, the figures are ours."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    text: what it says; "" for an assistant message that only calls tools.
    tool_calls: only on assistant messages. tool_call_id, name: only on tool messages (the result of that
    call).
    extra: provider fields that must be sent back as they came (reasoning details); never shown.
    at: seconds since the epoch; 0 where nobody knows.
    aside: the system said it in the assistant's place (why there is no answer). It is kept for people; a model
    must never read it as its own words.
    files: what came with it. What they say stands in the text; pictures are looked at when a model is asked.
    """

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    extra: JSONObject = field(default_factory=dict)
    at: float = 0.0
    aside: bool = False
    files: tuple[StoredFile, ...] = ()

    def to_json(self) -> JSONObject:
        """A JSON object; fields that are empty are left out."""
        out: JSONObject = {"role": self.role, "text": self.text}
        if self.tool_calls:
            out["tool_calls"] = [c.to_json() for c in self.tool_calls]
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            out["name"] = self.name
        if self.extra:
            out["extra"] = self.extra
        if self.at:
            out["at"] = self.at
        if self.aside:
            out["aside"] = True
        if self.files:
            out["files"] = [f.to_json() for f in self.files]
        return out

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Message:
        """The inverse of `to_json`. Raises `KeyError` without a role."""
        return cls(
            role=raw["role"],
            text=raw.get("text", ""),
            tool_calls=tuple(ToolCall.from_json(c) for c in raw.get("tool_calls", ())),
            tool_call_id=raw.get("tool_call_id"),
            name=raw.get("name"),
            extra=dict(raw.get("extra", {})),
            at=raw.get("at", 0.0),
            aside=bool(raw.get("aside", False)),
            files=tuple(StoredFile.from_json(f) for f in raw.get("files", ())),
        )


def scrub_surrogates(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, so that it can be encoded as UTF-8 anywhere."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
