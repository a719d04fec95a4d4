"""Checks calls against the description of the Web API, and against the pages of what is newer than it."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.peers.slack.blocks import block_faults, given

ORACLE = Path(__file__).resolve().parents[2] / "oracles" / "slack-web-api.json"
_PAGE = "https://docs.slack.dev/reference/methods/"
_TEXT, _NEEDED = {"type": "string", "required": False}, {"type": "string", "required": True}
_FLAG = {"type": "boolean", "required": False}
# What the description of 2021 does not have yet, from the methods' pages under `_PAGE`.
_NEWER: Mapping[str, Mapping[str, Any]] = {
    "apps.connections.open": {"verb": "post", "parameters": {}},
    "assistant.threads.setStatus": {
        "verb": "post",
        "parameters": {"channel_id": _NEEDED, "thread_ts": _NEEDED, "status": _NEEDED},
    },
    "assistant.threads.setSuggestedPrompts": {
        "verb": "post",
        "parameters": {
            "channel_id": _NEEDED,
            "thread_ts": _TEXT,
            "title": _TEXT,
            "prompts": {"type": "array", "required": True},
        },
    },
    "files.completeUploadExternal": {
        "verb": "post",
        "parameters": {
            "files": {"type": "array", "required": True},
            "channel_id": _TEXT,
            "channels": _TEXT,
            "blocks": _TEXT,
            "initial_comment": _TEXT,
            "thread_ts": _TEXT,
        },
    },
    "files.getUploadURLExternal": {
        "verb": "post",
        "parameters": {
            "filename": _NEEDED,
            "length": {"type": "integer", "required": True},
            "alt_txt": _TEXT,
            "snippet_type": _TEXT,
        },
    },
    "chat.postMessage": {"parameters": {"metadata": {"type": "object", "required": False}}},
    "chat.update": {"parameters": {"metadata": {"type": "object", "required": False}}},
    "conversations.history": {"parameters": {"include_all_metadata": _FLAG}},
    "conversations.replies": {"parameters": {"include_all_metadata": _FLAG}},
}
_FORMS_ALONE = frozenset({"files.getUploadURLExternal"})  # says its page of JSON what it says, it is refused
_JSON_READS = frozenset(
    {"auth.test"}
)  # reads that are offered as POST too, with a body that is not looked at
LONGEST_TEXT = {"chat.postMessage": 40_000, "chat.update": 4_000}


class WebApiSpec:
    """The description, ready for look-ups."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._methods: dict[str, dict[str, Any]] = {n: dict(m) for n, m in description["methods"].items()}
        for name, newer in _NEWER.items():
            known = self._methods.setdefault(name, {"parameters": {}})
            merged = {**known["parameters"], **newer["parameters"]}
            self._methods[name] = {**known, **newer, "parameters": merged}

    def knows(self, method: str) -> bool:
        """Whether there is such a method."""
        return method in self._methods

    def faults(self, method: str, verb: str, content_type: str, params: Mapping[str, Any]) -> list[str]:
        """What no correct client does."""
        described = self._methods[method]
        known = described["parameters"]
        faults = [f"{method}: unknown parameter {key!r}" for key in params if key not in known]
        faults += [
            f"{method}: {key} is {value!r:.60}, not {known[key]['type']}"
            for key, value in params.items()
            if key in known
            and not _fits(known[key]["type"], value, is_json=content_type == "application/json")
        ]
        faults += [
            f"{method}: {k!r} is required" for k, p in known.items() if p["required"] and not params.get(k)
        ]
        is_form = method in _FORMS_ALONE or (described["verb"] == "get" and method not in _JSON_READS)
        if is_form and content_type == "application/json":
            faults.append(f"{method} takes no JSON")
        if described["verb"] == "post" and verb != "POST":
            faults.append(f"{method} is a POST")
        return [*faults, *(f"{method}: invalid_blocks, {fault}" for fault in block_faults(given(params)))]


def _fits(kind: str, value: Any, *, is_json: bool) -> bool:
    match kind:
        case "boolean":
            return isinstance(value, bool) if is_json else value in ("true", "false", "0", "1")
        case "integer":
            return isinstance(value, int) if is_json else str(value).isdigit()
        case "object":
            return isinstance(value, dict) if is_json else isinstance(value, str)
        case "array":
            return _is_list(value)
        case "number":
            return isinstance(value, str)  # message numbers: as a float their last digits are lost
    return isinstance(value, str) or (is_json and isinstance(value, list))


def _is_list(value: Any) -> bool:
    try:
        return isinstance(json.loads(value) if isinstance(value, str) else value, list)
    except ValueError:
        return False


@cache
def web_api() -> WebApiSpec:
    """The description in `tests/oracles/`, read once (it blocks for some milliseconds)."""
    return WebApiSpec(json.loads(ORACLE.read_text(encoding="utf-8")))
