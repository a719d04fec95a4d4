"""One update becomes one `Parsed`. Pure; whatever an update looks like, nothing is raised.

Source: https://core.telegram.org/bots/api#update and #message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adapters.fields import integer, mapping, text
from adapters.foreseen import or_unparsable
from adapters.telegram.addressing import Account, Addressed, read_text
from adapters.telegram.answered import answers_us, files_answered, quoted
from adapters.telegram.buttons import press
from adapters.telegram.media import attachments
from adapters.telegram.origin import chat_kind, chat_name, sender_of, topic_of
from adapters.telegram.reactions import reaction
from adapters.telegram.reading import Reading
from adapters.telegram.wording import named, worded
from hermes.events import Attachment, ChatKind, Event, Ignored, Parsed, Sender

__all__ = ["allowed_updates", "parse_update", "query_id", "update_id"]

_MESSAGES = ("message", "edited_message", "channel_post", "edited_channel_post")
_PRESS = "callback_query"
_REACTION = "message_reaction"
_PASSED_ON = "forward_origin"
_OTHER_BOT = re.compile(r"@\w+")


def allowed_updates(reading: Reading) -> list[str]:
    """The kinds of updates to ask for."""
    return [*_MESSAGES, _PRESS, *([_REACTION] if reading.reactions else [])]


def update_id(update: object) -> int | None:
    """The update's own id, `None` when it has no usable one."""
    found = update.get("update_id") if isinstance(update, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def query_id(update: object) -> str | None:
    """The name of the press that an update tells of, by which it is answered."""
    query = update.get(_PRESS) if isinstance(update, Mapping) else None
    found = query.get("id") if isinstance(query, Mapping) else None
    return found if isinstance(found, str) and found else None


def parse_update(update: object, reading: Reading) -> Parsed:
    """The message in an update as an event, or why there is none."""
    return or_unparsable(update, lambda: _parse(update, reading))


def _parse(update: object, reading: Reading) -> Parsed:
    if not isinstance(update, Mapping) or update_id(update) is None:
        raise ValueError("the update has no update_id")
    for name in _MESSAGES:
        if name in update:
            return _message(mapping(update, name), reading, edited=name.startswith("edited"))
    if _PRESS in update:
        return press(mapping(update, _PRESS), reading)
    if _REACTION in update and reading.reactions:
        return reaction(mapping(update, _REACTION), reading.instance, str(reading.account.id))
    return Ignored("no message")


def _message(message: Mapping[str, Any], reading: Reading, *, edited: bool) -> Parsed:
    chat = mapping(message, "chat")
    kind = chat_kind(chat)
    sender = sender_of(message, chat)
    said = _said(message, reading.account)
    if sender.id == str(reading.account.id):
        return Ignored("own message")
    if edited and "location" in message:  # somebody moves
        return Ignored("live location")
    if named(message) is None and not said.text:
        return Ignored("service message")
    if said.elsewhere and kind != "direct":
        return Ignored("command for another bot", _OTHER_BOT.sub("", said.text, count=1))
    return replace(_event(message, said, (kind, sender), reading), edited=edited)


def _event(
    message: Mapping[str, Any], said: Addressed, found: tuple[ChatKind, Sender], reading: Reading
) -> Event:
    kind, sender = found
    place, number = mapping(message, "chat"), integer(message, "message_id")
    chat = str(integer(place, "id"))
    thread = topic_of(message)
    edited = integer(message, "edit_date") if "edit_date" in message else ""
    files = attachments(message)
    words = said.text or ("" if files else worded(message))
    is_own = _PASSED_ON not in message
    return Event(
        platform="telegram",
        instance=reading.instance,
        account=str(reading.account.id),
        kind=kind,
        chat=chat,
        sender=sender,
        text=words,
        dedupe_key=f"{chat}:{number}:{edited}",
        thread=thread,
        message_id=str(number),
        quoted=quoted(message),
        addressed=said.to_us or answers_us(message, reading.account) or _is_free(message, kind, reading),
        reply_to=(reading.target(kind, chat, thread, number),),
        private_notice=kind == "direct",
        unsupported=None if words or files else named(message),
        sent_at=float(integer(message, "date")),
        attachments=(
            *(files if is_own else map(Attachment.overheard, files)),
            *files_answered(message, reading.account),
        ),
        album=text(message, "media_group_id") or None,
        chat_name=chat_name(place),
        command_text=is_own,
    )


def _is_free(message: Mapping[str, Any], kind: ChatKind, reading: Reading) -> bool:
    """Whether it needs no mention. A channel's post comes once more in the group where it is discussed."""
    is_copy = message.get("is_automatic_forward") is True
    return kind == "direct" or (reading.mention == "off" and not is_copy)


def _said(message: Mapping[str, Any], account: Account) -> Addressed:
    said, entities = text(message, "text"), message.get("entities")
    if not said:
        said, entities = text(message, "caption"), message.get("caption_entities")
    if _PASSED_ON in message:  # somebody else's words: they name nobody, and stay as they are
        return Addressed(said)
    listed = entities if isinstance(entities, list) else []
    return read_text(said, [entity for entity in listed if isinstance(entity, Mapping)], account)
