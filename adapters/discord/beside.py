"""What a message says beside its own words: what it passes on, a poll, stickers without a picture, a card. Pure.

Source: https://discord.com/developers/docs/resources/message#message-object . Words of others are quoted, so that nobody takes
them for the sender's, and a command among them is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adapters.discord.addressing import readable
from adapters.discord.attached import is_drawn
from adapters.fields import objects
from hermes.messages import scrub_surrogates

__all__ = ["beside"]

_FIELDS = 25
"""Of one card, as Discord allows."""


def beside(message: Mapping[str, Any]) -> str:
    """The notes in order, empty where there are none. Cards count only where nothing else was said: they show links."""
    notes = [*_passed_on(message), *_polls(message), *_stickers(message)]
    if not notes and not message.get("content") and not message.get("attachments"):
        notes += _cards(message)
    return scrub_surrogates("\n\n".join(notes))


def _passed_on(message: Mapping[str, Any]) -> Iterator[str]:
    for snapshot in objects(message, "message_snapshots"):
        said = snapshot.get("message")
        if not isinstance(said, Mapping):
            continue
        mentions = said.get("mentions")
        text = readable(_text(said, "content"), mentions if isinstance(mentions, list) else [])
        parts = [text, *_stickers(said)]
        if not text and not said.get("attachments"):
            parts += _cards(said)
        if told := "\n".join(part for part in parts if part):
            yield f"[Forwarded message]\n{_quoted(told)}"


def _polls(message: Mapping[str, Any]) -> Iterator[str]:
    poll = message.get("poll")
    if not isinstance(poll, Mapping):
        return
    question = poll.get("question")
    asked = _text(question, "text") if isinstance(question, Mapping) else ""
    choices = [a["poll_media"] for a in objects(poll, "answers") if isinstance(a.get("poll_media"), Mapping)]
    yield "\n".join([f"[Poll] {asked}".strip(), *(f"- {_text(choice, 'text')}" for choice in choices)])


def _stickers(message: Mapping[str, Any]) -> Iterator[str]:
    for sticker in objects(message, "sticker_items"):
        if is_drawn(sticker):
            yield f"[Sticker: {_text(sticker, 'name') or 'without a name'}]"


def _cards(message: Mapping[str, Any]) -> Iterator[str]:
    for card in objects(message, "embeds"):
        fields = list(objects(card, "fields"))[:_FIELDS]
        told = [_text(card, "title"), _text(card, "description")]
        told += [f"{_text(field, 'name')}: {_text(field, 'value')}" for field in fields]
        told.append(_text(card, "url"))
        if any(told):
            yield "[Embed]\n" + _quoted("\n".join(line for line in told if line))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value.strip() if isinstance(value, str) else ""
