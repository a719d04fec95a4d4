"""What becomes of a message that its sender changes after it was taken.

    it waits          the new words and files take the place of the old ones
    its turn runs     `ignore`: the new words join the turn, like something said to it, if a batch of tools is still to end
                      `rerun`: as if it had been answered
    it was answered   `ignore`: nothing happens
                      `rerun`: its turn runs again in the old one's place and the old answer is changed, unless something
                      has come after it in the conversation

`gateway.edits` chooses between the two. A change never begins anything by itself, and never runs a command again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from gateway.ledger import InboxRow
from hermes.events import Event, event_from_json, event_to_json
from hermes.store import Job, Store

__all__ = ["amend", "has_same_files", "is_version_of", "turn_to_rerun", "version_among"]


def is_version_of(event: Event, known: Event) -> bool:
    """Whether both are the same message, as it was at two times."""
    return (
        event.message_id is not None
        and (event.instance, event.chat, event.message_id) == (known.instance, known.chat, known.message_id)
        and event.sender.id == known.sender.id
    )


def has_same_files(event: Event, known: Event) -> bool:
    """Whether both versions have the same files, as far as the platform tells; it may name one anew each time."""
    first, second = (
        [(a.kind, a.name, a.mime, a.size) for a in version.attachments] for version in (event, known)
    )
    return first == second


def version_among(event: Event, rows: Iterable[InboxRow]) -> InboxRow | None:
    """The row of the message that `event` is a new version of."""
    return next((row for row in rows if is_version_of(event, row.event)), None)


def amend(row_id: int, event: Event) -> Job:
    """A job that stores the new version of an open message."""

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE inbox SET event = ? WHERE id = ? AND closed_at IS NULL", (event_to_json(event), row_id)
        )

    return job


async def turn_to_rerun(store: Store, row: InboxRow) -> str | None:
    """The turn that `row`, a new version of an answered message, asks for again.

    `None` when the message is not known, was answered together with others, or is not the last of its conversation.
    """
    found = await store.read(
        "SELECT event, turn_id FROM inbox WHERE session_key = ? AND id < ?"
        " AND NOT (state = 'silent' AND turn_id IS NULL)"  # a version that was passed over
        " ORDER BY id DESC LIMIT 1",
        (row.session_key, row.id),
    )
    if not found or not found[0]["turn_id"] or not found[0]["event"]:
        return None
    known = event_from_json(found[0]["event"])
    if not is_version_of(row.event, known):
        return None
    if known.text == row.event.text and has_same_files(row.event, known):  # something else has changed
        return None
    turn_id: str = found[0]["turn_id"]
    members = await store.read("SELECT COUNT(*) AS n FROM inbox WHERE turn_id = ?", (turn_id,))
    return turn_id if members[0]["n"] == 1 else None
