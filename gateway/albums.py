"""Several messages that are one: albums, and the parts of a text that a client cut. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from gateway.busy import is_rest, seam
from gateway.ledger import InboxRow

__all__ = ["albums", "as_one"]


def albums(rows: Sequence[InboxRow]) -> list[list[InboxRow]]:
    """The rows in the groups that are one message each: parts of an album or of a cut text that follow each other.

    In an album the platform's order counts, not that of arrival: message ids that are numbers grow.
    """
    groups = [list(group) for _, group in groupby(rows, key=_album)]
    whole: list[list[InboxRow]] = []
    for group in groups:
        if whole and is_rest(whole[-1][-1], group[0]):
            whole[-1] += group
        else:
            whole.append(sorted(group, key=_number) if len(group) > 1 else group)
    return whole


def as_one(group: Sequence[InboxRow]) -> InboxRow:
    """A group as one message: all files, and the text of whichever parts have one."""
    first = group[0]
    if len(group) == 1:
        return first
    events = [row.event for row in group]
    event = replace(
        first.event,
        text=_text([e.text for e in events if e.text.strip()], cut=first.event.album is None),
        quoted=next((e.quoted for e in events if e.quoted is not None), None),
        attachments=tuple(file for e in events for file in e.attachments),
    )
    return replace(first, event=event)


def _text(texts: Sequence[str], *, cut: bool) -> str:
    text = "".join(t + (seam(t) if cut else "\n\n") for t in texts[:-1])
    return text + "".join(texts[-1:])


def _album(row: InboxRow) -> tuple[str, ...]:
    event = row.event
    if event.album is None:
        return ("", str(row.id))
    return event.album, event.instance, event.chat, event.sender.id


def _number(row: InboxRow) -> int:
    number = row.event.message_id or ""
    return int(number) if number.isascii() and number.isdigit() else 0
