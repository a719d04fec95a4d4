"""Messages that were changed or taken back. Pure.

Source: https://discord.com/developers/docs/events/gateway-events#message-update . An update comes for other reasons too (the
preview of a link has been found); only one with a new time of change has new words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adapters.discord.parse import Reading, author_id, parse_message
from adapters.discord.places import Place
from hermes.events import Deleted, Event, Parsed

__all__ = ["has_new_words", "parse_deletions", "parse_edit"]


def has_new_words(message: object, account: str) -> bool:
    """Whether somebody else has changed what the message says."""
    if not isinstance(message, Mapping) or not isinstance(message.get("edited_timestamp"), str):
        return False
    return author_id(message) not in ("", account)


def parse_edit(message: object, reading: Reading, place: Place) -> Parsed:
    """The new version of a message, with a key of its own."""
    found = parse_message(message, reading, place)
    if not isinstance(found, Event) or not isinstance(message, Mapping):
        return found
    return replace(found, edited=True, dedupe_key=f"{found.dedupe_key}:{message.get('edited_timestamp')}")


def parse_deletions(data: object, reading: Reading) -> list[Parsed]:
    """The messages that an event says are gone, one or many."""
    if not isinstance(data, Mapping):
        return []
    many = data.get("ids")
    listed = many if isinstance(many, list) else [data.get("id")]
    channel = data.get("channel_id")
    if not isinstance(channel, str):
        return []
    ids = [number for number in listed if isinstance(number, str)]
    found: list[Parsed] = [Deleted(channel, number) for number in ids]
    if reading.auto_thread:  # a question that began a thread is known by that thread
        found += [Deleted(number, number) for number in ids]
    return found
