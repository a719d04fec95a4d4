"""Replies as Discord shows them: its own Markdown, and on the first piece what it answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.discord.answers import Answers
from adapters.markdown.discord import render_discord
from adapters.markdown.split import utf16_len
from hermes.adapter import Piece
from hermes.events import Target
from hermes.files import StoredFile
from hermes.messages import JSONObject

__all__ = ["AGAIN", "LIMIT", "render", "render_file"]

LIMIT = 2000
"""Of one message (https://discord.com/developers/docs/resources/message#create-message).

"Characters" there; counted in UTF-16 units, as Discord's clients do, a text is never longer than in any other unit.
"""

AGAIN = "↻ "
"""Stands before a piece whose earlier try may have arrived, and which Discord may have forgotten by now."""


def render(markdown: str, target: Target) -> Sequence[Piece]:
    """The pieces of a reply, in order, each with room for `AGAIN`; none for blank text."""
    texts = render_discord(markdown, LIMIT, reserve=utf16_len(AGAIN))
    answers = Answers.from_text(target.answers)
    return [Piece(text, _format(answers, first=n == 0)) for n, text in enumerate(texts)]


def render_file(file: StoredFile, caption: str, target: Target) -> Sequence[Piece]:
    """The pieces of a file, the first with it; what of the caption does not fit into a message follows as text."""
    first, *rest = render(caption, target) or [
        Piece("", _format(Answers.from_text(target.answers), first=True))
    ]
    return [Piece(first.text, first.format, file), *rest]


def _format(answers: Answers, *, first: bool) -> JSONObject:
    """What is sent beside the text. Every piece must know of a thread that may not be there yet."""
    if answers.parent:
        return {"message": answers.message, "parent": answers.parent, "name": answers.name}
    if first and answers.token:
        return {"application": answers.application, "token": answers.token}
    if first and answers.message:
        return {"message": answers.message}
    return {}
