"""A chat completion request, read. Pure. Source: platform.openai.com/docs/api-reference/chat/create.

Fields that we do not know are left alone: the sampling of the model is the owner's business here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from adapters.api.parts import BadRequest, Content, Upload, read_content
from hermes.messages import JSONObject, Message, Role, scrub_surrogates

__all__ = ["BadRequest", "Chat", "parse_chat"]

_SESSION = re.compile(r"[A-Za-z0-9._-]{1,128}")
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_INSTRUCTIONS = "[Instructions of the program that asks]\n{}\n[End of the instructions]\n\n{}"
_SYSTEM = ("system", "developer")
_MOST_FILES = 20
_Said = tuple[str, Content]
"""The role, and what it said."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What is asked for.

    text, uploads: the new message. history: what was said before, only without a session; earlier: what came with each
    of it. idempotency: SHA-256 of the header, if there was one.
    fingerprint: SHA-256 over what is asked and the session; how the answer is sent (`stream`) does not count, so
        that a repeat may ask for the other way.
    """

    text: str
    history: tuple[Message, ...]
    model: str
    stream: bool
    include_usage: bool
    session: str | None
    idempotency: str | None
    fingerprint: str
    uploads: tuple[Upload, ...] = ()
    earlier: tuple[tuple[Upload, ...], ...] = ()


def parse_chat(headers: Mapping[str, str], body: bytes) -> Chat:
    """Read a request. Raises `BadRequest` with a sentence."""
    session = _header(headers, "X-Hermes-Session", _SESSION, "1 to 128 letters, digits, dots, - and _")
    key = _header(headers, "Idempotency-Key", _KEY, "1 to 255 printable ASCII characters")
    raw = _object(body)
    _refuse_unsupported(raw)
    messages = _messages(raw)
    said, before = _session_turn(messages) if session else _single_turn(messages)
    if len(said.uploads) + sum(len(c.uploads) for _, c in before) > _MOST_FILES:
        raise BadRequest(f"messages may have {_MOST_FILES} files at most.", "messages")
    options = raw.get("stream_options")
    return Chat(
        text=said.text,
        history=tuple(Message(_role(role), content.text) for role, content in before),
        model=_model(raw),
        stream=raw.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        session=session,
        idempotency=None if key is None else hashlib.sha256(key.encode()).hexdigest(),
        fingerprint=_fingerprint(session, raw),
        uploads=said.uploads,
        earlier=tuple(content.uploads for _, content in before),
    )


def _fingerprint(session: str | None, raw: JSONObject) -> str:
    asked = {name: value for name, value in raw.items() if name not in ("stream", "stream_options")}
    return hashlib.sha256(f"{session or ''}\n{json.dumps(asked, sort_keys=True)}".encode()).hexdigest()


def _header(headers: Mapping[str, str], name: str, pattern: re.Pattern[str], rule: str) -> str | None:
    value = headers.get(name)
    if value is not None and not pattern.fullmatch(value):
        raise BadRequest(f"{name} must be {rule}.", name)
    return value


def _object(body: bytes) -> JSONObject:
    try:
        raw: Any = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as e:
        raise BadRequest("The body is no valid JSON.") from e
    if not isinstance(raw, dict):
        raise BadRequest("The body must be a JSON object.")
    return raw


def _refuse_unsupported(raw: JSONObject) -> None:
    for name in ("tools", "functions"):
        if raw.get(name):
            raise BadRequest(f"{name} cannot be given here: the agent uses its own tools.", name)
    if raw.get("n") not in (None, 1):
        raise BadRequest("n must be 1: there is one answer.", "n")


def _model(raw: JSONObject) -> str:
    name = raw.get("model") or "hermes"
    if not isinstance(name, str):
        raise BadRequest("model must be a string.", "model")
    return scrub_surrogates(name[:256])


def _messages(raw: JSONObject) -> list[_Said]:
    given = raw.get("messages")
    if not isinstance(given, list) or not given:
        raise BadRequest("messages must be a list with at least one message.", "messages")
    return [_message(item, f"messages[{i}]") for i, item in enumerate(given)]


def _message(item: Any, where: str) -> _Said:  # noqa: ANN401  JSON
    if not isinstance(item, dict):
        raise BadRequest(f"{where} must be an object.", where)
    role = item.get("role")
    if role in ("tool", "function") or item.get("tool_calls"):
        raise BadRequest(f"{where}: tool calls cannot be given here: the agent uses its own tools.", where)
    if role not in (*_SYSTEM, "user", "assistant"):
        raise BadRequest(f"{where}.role must be system, developer, user or assistant.", f"{where}.role")
    content = read_content(item.get("content"), f"{where}.content")
    if content.uploads and role != "user":
        raise BadRequest(f"{where}: files are taken with messages of the user.", where)
    return role, content


def _session_turn(messages: list[_Said]) -> tuple[Content, list[_Said]]:
    for role, content in reversed(messages):
        if role == "user":
            return _checked(content), []
    raise BadRequest("messages must hold a message of the user.", "messages")


def _single_turn(messages: list[_Said]) -> tuple[Content, list[_Said]]:
    role, content = messages[-1]
    if role != "user":
        raise BadRequest("The last of the messages must be the user's.", "messages")
    instructions = "\n\n".join(c.text for r, c in messages if r in _SYSTEM and c.text.strip())
    before = [(r, c) for r, c in messages[:-1] if r not in _SYSTEM and (c.text.strip() or c.uploads)]
    said = _checked(content)
    if instructions:
        said = replace(said, text=_INSTRUCTIONS.format(instructions, said.text))
    return said, before


def _role(name: str) -> Role:
    return "user" if name == "user" else "assistant"


def _checked(said: Content) -> Content:
    if not said.text.strip() and not said.uploads:
        raise BadRequest("The user's message is empty.", "messages")
    return said
