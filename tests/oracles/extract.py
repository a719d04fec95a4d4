"""Cut an OpenAPI description down to the schemas that the model peer checks against.

Run as `python -m tests.oracles.extract openai-openapi.json tests/oracles/openai-chat.json`. Prose and
vendor extensions are dropped, the older `nullable: true` becomes a JSON Schema null, all else stays.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOTS = (
    "CreateChatCompletionRequest",
    "CreateChatCompletionResponse",
    "CreateChatCompletionStreamResponse",
    "ListModelsResponse",
    "ErrorResponse",
)
_PROSE = {"description", "example", "examples", "title", "externalDocs", "deprecated"}


def referred(node: Any) -> set[str]:
    """Names of the component schemas that a piece of schema points to."""
    if isinstance(node, list):
        return set().union(*map(referred, node)) if node else set()
    if not isinstance(node, dict):
        return set()
    found = set().union(*map(referred, node.values())) if node else set()
    target = node.get("$ref")
    if isinstance(target, str):
        found.add(target.rsplit("/", 1)[1])
    return found


def closure(schemas: dict[str, Any], roots: tuple[str, ...]) -> list[str]:
    """Every schema reachable from `roots`, sorted by name."""
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += referred(schemas[name])
    return sorted(seen)


def plain(node: Any, *, names: bool = False) -> Any:
    """The same schema as pure JSON Schema; `names` says that the keys are property names, not keywords."""
    if isinstance(node, list):
        return [plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {key: plain(value) for key, value in node.items()}
    kept = {
        key: plain(value, names=key in ("properties", "$defs"))
        for key, value in node.items()
        if key not in _PROSE and not key.startswith("x-") and key != "nullable"
    }
    return {"anyOf": [kept, {"type": "null"}]} if node.get("nullable") is True else kept


def extract(description: dict[str, Any]) -> dict[str, Any]:
    """`{"source", "components": {"schemas"}}` with the schemas of `ROOTS` and all that they need."""
    schemas = description["components"]["schemas"]
    return {
        "source": f"openai/openai-openapi {description['info']['version']}",
        "components": {"schemas": {name: plain(schemas[name]) for name in closure(schemas, ROOTS)}},
    }


if __name__ == "__main__":
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(
        json.dumps(extract(whole), indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
