"""A slash command or a press of a button becomes one `Parsed`. Pure; whatever comes in, nothing is raised.

Source: https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object .
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adapters.discord.answers import Answers
from adapters.discord.buttons import Button, pressed
from adapters.discord.mark import time_of
from adapters.discord.parse import (
    Reading,
    chat_name_of,
    id_of,
    may_be_answered,
    quoted_of,
    safely,
    sender_of,
)
from adapters.discord.places import Place
from adapters.fields import mapping
from adapters.fields import text as text_of
from hermes.events import PRESSED_TWICE, Event, Ignored, Parsed, Target
from hermes.messages import scrub_surrogates

__all__ = ["ASK", "UNKNOWN_BUTTON", "is_press", "parse_interaction"]

ASK = "ask"
"""The slash command whose text is said as it is: it reaches everything, other commands too."""
UNKNOWN_BUTTON = "unknown button"
_COMMAND, _PRESS = 2, 3
_SLASH = 1
_AMONG_OTHERS = 2
"""A group of persons or two others' direct chat, where somebody uses the app that he has installed for himself:
https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-context-types ."""


def is_press(interaction: Mapping[str, Any]) -> bool:
    """Whether somebody has pressed a button, or used another part of a message."""
    return interaction.get("type") == _PRESS


def parse_interaction(interaction: object, reading: Reading, place: Place) -> Parsed:
    """What somebody did, as an event, or why there is none. `place`: where it was done."""
    return safely(interaction, lambda found: _interaction(found, reading, place))


def _interaction(interaction: Mapping[str, Any], reading: Reading, place: Place) -> Parsed:
    data = interaction.get("data")
    if not isinstance(data, Mapping):
        return Ignored("no slash command")
    button = pressed(interaction.get("message"), data) if is_press(interaction) else None
    if is_press(interaction) and button is None:
        return Ignored(UNKNOWN_BUTTON)
    if button is None and (interaction.get("type") != _COMMAND or data.get("type", 1) != _SLASH):
        return Ignored("no slash command")
    if interaction.get("context") == _AMONG_OTHERS:  # no server, and yet others read what is answered
        place = replace(place, direct=False)
    if not may_be_answered(id_of(interaction, "channel_id"), reading, place):
        return Ignored("another channel", "" if button else _typed(data))
    if button is None:
        return _command(interaction, data, reading, place)
    return _press(interaction, button, reading, place)


def _command(
    interaction: Mapping[str, Any], data: Mapping[str, Any], reading: Reading, place: Place
) -> Event:
    channel, number = id_of(interaction, "channel_id"), id_of(interaction, "id")
    answers = Answers(application=id_of(interaction, "application_id"), token=text_of(interaction, "token"))
    return Event(
        platform="discord",
        instance=reading.instance,
        account=reading.account,
        kind="direct" if place.direct else "group",
        chat=channel,
        sender=sender_of(_person(interaction), interaction.get("member"), is_bot=False),
        text=_typed(data),
        dedupe_key=number,
        thread=channel if place.thread else None,
        message_id=number,
        reply_to=(Target(reading.instance, channel, answers=answers.to_text()),),
        private_notice=place.direct,
        sent_at=time_of(int(number)),
        chat_name=chat_name_of(place, _person(interaction)),
    )


def _press(interaction: Mapping[str, Any], button: Button, reading: Reading, place: Place) -> Event:
    channel, message = id_of(interaction, "channel_id"), mapping(interaction, "message")
    outside = bool(button.thread) and button.thread != channel  # its thread could not be made
    chat = button.thread if outside else channel
    answers = Answers(chat, parent=channel) if outside else Answers(id_of(message, "id"))
    sender = sender_of(_person(interaction), interaction.get("member"), is_bot=False)
    return Event(
        platform="discord",
        instance=reading.instance,
        account=reading.account,
        kind="direct" if place.direct else "group",
        chat=chat,
        sender=sender,
        text=button.label,
        command_text=False,
        dedupe_key=f"press:{id_of(interaction, 'id')}",
        replay_key=_key(message, sender.id, button),
        replay_window=PRESSED_TWICE,
        replay_open=True,
        thread=chat if outside or place.thread else None,
        quoted=quoted_of(message),
        reply_to=(Target(reading.instance, chat, answers=None if place.direct else answers.to_text()),),
        private_notice=place.direct,
        sent_at=time_of(int(id_of(interaction, "id"))),
        chat_name="" if outside else chat_name_of(place, _person(interaction)),
    )


def _key(message: Mapping[str, Any], sender: str, button: Button) -> str:
    """One press of one button of one version of a message, by one person, however often he taps."""
    version = f"{message.get('edited_timestamp')} {button.number} {button.label}"
    digest = hashlib.sha256(version.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"press:{id_of(message, 'id')}:{sender}:{digest}"


def _person(interaction: Mapping[str, Any]) -> Mapping[str, Any]:
    member = interaction.get("member")
    return mapping(member if isinstance(member, Mapping) else interaction, "user")


def _typed(data: Mapping[str, Any]) -> str:
    """A command as it would be typed."""
    name = text_of(data, "name")
    options = data.get("options")
    listed = options if isinstance(options, list) else []
    values = [str(o.get("value", "")) for o in listed if isinstance(o, Mapping)]
    rest = scrub_surrogates(" ".join(v for v in values if v)).strip()
    return rest if name == ASK else f"/{name} {rest}".strip()
