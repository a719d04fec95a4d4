"""Replies as Telegram shows them: plain text and entities, nothing escaped. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adapters.markdown.entities import Entity, render_entities
from adapters.markdown.split import utf16_len
from hermes.adapter import Piece
from hermes.messages import JSONObject

__all__ = ["AGAIN", "marked", "render"]

LIMIT = 4096
"""UTF-16 units of one message. https://core.telegram.org/bots/api#sendmessage"""

AGAIN = "↻ "
"""Stands before a piece whose earlier try may have arrived."""


def render(markdown: str) -> Sequence[Piece]:
    """The pieces of a reply, in order, each with room for `AGAIN`; none for blank text."""
    pieces = render_entities(markdown, LIMIT, reserve=utf16_len(AGAIN))
    return [Piece(piece.text, {"entities": [_wire(entity) for entity in piece.entities]}) for piece in pieces]


def marked(text: str, entities: Sequence[Any]) -> tuple[str, list[Any]]:
    """The text with `AGAIN` in front, and its entities moved along."""
    shift = utf16_len(AGAIN)
    return AGAIN + text, [{**entity, "offset": entity["offset"] + shift} for entity in entities]


def _wire(entity: Entity) -> JSONObject:
    wire: JSONObject = {"type": entity.type, "offset": entity.offset, "length": entity.length}
    if entity.url is not None:
        wire["url"] = entity.url
    if entity.language is not None:
        wire["language"] = entity.language
    return wire
