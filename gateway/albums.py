"""Albums: several messages that are one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from gateway.ledger import InboxRow

__all__ = ["albums", "as_one"]


def albums(rows: Sequence[InboxRow]) -> list[list[InboxRow]]:
    """The rows in the groups that are one message each: parts of an album that follow each other, else one row.

    In an album the platform's order counts, not that of arrival: message ids that are numbers grow.
    """
    groups = [list(group) for _, group in groupby(rows, key=_album)]
    return [sorted(group, key=_number) if len(group) > 1 else group for group in groups]


def as_one(group: Sequence[InboxRow]) -> InboxRow:
    """A group as one message: all files, and the text of whichever part has one."""
    first = group[0]
    if len(group) == 1:
        return first
    events = [row.event for row in group]
    event = replace(
        first.event,
        text="\n\n".join(e.text for e in events if e.text.strip()),
        quoted=next((e.quoted for e in events if e.quoted is not None), None),
        attachments=tuple(file for e in events for file in e.attachments),
    )
    return replace(first, event=event)


def _album(row: InboxRow) -> tuple[str, ...]:
    event = row.event
    if event.album is None:
        return ("", str(row.id))
    return event.album, event.instance, event.chat, event.sender.id


def _number(row: InboxRow) -> int:
    number = row.event.message_id or ""
    return int(number) if number.isascii() and number.isdigit() else 0
