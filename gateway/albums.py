"""Albums: several messages that are one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from gateway.ledger import InboxRow

__all__ = ["as_one"]


def as_one(rows: Sequence[InboxRow]) -> list[InboxRow]:
    """The rows, with those of one album that follow each other as one: all files, the text of whichever has one.

    The platform's order counts, not that of arrival: message ids that are numbers grow.
    """
    return [_merged(list(group)) for _, group in groupby(rows, key=_album)]


def _album(row: InboxRow) -> tuple[str, ...]:
    event = row.event
    if event.album is None:
        return ("", str(row.id))
    return event.album, event.instance, event.chat, event.sender.id


def _merged(rows: list[InboxRow]) -> InboxRow:
    if len(rows) == 1:
        return rows[0]
    events = [row.event for row in sorted(rows, key=_number)]
    event = replace(
        events[0],
        text="\n\n".join(e.text for e in events if e.text.strip()),
        quoted=next((e.quoted for e in events if e.quoted is not None), None),
        attachments=tuple(file for e in events for file in e.attachments),
    )
    return replace(rows[0], event=event)


def _number(row: InboxRow) -> int:
    number = row.event.message_id or ""
    return int(number) if number.isascii() and number.isdigit() else 0
