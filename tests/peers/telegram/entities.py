"""Message text and its entities, counted in UTF-16 code units as the Bot API counts.

https://core.telegram.org/bots/api#messageentity
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Entity = dict[str, Any]

KNOWN = frozenset({
    "mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bold", "italic",
    "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote", "code", "pre",
    "text_link", "text_mention", "custom_emoji", "date_time",
})  # fmt: skip
MOST_ENTITIES = 100
_AUTOMATIC = re.compile(
    r"(?P<bot_command>(?<![\w/@])/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?)|(?P<mention>(?<![\w@])@\w{3,32})"
    r"|(?P<url>https?://[^\s<>]+)|(?P<hashtag>(?<![\w#])#[^\W\d]\w*)"
)


class Unparsable(Exception):
    """The markup cannot be read; the text of the exception goes behind "can't parse entities: "."""


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text) + sum(char > "\uffff" for char in text)


@dataclass(slots=True)
class Formatted:
    """Text as a person sees it, with the entities that style it."""

    text: str
    entities: list[Entity] = field(default_factory=list)


@dataclass(slots=True)
class TextBuilder:
    """Collects plain text and knows its length in UTF-16 units."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    entities: list[Entity] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Append plain text."""
        self.parts.append(text)
        self.length += units(text)

    def close(self, kind: str, start: int, **more: str | int) -> None:
        """Record an entity from `start` to here; one of no length is dropped, as the server does."""
        if self.length > start:
            self.entities.append({"type": kind, "offset": start, "length": self.length - start, **more})

    def build(self) -> Formatted:
        """The finished text with its entities in order."""
        ordered = sorted(self.entities, key=lambda e: (e["offset"], -e["length"]))
        return Formatted("".join(self.parts), ordered)


def found_in(text: str) -> list[Entity]:
    """Commands, mentions, links and hashtags that the server finds by itself."""
    return [
        {
            "type": match.lastgroup,
            "offset": units(text[: match.start()]),
            "length": units(match.group()),
        }
        for match in _AUTOMATIC.finditer(text)
    ]


def entity_faults(text: str, entities: Sequence[Entity]) -> list[str]:
    """What is wrong with a given list: unknown type, out of range, cut surrogate pair, overlap."""
    total, inner = units(text), _pair_middles(text)
    faults: list[str] = []
    for number, entity in enumerate(entities):
        start, end = entity["offset"], entity["offset"] + entity["length"]
        if entity["type"] not in KNOWN:
            faults.append(f"entity {number}: unknown type {entity['type']!r}")
        if start < 0 or entity["length"] <= 0 or end > total:
            faults.append(f"entity {number}: {start}+{entity['length']} lies outside of 0..{total}")
        if start in inner or end in inner:
            faults.append(f"entity {number}: a surrogate pair is cut")
        if entity["type"] == "text_link" and not entity.get("url"):
            faults.append(f"entity {number}: text_link needs a url")
    return faults + _overlaps(entities)


def _pair_middles(text: str) -> set[int]:
    middles, position = set(), 0
    for char in text:
        if char > "\uffff":
            middles.add(position + 1)
            position += 1
        position += 1
    return middles


def _overlaps(entities: Sequence[Entity]) -> list[str]:
    faults: list[str] = []
    open_ends: list[int] = []
    for entity in sorted(entities, key=lambda e: (e["offset"], -e["length"])):
        start, end = entity["offset"], entity["offset"] + entity["length"]
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            faults.append(f"entity at {start}: overlaps another without lying inside it")
        open_ends.append(end)
    return faults


def trimmed(message: Formatted) -> Formatted:
    """White space at the ends goes, as the server does it; at the front only where no entity covers it."""
    text = message.text.rstrip()
    kept = [_shortened(e, units(text)) for e in message.entities]
    entities = [e for e in kept if e["length"] > 0]
    lead = len(text) - len(text.lstrip())
    if lead and not any(e["offset"] < lead for e in entities):
        text = text[lead:]
        entities = [{**e, "offset": e["offset"] - lead} for e in entities]
    return Formatted(text, entities[:MOST_ENTITIES])


def _shortened(entity: Entity, end: int) -> Entity:
    return {**entity, "length": min(entity["length"], end - entity["offset"])}
