"""One message becomes one `Parsed`. Pure; whatever comes in, nothing is raised.

Source: https://discord.com/developers/docs/resources/message#message-object .
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adapters.discord.addressing import names_us, readable
from adapters.discord.answers import Answers
from adapters.discord.attached import attachments, files_answered
from adapters.discord.beside import beside
from adapters.discord.mark import time_of
from adapters.discord.places import Place
from adapters.fields import mapping, whole
from adapters.fields import text as text_of
from adapters.foreseen import or_unparsable
from hermes.events import Admission, Event, Ignored, Parsed, Sender, Target
from hermes.messages import scrub_surrogates

__all__ = [
    "NO_CONTENT",
    "Reading",
    "author_id",
    "chat_name_of",
    "id_of",
    "may_be_answered",
    "parse_message",
    "quoted_of",
    "safely",
    "sender_of",
]

NO_CONTENT = "no content"
_SAID = (0, 19)  # ordinary messages and replies; all other types are the server's own notes
_QUOTE = 500
_NAME = 80


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message is read with: our instance and account, and the settings that decide whether it is for us."""

    instance: str
    account: str
    mention: Literal["required", "off"] = "required"
    channels: tuple[str, ...] | None = None
    free_channels: tuple[str, ...] = ()
    allow_from: tuple[str, ...] | None = None
    allow_bots: Literal["off", "mentions", "all"] = "off"
    auto_thread: bool = False


def author_id(message: object) -> str:
    """Who wrote it, empty where that is not to be seen."""
    author = message.get("author") if isinstance(message, Mapping) else None
    return str(author.get("id", "")) if isinstance(author, Mapping) else ""


def parse_message(message: object, reading: Reading, place: Place) -> Parsed:
    """A message as an event, or why there is none. `place`: where it was written."""
    return safely(message, lambda found: _message(found, reading, place))


def safely(found: object, parse: Callable[[Mapping[str, Any]], Parsed]) -> Parsed:
    """What `parse` makes of it, or that it makes no sense, without the secret by which it would be answered."""
    return or_unparsable(found, lambda: parse(whole(found, "it")), secrets=("token",))


def _message(message: Mapping[str, Any], reading: Reading, place: Place) -> Parsed:
    author = mapping(message, "author")
    if id_of(author, "id") == reading.account:
        return Ignored("own message")
    if message.get("type", 0) not in _SAID:
        return Ignored("service message")
    content = text_of(message, "content").strip()
    is_bot = author.get("bot") is True or bool(message.get("webhook_id"))
    named = names_us(content, reading.account)
    if is_bot and not (reading.allow_bots == "all" or (reading.allow_bots == "mentions" and named)):
        return Ignored("sender is a bot")
    channel = id_of(message, "channel_id")
    if not may_be_answered(channel, reading, place):
        return Ignored("another channel", readable(content, (), reading.account))
    notes, files = beside(message), attachments(message)
    if not (content or notes or files):
        # Without the intent the text of what is not for us is kept back.
        return Ignored("empty" if place.direct else NO_CONTENT)
    text = _written(message, reading, place, (content, notes)) or ("" if files else content)
    return _event(message, reading, place, (text, is_bot, named))


def _written(message: Mapping[str, Any], reading: Reading, place: Place, said: tuple[str, str]) -> str:
    """What was said and what stands beside it; the first message of a post also says the post's title."""
    content, notes = said
    mentions = message.get("mentions")
    words = readable(content, mentions if isinstance(mentions, list) else [], reading.account)
    is_post = place.thread and message.get("id") == message.get("channel_id")
    parts = [place.name if is_post else "", words, notes]
    return "\n\n".join(part for part in parts if part)


def _event(
    message: Mapping[str, Any], reading: Reading, place: Place, found: tuple[str, bool, bool]
) -> Event:
    text, is_bot, named = found
    channel, number = id_of(message, "channel_id"), id_of(message, "id")
    answered = _answered(message)
    to_us = named or (not is_bot and author_id(answered) == reading.account)
    begins = reading.auto_thread and to_us and not (place.direct or place.thread)
    chat = number if begins else channel  # a thread has the id of the message that it begins at
    return Event(
        platform="discord",
        instance=reading.instance,
        account=reading.account,
        kind="direct" if place.direct else "group",
        chat=chat,
        sender=sender_of(mapping(message, "author"), message.get("member"), is_bot=is_bot),
        text=text,
        # Its first version, also when a gap is read after it was changed; see `changes.parse_edit`.
        dedupe_key=number,
        thread=chat if begins or place.thread else None,
        message_id=number,
        quoted=quoted_of(answered),
        addressed=to_us or _is_free(channel, reading, place),
        reply_to=(_reply_to(reading, place, (chat, channel, number), text if begins else None),),
        private_notice=place.direct,
        sent_at=time_of(int(number)),
        attachments=(*attachments(message), *files_answered(message, reading.account)),
        admitted=_admission(id_of(mapping(message, "author"), "id"), reading) if is_bot else None,
        chat_name="" if begins else chat_name_of(place, mapping(message, "author")),
    )


def chat_name_of(place: Place, person: Mapping[str, Any]) -> str:
    """What people call the chat; servers may have channels of one name, and then none of them is meant."""
    name = text_of(person, "username") if place.direct else place.name
    return f"{'@' if place.direct else '#'}{name}" if name else ""


def _reply_to(reading: Reading, place: Place, ids: tuple[str, str, str], name: str | None) -> Target:
    chat, channel, number = ids
    if place.direct:
        return Target(reading.instance, chat)
    if name is not None:
        title = " ".join(name.split())[:_NAME].strip() or "Conversation"
        return Target(reading.instance, chat, answers=Answers(number, parent=channel, name=title).to_text())
    return Target(reading.instance, chat, answers=Answers(number).to_text())


def may_be_answered(channel: str, reading: Reading, place: Place) -> bool:
    """Whether the settings let us answer there; a thread counts as its channel."""
    allowed = reading.channels
    return place.direct or allowed is None or channel in allowed or place.parent in allowed


def _is_free(channel: str, reading: Reading, place: Place) -> bool:
    """Whether nobody has to name us there."""
    if place.direct or reading.mention == "off" or place.joined:
        return True
    return channel in reading.free_channels or place.parent in reading.free_channels


def _admission(sender: str, reading: Reading) -> Admission | None:
    """By what right a bot is heard that the settings let in; pairing is for people."""
    listed = reading.allow_from or ()
    if sender in listed:
        return "listed"
    return "anyone" if "*" in listed else None


def sender_of(author: Mapping[str, Any], member: object, *, is_bot: bool) -> Sender:
    """Who wrote or did something; `member`: who he is in the server."""
    nick = member.get("nick") if isinstance(member, Mapping) else None
    username = text_of(author, "username")
    name = scrub_surrogates(str(nick or author.get("global_name") or username))
    return Sender(id_of(author, "id"), name, username or None, is_bot)


def _answered(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    answered = message.get("referenced_message")
    return answered if isinstance(answered, Mapping) else None


def quoted_of(answered: Mapping[str, Any] | None) -> str | None:
    """The beginning of the message that somebody answers."""
    text = scrub_surrogates(str(answered.get("content") or "")).strip() if answered else ""
    return (text if len(text) <= _QUOTE else text[:_QUOTE] + "…") or None


def id_of(holder: Mapping[str, Any], key: str) -> str:
    """An id: digits, as text (https://discord.com/developers/docs/reference#snowflakes)."""
    value = holder.get(key)
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        raise ValueError(f"{key} is no id")
    return text
