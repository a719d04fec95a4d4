"""Tokens estimated from text, and the correction that a provider's own figures teach.

A tokenizer per model would be exact and slow, and most providers publish none. Here ASCII counts a quarter
token a character and other script 0.3 a UTF-8 byte (a Han character about 0.9, a Cyrillic letter 0.6); one
factor, learned from real usage, corrects for the model at hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hermes.messages import Message
from hermes.model import ModelRequest, ToolSpec

__all__ = ["TokenEstimate", "raw_tokens"]

_PER_ASCII = 0.25
_PER_BYTE = 0.3
_PER_MESSAGE = 4  # role and separators
_PER_PICTURE = 1000  # 85 to 1,600 at the big providers, by its size
_LEAST = 200  # below this the fixed parts of a prompt say more than its text
_BOUNDS = (0.5, 2.5)
_WEIGHT = 0.3
_MOST_SCHEMAS = 512
_schemas: dict[int, tuple[Mapping[str, Any], float]] = {}
"""What a tool's schema costs, by its identity: it is the same object in every request, and to write it out for
each estimate was a tenth of a turn. The schema is held, so that its identity stays its own."""


def raw_tokens(text: str) -> float:
    """Tokens of `text` for an average model, uncorrected."""
    if text.isascii():
        return len(text) * _PER_ASCII
    ascii_chars = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_chars
    return ascii_chars * _PER_ASCII + other_bytes * _PER_BYTE


def _raw_message(message: Message) -> float:
    total = _PER_MESSAGE + raw_tokens(message.text)
    for call in message.tool_calls:
        total += _PER_MESSAGE + raw_tokens(call.name) + raw_tokens(call.raw or json.dumps(call.arguments))
    if message.files:
        total += _PER_PICTURE * len(message.files)
    if message.extra:
        total += raw_tokens(json.dumps(message.extra, ensure_ascii=False))
    return total


def _raw_tools(tools: Iterable[ToolSpec]) -> float:
    return sum(
        2 * _PER_MESSAGE + raw_tokens(t.name + t.description) + _raw_schema(t.parameters) for t in tools
    )


def _raw_schema(schema: Mapping[str, Any]) -> float:
    known = _schemas.get(id(schema))
    if known is None:
        if len(_schemas) >= _MOST_SCHEMAS:
            _schemas.clear()
        known = _schemas[id(schema)] = (schema, raw_tokens(json.dumps(schema)))
    return known[1]


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """What a text costs in tokens. Immutable; `learned` gives the next one.

    factor: real tokens for each raw one, kept between 0.5 and 2.5 so that one odd answer cannot spoil it.
    """

    factor: float = 1.0
    samples: int = 0

    def text(self, text: str) -> int:
        """Tokens of one text, rounded up."""
        return -int(-raw_tokens(text) * self.factor // 1)

    def messages(self, messages: Sequence[Message]) -> int:
        """Tokens of messages with their calls and separators."""
        return -int(-sum(map(_raw_message, messages)) * self.factor // 1)

    def request(self, request: ModelRequest) -> int:
        """Tokens of a whole prompt: system text, tools, messages."""
        return -int(-_raw_request(request) * self.factor // 1)

    def learned(self, request: ModelRequest, prompt_tokens: int) -> TokenEstimate:
        """The estimate after the provider said that `request` took `prompt_tokens`.

        Small prompts and figures of zero teach nothing. The first lesson counts whole, later ones 0.3.
        """
        raw = _raw_request(request)
        if prompt_tokens <= 0 or raw < _LEAST:
            return self
        seen = min(max(prompt_tokens / raw, _BOUNDS[0]), _BOUNDS[1])
        factor = seen if not self.samples else self.factor + (seen - self.factor) * _WEIGHT
        return replace(self, factor=factor, samples=self.samples + 1)


def _raw_request(request: ModelRequest) -> float:
    system = raw_tokens(request.system) + _PER_MESSAGE if request.system else 0.0
    return system + _raw_tools(request.tools) + sum(map(_raw_message, request.messages))
