"""Messages as rows and back; nothing is kept twice.

`body` is the text, `content` the rest of the message's JSON, `search_text` what is indexed where it differs.
"""

from __future__ import annotations

import json
import sqlite3
from typing import get_args

from agent_core.store.fold import fold
from hermes.errors import StoreCorrupt
from hermes.events import Role
from hermes.messages import JSONObject, Message, scrub_surrogates

__all__ = ["dump", "load", "message_of", "role_of", "values_of"]


def dump(value: JSONObject) -> str:
    """Compact JSON that is valid UTF-8 whatever a platform or a model sent."""
    return scrub_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def role_of(value: object) -> Role | None:
    """The role that was stored; `None`: none that is known."""
    return next((known for known in get_args(Role) if known == value), None)


def load(text: str, what: str) -> JSONObject:
    """The object in a stored JSON text. Raises `StoreCorrupt` naming `what`."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise StoreCorrupt(f"{what} cannot be read ({error}); run `hermes doctor`.") from error
    if not isinstance(value, dict):
        raise StoreCorrupt(f"{what} is no JSON object; run `hermes doctor`.")
    return value


def values_of(message: Message, now: float) -> tuple[str, str, str | None, str | None, float]:
    """role, body, search_text, content, at. `now` stands in where the message has no time."""
    body = scrub_surrogates(message.text)
    rest = message.to_json()
    for said in ("role", "text", "at"):
        rest.pop(said, None)
    return message.role, body, fold(body), dump(rest) if rest else None, message.at or now


def message_of(row: sqlite3.Row) -> Message:
    """The message of a row with id, role, body, content, at. Raises `StoreCorrupt` when it cannot be read."""
    what = f"Stored message {row['id']}"
    rest = load(row["content"], what) if row["content"] is not None else {}
    try:
        return Message.from_json({**rest, "role": row["role"], "text": row["body"], "at": row["at"]})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreCorrupt(f"{what} cannot be read ({error!r}); run `hermes doctor`.") from error
