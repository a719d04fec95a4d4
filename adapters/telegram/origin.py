"""Where a message comes from: the kind of its chat, who speaks, the topic. Pure; `ValueError` for what is malformed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.fields import integer, mapping, text
from hermes.events import ChatKind, Sender

__all__ = ["chat_kind", "chat_name", "person", "sender_of", "topic_of"]

_KINDS: Mapping[str, ChatKind] = {
    "private": "direct",
    "group": "group",
    "supergroup": "group",
    "channel": "channel",
}
_GENERAL = 1  # the General topic's id; messages to it must not carry it


def chat_kind(chat: Mapping[str, Any]) -> ChatKind:
    """The kind of a Chat object."""
    kind = _KINDS.get(str(chat.get("type")))
    if kind is None:
        raise ValueError(f"unknown chat type {chat.get('type')!r:.40}")
    return kind


def chat_name(chat: Mapping[str, Any]) -> str:
    """What a Chat object is called; empty for people without a name of their own, whose first names are alike."""
    if username := text(chat, "username"):
        return f"@{username}"
    title = text(chat, "title")
    return f"#{title}" if title else ""


def sender_of(message: Mapping[str, Any], chat: Mapping[str, Any]) -> Sender:
    """Who speaks. If a chat does (channel, anonymous admin), `from` is absent or a shared stand-in."""
    if "sender_chat" in message:
        return _chat_as_sender(mapping(message, "sender_chat"), message)
    if "from" not in message:
        return _chat_as_sender(chat, message)
    return person(mapping(message, "from"))


def person(user: Mapping[str, Any]) -> Sender:
    """A User object as a sender."""
    name = f"{text(user, 'first_name')} {text(user, 'last_name')}".strip()
    return Sender(str(integer(user, "id")), name, text(user, "username") or None, user.get("is_bot") is True)


def _chat_as_sender(chat: Mapping[str, Any], message: Mapping[str, Any]) -> Sender:
    name, signed = text(chat, "title"), text(message, "author_signature")
    name = f"{name} ({signed})" if signed else name
    return Sender(str(integer(chat, "id")), name, text(chat, "username") or None)


def topic_of(message: Mapping[str, Any]) -> str | None:
    """The topic. Without `is_topic_message` the id names a chain of replies, which cannot be sent to."""
    thread = message.get("message_thread_id")
    if message.get("is_topic_message") is not True or not isinstance(thread, int) or thread == _GENERAL:
        return None
    return str(thread)
