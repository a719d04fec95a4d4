"""Checks bodies against Discord's API description, and the rules that it does not state."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ORACLE = Path(__file__).resolve().parents[2] / "oracles" / "discord-api.json"
LIMIT = 2000
_PATHS = {
    "POST message": "POST /channels/{channel_id}/messages",
    "PATCH message": "PATCH /channels/{channel_id}/messages/{message_id}",
    "POST thread": "POST /channels/{channel_id}/messages/{message_id}/threads",
    "POST direct channel": "POST /users/@me/channels",
    "PUT commands": "PUT /applications/{application_id}/commands",
    "POST interaction": "POST /interactions/{interaction_id}/{interaction_token}/callback",
    "PATCH interaction": "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original",
}


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(ORACLE.read_text(encoding="utf-8"))
    return document


@cache
def _validator(call: str) -> Draft202012Validator:
    document = _document()
    return Draft202012Validator({**document["bodies"][_PATHS[call]], "components": document["components"]})


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def breaches(call: str, body: Any, parts: Sequence[str] = ()) -> list[str]:
    """What no correct client sends: every breach of the description. `parts`: names of the files that came along."""
    if call not in _PATHS:
        return [f"{call}: takes no file"] if parts else []
    found = [f"{call}: {e.json_path} {e.message:.200}" for e in _validator(call).iter_errors(body)]
    allowed = _document()["files"].get(_PATHS[call], ())
    found += [f"{call}: no part is called {part!r}" for part in parts if part not in allowed]
    if call in ("POST message", "PATCH message", "PATCH interaction") and isinstance(body, Mapping):
        found += _breaches_of_text(call, body, has_files=bool(parts))
        found += _breaches_of_buttons(call, body.get("components") or [])
    if call == "PUT commands" and isinstance(body, list) and len(body) > 100:
        found.append(f"{call}: more than 100 commands")
    return found


def _breaches_of_text(call: str, body: Mapping[str, Any], *, has_files: bool) -> list[str]:
    content = body.get("content")
    found = [f"{call}: unknown key {key!r}" for key in body if key not in _KEYS]
    if content is None and has_files:
        pass
    elif not isinstance(content, str) or not content.strip(" \n\t\u200b"):
        found.append(f"{call}: cannot send an empty message")
    elif units(content) > LIMIT:
        found.append(f"{call}: {units(content)} units are more than {LIMIT}")
    allowed = body.get("allowed_mentions")
    if not isinstance(allowed, Mapping) or {"everyone", "roles"} & set(allowed.get("parse", ["everyone"])):
        found.append(f"{call}: everyone may be pinged")
    return found


def _breaches_of_buttons(call: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """https://discord.com/developers/docs/components/reference#button ; how many a row takes the description says."""
    buttons = [button for row in rows for button in row.get("components", ())]
    ids = [button.get("custom_id") for button in buttons]
    labels = [str(button.get("label") or "") for button in buttons]
    found = [f"{call}: {len(rows)} rows of buttons are more than 5"] if len(rows) > 5 else []
    found += [f"{call}: a button shows nothing" for label in labels if not label.strip(" \n\t\u200b")]
    found += [f"{call}: the label {label!r} is too long" for label in labels if units(label) > 80]
    return [*found, f"{call}: two buttons have one id"] if len(set(ids)) < len(ids) else found


_KEYS = frozenset(
    {
        "content",
        "allowed_mentions",
        "attachments",
        "components",
        "nonce",
        "enforce_nonce",
        "message_reference",
        "flags",
    }
)
