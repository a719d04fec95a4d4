"""The usage figures of chat answers, in the shapes that providers give them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes.messages import Usage

__all__ = ["find_usage", "parse_usage"]


def find_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """The usage that stands in a chunk or answer.

    At the top, in its first choice (Moonshot), or under `x_groq`.
    """
    usage = parse_usage(chunk["usage"]) if "usage" in chunk else None
    if usage is not None:
        return usage
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict) and "usage" in first:
        return parse_usage(first["usage"])
    groq = chunk.get("x_groq")
    return parse_usage(groq.get("usage")) if isinstance(groq, dict) else None


def parse_usage(raw: object) -> Usage | None:
    """A usage object; `None` where it names no tokens of the prompt."""
    if not isinstance(raw, dict):
        return None
    prompt = _first(raw, "prompt_tokens", "input_tokens")
    if not prompt:
        return None
    cached = _first(_details(raw, "prompt_tokens_details", "input_tokens_details"), "cached_tokens")
    reasoning = _details(raw, "completion_tokens_details", "output_tokens_details")
    return Usage(
        prompt=prompt,
        completion=_first(raw, "completion_tokens", "output_tokens") or 0,
        cached=cached or _first(raw, "prompt_cache_hit_tokens", "cached_tokens") or 0,
        reasoning=_first(reasoning, "reasoning_tokens") or 0,
    )


def _details(raw: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((raw[n] for n in names if isinstance(raw.get(n), dict)), {})


def _first(raw: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12:
            return int(value)
    return None
