"""Replies as Telegram shows them: plain text and entities, nothing escaped. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adapters.markdown.entities import Entity, FormattedPiece, render_entities
from adapters.markdown.split import utf16_len
from hermes.adapter import Piece
from hermes.events import Target
from hermes.files import StoredFile
from hermes.messages import JSONObject

__all__ = ["AGAIN", "LIMIT", "answering", "marked", "render", "render_file"]

LIMIT = 4096
"""UTF-16 units of one message. https://core.telegram.org/bots/api#sendmessage"""

CAPTION = 1024
"""UTF-16 units of a caption. https://core.telegram.org/bots/api#sendphoto"""

AGAIN = "↻ "
"""Stands before a piece whose earlier try may have arrived."""


def render(markdown: str) -> Sequence[Piece]:
    """The pieces of a reply, in order, each with room for `AGAIN`; none for blank text."""
    return [_worded(piece) for piece in render_entities(markdown, LIMIT, reserve=utf16_len(AGAIN))]


def answering(pieces: Sequence[Piece], target: Target) -> Sequence[Piece]:
    """The pieces, of which the first quotes what it answers, where that is wanted (`Reading.target`)."""
    if target.answers is None or not pieces:
        return pieces
    first, *more = pieces
    return [replace(first, format={**first.format, "answers": int(target.answers)}), *more]


def render_file(file: StoredFile, caption: str) -> Sequence[Piece]:
    """The file with its caption; one that is too long follows it whole, as messages."""
    said = render_entities(caption, CAPTION, reserve=utf16_len(AGAIN))
    if len(said) > 1:
        return [Piece("", {"entities": []}, file), *render(caption)]
    first = _worded(said[0]) if said else Piece("", {"entities": []})
    return [replace(first, file=file)]


def _worded(piece: FormattedPiece) -> Piece:
    return Piece(piece.text, {"entities": [_wire(entity) for entity in piece.entities]})


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
