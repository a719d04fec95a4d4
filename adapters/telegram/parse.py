"""One update becomes one `Parsed`. Pure; whatever an update looks like, nothing is raised.

Source: https://core.telegram.org/bots/api#update and #message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from adapters.telegram.addressing import Account, Addressed, read_text
from hermes.events import ChatKind, Event, Ignored, Parsed, Sender, Target, Unparsable
from hermes.messages import scrub_surrogates

__all__ = ["ALLOWED_UPDATES", "Reading", "parse_update", "update_id"]

ALLOWED_UPDATES = ("message", "edited_message", "channel_post", "edited_channel_post")
_KINDS: Mapping[str, ChatKind] = {
    "private": "direct",
    "group": "group",
    "supergroup": "group",
    "channel": "channel",
}
_MEDIA = {
    "photo": "photo",
    "voice": "voice message",
    "audio": "audio",
    "video": "video",
    "video_note": "video message",
    "animation": "animation",  # comes with `document` too, for old clients
    "document": "file",
    "sticker": "sticker",
    "venue": "place",  # comes with `location` too
    "location": "location",
    "contact": "contact",
    "poll": "poll",
    "dice": "dice",
    "game": "game",
    "story": "story",
    "paid_media": "paid media",
    "checklist": "checklist",
}
_GENERAL = 1  # the General topic's id; messages to it must not carry it
_QUOTE = 500  # characters
_RAW = 64 * 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """What an update is read with: our instance, our account, and whether groups must mention us."""

    instance: str
    account: Account
    mention: Literal["required", "off"] = "required"


def update_id(update: object) -> int | None:
    """The update's own id, `None` when it has no usable one."""
    found = update.get("update_id") if isinstance(update, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def parse_update(update: object, reading: Reading) -> Parsed:
    """The message in an update as an event, or why there is none."""
    try:
        return _parse(update, reading)
    except (ValueError, OverflowError, RecursionError) as e:
        return Unparsable(_raw(update), str(e) or type(e).__name__)


def _raw(update: object) -> str:
    try:
        return json.dumps(update)[:_RAW]
    except (ValueError, RecursionError, TypeError):
        return "(cannot be shown)"


def _parse(update: object, reading: Reading) -> Parsed:
    if not isinstance(update, Mapping) or update_id(update) is None:
        raise ValueError("the update has no update_id")
    for name in ALLOWED_UPDATES:
        if name in update:
            found = _message(_object(update, name), reading)
            if isinstance(found, Event) and name.startswith("edited"):
                return replace(found, edited=True)
            return found
    return Ignored("no message")


def _message(message: Mapping[str, Any], reading: Reading) -> Parsed:
    chat = _object(message, "chat")
    kind = _KINDS.get(str(chat.get("type")))
    if kind is None:
        raise ValueError(f"unknown chat type {chat.get('type')!r:.40}")
    sender = _sender(message, chat)
    if sender.id == str(reading.account.id):
        return Ignored("own message")
    media = next((word for key, word in _MEDIA.items() if key in message), None)
    said = _said(message, reading.account)
    if media is None and not said.text:
        return Ignored("service message")
    if said.elsewhere and kind != "direct":
        return Ignored("command for another bot")
    return _event(message, said, (kind, sender, media), reading)


def _event(
    message: Mapping[str, Any], said: Addressed, found: tuple[ChatKind, Sender, str | None], reading: Reading
) -> Event:
    kind, sender, media = found
    chat, number = str(_integer(_object(message, "chat"), "id")), _integer(message, "message_id")
    thread = _thread(message)
    is_free = kind == "direct" or reading.mention == "off"
    edited = _integer(message, "edit_date") if "edit_date" in message else ""
    return Event(
        platform="telegram",
        instance=reading.instance,
        account=str(reading.account.id),
        kind=kind,
        chat=chat,
        sender=sender,
        text=said.text,
        dedupe_key=f"{chat}:{number}:{edited}",
        thread=thread,
        message_id=str(number),
        quoted=_quoted(message),
        addressed=is_free or said.to_us or _answers_us(message, reading.account),
        reply_to=(Target(reading.instance, chat, thread),),
        private_notice=kind == "direct",
        unsupported=None if said.text else media,
        sent_at=float(_integer(message, "date")),
    )


def _sender(message: Mapping[str, Any], chat: Mapping[str, Any]) -> Sender:
    """Who speaks. If a chat does (channel, anonymous admin), `from` is absent or a shared stand-in."""
    if "sender_chat" in message:
        return _chat_as_sender(_object(message, "sender_chat"))
    if "from" not in message:
        return _chat_as_sender(chat)
    person = _object(message, "from")
    name = f"{_text(person, 'first_name')} {_text(person, 'last_name')}".strip()
    username = _text(person, "username") or None
    return Sender(str(_integer(person, "id")), name, username, person.get("is_bot") is True)


def _chat_as_sender(chat: Mapping[str, Any]) -> Sender:
    return Sender(str(_integer(chat, "id")), _text(chat, "title"), _text(chat, "username") or None)


def _said(message: Mapping[str, Any], account: Account) -> Addressed:
    text, entities = _text(message, "text"), message.get("entities")
    if not text:
        text, entities = _text(message, "caption"), message.get("caption_entities")
    listed = entities if isinstance(entities, list) else []
    return read_text(text, [entity for entity in listed if isinstance(entity, Mapping)], account)


def _thread(message: Mapping[str, Any]) -> str | None:
    """The topic. Without `is_topic_message` the id names a chain of replies, which cannot be sent to."""
    thread = message.get("message_thread_id")
    if message.get("is_topic_message") is not True or not isinstance(thread, int) or thread == _GENERAL:
        return None
    return str(thread)


def _answered(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The message that this one replies to; in topics every message "replies" to the topic's beginning."""
    answered = message.get("reply_to_message")
    if not isinstance(answered, Mapping) or "forum_topic_created" in answered:
        return None
    return answered


def _answers_us(message: Mapping[str, Any], account: Account) -> bool:
    answered = _answered(message)
    author = answered.get("from") if answered is not None else None
    return isinstance(author, Mapping) and author.get("id") == account.id


def _quoted(message: Mapping[str, Any]) -> str | None:
    chosen = message.get("quote")
    answered = _answered(message) or {}
    text = _text(chosen, "text") if isinstance(chosen, Mapping) else ""
    text = (text or _text(answered, "text") or _text(answered, "caption")).strip()
    return (text if len(text) <= _QUOTE else text[:_QUOTE] + "…") or None


def _object(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    if not isinstance(value, Mapping):
        raise ValueError(f"{key} is no object")  # noqa: TRY004  what came from outside is a wrong value
    return value


def _integer(holder: Mapping[str, Any], key: str) -> int:
    value = holder.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} is no integer")  # noqa: TRY004  what came from outside is a wrong value
    return value


def _text(holder: Mapping[str, Any], key: str) -> str:
    """A text, empty where there is none. Halves of surrogate pairs, which nothing can store, are replaced."""
    value = holder.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")  # noqa: TRY004  what came from outside is a wrong value
    return scrub_surrogates(value)
