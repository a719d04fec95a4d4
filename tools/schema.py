"""Small builders for parameter schemas, and a check of those that others wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hermes.messages import JSONObject

__all__ = ["arguments", "choice", "faults", "integer", "text"]


def arguments(properties: Mapping[str, JSONObject], required: Sequence[str] = ()) -> JSONObject:
    """An object schema that takes these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def text(description: str) -> JSONObject:
    """A string."""
    return {"type": "string", "description": description}


def integer(description: str, low: int, high: int) -> JSONObject:
    """A whole number between the bounds."""
    return {"type": "integer", "description": description, "minimum": low, "maximum": high}


def choice(description: str, words: Sequence[str]) -> JSONObject:
    """One of the words."""
    return {"type": "string", "enum": list(words), "description": description}


def faults(schema: Any) -> str:  # noqa: ANN401  whatever a user wrote
    """What keeps `schema` from being a tool's parameters, in words; "" when nothing does."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return 'parameters must be a JSON Schema with "type": "object"'
    if not isinstance(schema.get("properties", {}), Mapping):
        return "properties must be an object"
    try:
        json.dumps(schema)
    except (TypeError, ValueError) as error:
        return f"parameters are no JSON: {error}"
    return ""
