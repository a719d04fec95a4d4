"""Replies as Slack shows them: mrkdwn, in pieces that `chat.postMessage` and `chat.update` both take. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adapters.markdown.mrkdwn import Pings, render_mrkdwn
from adapters.markdown.split import utf16_len
from hermes.adapter import Piece
from hermes.files import StoredFile
from hermes.messages import JSONObject

__all__ = ["AGAIN", "LIMIT", "render", "render_choices", "render_file"]

LIMIT = 4000
"""Units of one message. `chat.update` refuses more, `chat.postMessage` asks for less and cuts at 40,000:
https://docs.slack.dev/reference/methods/chat.update, /chat.postMessage#truncating ."""

AGAIN = "↻ "
"""Stands before a piece whose earlier try may have arrived, when that could not be found out."""


def render(markdown: str, answers: str | None, pings: Pings) -> Sequence[Piece]:
    """The pieces of a reply, in order, each with room for `AGAIN`; none for blank text.

    `Piece.format`: `text`, the mrkdwn; `respond`, the address that a command can be answered at.
    """
    more: JSONObject = {} if answers is None else {"respond": answers}
    return [
        Piece(piece.text, {"text": piece.source, **more})
        for piece in render_mrkdwn(markdown, LIMIT, reserve=utf16_len(AGAIN), pings=pings)
    ]


def render_file(file: StoredFile, caption: str, answers: str | None, pings: Pings) -> Sequence[Piece]:
    """A file with its caption; what of that is too long for one message follows as text."""
    first, *more = render(caption, answers, pings) or [Piece("", {})]
    return [Piece(first.text, {"text": first.format.get("text", "")}, file), *more]


def render_choices(piece: Piece, choices: Sequence[str]) -> Piece:
    """The piece with buttons under it: their labels stand in its `format`, as `choices`."""
    return replace(piece, format={**piece.format, "choices": list(choices)})
