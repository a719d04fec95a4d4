"""One message or slash command becomes one `Parsed`. Pure; whatever comes in, nothing is raised.

Source: https://discord.com/developers/docs/resources/message#message-object and
https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object .
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adapters.discord.addressing import names_us, readable
from adapters.discord.answers import Answers
from adapters.discord.attached import attachments
from adapters.discord.beside import beside
from adapters.discord.mark import time_of
from adapters.discord.places import Place
from adapters.fields import mapping, whole
from adapters.fields import text as text_of
from hermes.events import Admission, Event, Ignored, Parsed, Sender, Target, Unparsable
from hermes.messages import scrub_surrogates

__all__ = ["ASK", "NO_CONTENT", "Reading", "author_id", "parse_interaction", "parse_message"]

ASK = "ask"
"""The slash command whose text is said as it is: it reaches everything, other commands too."""
NO_CONTENT = "no content"
_SAID = (0, 19)  # ordinary messages and replies; all other types are the server's own notes
_CHAT_COMMAND = 2
_SLASH = 1
_QUOTE = 500
_NAME = 80
_RAW = 64 * 1024


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
    return _safely(message, lambda found: _message(found, reading, place))


def parse_interaction(interaction: object, reading: Reading, place: Place) -> Parsed:
    """A slash command as an event, or why there is none."""
    return _safely(interaction, lambda found: _interaction(found, reading, place))


def _safely(found: object, parse: Callable[[Mapping[str, Any]], Parsed]) -> Parsed:
    try:
        return parse(whole(found, "it"))
    except (ValueError, OverflowError, RecursionError) as e:
        return Unparsable(_raw(found), str(e) or type(e).__name__)


def _raw(found: object) -> str:
    """What came, without the secret by which a slash command is answered."""
    try:
        shown = {k: v for k, v in found.items() if k != "token"} if isinstance(found, Mapping) else found
        return json.dumps(shown)[:_RAW]
    except (ValueError, RecursionError, TypeError):
        return "(cannot be shown)"


def _message(message: Mapping[str, Any], reading: Reading, place: Place) -> Parsed:
    author = mapping(message, "author")
    if _id(author, "id") == reading.account:
        return Ignored("own message")
    if message.get("type", 0) not in _SAID:
        return Ignored("service message")
    content = text_of(message, "content").strip()
    is_bot = author.get("bot") is True or bool(message.get("webhook_id"))
    named = names_us(content, reading.account)
    if is_bot and not (reading.allow_bots == "all" or (reading.allow_bots == "mentions" and named)):
        return Ignored("sender is a bot")
    channel = _id(message, "channel_id")
    if not _may_be_answered(channel, reading, place):
        return Ignored("another channel")
    notes, files = beside(message, reading.account), attachments(message)
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
    channel, number = _id(message, "channel_id"), _id(message, "id")
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
        sender=_sender(mapping(message, "author"), message.get("member"), is_bot=is_bot),
        text=text,
        # Its first version, also when a gap is read after it was changed; see `changes.parse_edit`.
        dedupe_key=number,
        thread=chat if begins or place.thread else None,
        message_id=number,
        quoted=_quoted(answered),
        addressed=to_us or _is_free(channel, reading, place),
        reply_to=(_reply_to(reading, place, (chat, channel, number), text if begins else None),),
        private_notice=place.direct,
        sent_at=time_of(int(number)),
        attachments=attachments(message),
        admitted=_admission(_id(mapping(message, "author"), "id"), reading) if is_bot else None,
        chat_name="" if begins else _chat_name(place, mapping(message, "author")),
    )


def _chat_name(place: Place, person: Mapping[str, Any]) -> str:
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


def _interaction(interaction: Mapping[str, Any], reading: Reading, place: Place) -> Parsed:
    data = interaction.get("data")
    if (
        interaction.get("type") != _CHAT_COMMAND
        or not isinstance(data, Mapping)
        or data.get("type", 1) != _SLASH
    ):
        return Ignored("no slash command")
    channel, number = _id(interaction, "channel_id"), _id(interaction, "id")
    if not _may_be_answered(channel, reading, place):
        return Ignored("another channel")
    member = interaction.get("member")
    user = mapping(member if isinstance(member, Mapping) else interaction, "user")
    answers = Answers(application=_id(interaction, "application_id"), token=text_of(interaction, "token"))
    return Event(
        platform="discord",
        instance=reading.instance,
        account=reading.account,
        kind="direct" if place.direct else "group",
        chat=channel,
        sender=_sender(user, member, is_bot=False),
        text=_command(data),
        dedupe_key=number,
        thread=channel if place.thread else None,
        message_id=number,
        reply_to=(Target(reading.instance, channel, answers=answers.to_text()),),
        private_notice=place.direct,
        sent_at=time_of(int(number)),
        chat_name=_chat_name(place, user),
    )


def _command(data: Mapping[str, Any]) -> str:
    name = text_of(data, "name")
    options = data.get("options")
    listed = options if isinstance(options, list) else []
    values = [str(o.get("value", "")) for o in listed if isinstance(o, Mapping)]
    rest = scrub_surrogates(" ".join(v for v in values if v)).strip()
    return rest if name == ASK else f"/{name} {rest}".strip()


def _may_be_answered(channel: str, reading: Reading, place: Place) -> bool:
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


def _sender(author: Mapping[str, Any], member: object, *, is_bot: bool) -> Sender:
    nick = member.get("nick") if isinstance(member, Mapping) else None
    username = text_of(author, "username")
    name = scrub_surrogates(str(nick or author.get("global_name") or username))
    return Sender(_id(author, "id"), name, username or None, is_bot)


def _answered(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    answered = message.get("referenced_message")
    return answered if isinstance(answered, Mapping) else None


def _quoted(answered: Mapping[str, Any] | None) -> str | None:
    text = scrub_surrogates(str(answered.get("content") or "")).strip() if answered else ""
    return (text if len(text) <= _QUOTE else text[:_QUOTE] + "…") or None


def _id(holder: Mapping[str, Any], key: str) -> str:
    """An id: digits, as text (https://discord.com/developers/docs/reference#snowflakes)."""
    value = holder.get(key)
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        raise ValueError(f"{key} is no id")
    return text
