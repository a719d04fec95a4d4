"""A chat completion request, read. Pure. Source: platform.openai.com/docs/api-reference/chat/create.

Fields that we do not know are left alone: the sampling of the model is the owner's business here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes.messages import JSONObject, Message, Role, scrub_surrogates

__all__ = ["BadRequest", "Chat", "parse_chat"]

_SESSION = re.compile(r"[A-Za-z0-9._-]{1,128}")
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_INSTRUCTIONS = "[Instructions of the program that asks]\n{}\n[End of the instructions]\n\n{}"
_SYSTEM = ("system", "developer")


class BadRequest(Exception):
    """The request cannot be answered as it is. `param`: the field."""

    def __init__(self, text: str, param: str | None = None) -> None:
        super().__init__(text)
        self.param = param


@dataclass(frozen=True, slots=True)
class Chat:
    """What is asked for.

    text: the new message. history: what was said before, only without a session. idempotency: SHA-256 of
    the header, if there was one.
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


def parse_chat(headers: Mapping[str, str], body: bytes) -> Chat:
    """Read a request. Raises `BadRequest` with a sentence."""
    session = _header(headers, "X-Hermes-Session", _SESSION, "1 to 128 letters, digits, dots, - and _")
    key = _header(headers, "Idempotency-Key", _KEY, "1 to 255 printable ASCII characters")
    raw = _object(body)
    _refuse_unsupported(raw)
    messages = _messages(raw)
    text, history = _session_turn(messages) if session else _single_turn(messages)
    options = raw.get("stream_options")
    return Chat(
        text=text,
        history=history,
        model=_model(raw),
        stream=raw.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        session=session,
        idempotency=None if key is None else hashlib.sha256(key.encode()).hexdigest(),
        fingerprint=_fingerprint(session, raw),
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


def _messages(raw: JSONObject) -> list[tuple[str, str]]:
    given = raw.get("messages")
    if not isinstance(given, list) or not given:
        raise BadRequest("messages must be a list with at least one message.", "messages")
    return [_message(item, f"messages[{i}]") for i, item in enumerate(given)]


def _message(item: Any, where: str) -> tuple[str, str]:  # noqa: ANN401  JSON
    if not isinstance(item, dict):
        raise BadRequest(f"{where} must be an object.", where)
    role = item.get("role")
    if role in ("tool", "function") or item.get("tool_calls"):
        raise BadRequest(f"{where}: tool calls cannot be given here: the agent uses its own tools.", where)
    if role not in (*_SYSTEM, "user", "assistant"):
        raise BadRequest(f"{where}.role must be system, developer, user or assistant.", f"{where}.role")
    return role, scrub_surrogates(_text(item.get("content"), f"{where}.content"))


def _text(content: Any, where: str) -> str:  # noqa: ANN401  JSON
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{where} must be text or a list of parts.", where)
    return "\n".join(_part(part, f"{where}[{i}]") for i, part in enumerate(content))


def _part(part: Any, where: str) -> str:  # noqa: ANN401  JSON
    if not isinstance(part, dict):
        raise BadRequest(f"{where} must be an object.", where)
    if part.get("type") != "text":
        raise BadRequest(f"{where}: only parts of type text are taken; images and audio are not.", where)
    text = part.get("text")
    if not isinstance(text, str):
        raise BadRequest(f"{where}.text must be a string.", where)
    return text


def _session_turn(messages: list[tuple[str, str]]) -> tuple[str, tuple[Message, ...]]:
    for role, text in reversed(messages):
        if role == "user":
            return _said(text), ()
    raise BadRequest("messages must hold a message of the user.", "messages")


def _single_turn(messages: list[tuple[str, str]]) -> tuple[str, tuple[Message, ...]]:
    role, text = messages[-1]
    if role != "user":
        raise BadRequest("The last of the messages must be the user's.", "messages")
    instructions = "\n\n".join(t for r, t in messages if r in _SYSTEM and t.strip())
    earlier: tuple[Message, ...] = tuple(
        Message(_role(r), t) for r, t in messages[:-1] if r not in _SYSTEM and t.strip()
    )
    said = _said(text)
    return (_INSTRUCTIONS.format(instructions, said) if instructions else said), earlier


def _role(name: str) -> Role:
    return "user" if name == "user" else "assistant"


def _said(text: str) -> str:
    if not text.strip():
        raise BadRequest("The user's message is empty.", "messages")
    return text
