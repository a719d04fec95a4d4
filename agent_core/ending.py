"""What closing a turn writes: its message rows, its cost, and the session's first title."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_core.steps import rebuild
from agent_core.store import sessions, transcript
from hermes.agent import TurnOutcome
from hermes.messages import Message, scrub_surrogates
from hermes.store import Job

__all__ = ["compose", "ending", "title_job", "title_of"]

_LONGEST = 60


def ending(outcome: TurnOutcome, charge: Job, at: float) -> transcript.Ending:
    """The outcome as the store keeps it."""
    return transcript.Ending(outcome.state, at, outcome.error, charge)


def compose(steps: Sequence[transcript.Step], shown: str, at: float) -> list[Message]:
    """The message rows of a turn that nobody ran to its end.

    What its steps hold, and what the user was told, which are not the model's words.
    """
    messages = rebuild((s.kind, s.content) for s in steps).messages
    return [*messages, Message("assistant", shown, at=at, aside=True)] if shown.strip() else messages


def title_of(text: str) -> str:
    """A title from the first words of a conversation.

    One line, at most 60 characters, cut between words where that is near.
    """
    line = " ".join(scrub_surrogates(text).split())
    if len(line) <= _LONGEST:
        return line
    cut = line[: _LONGEST - 1]
    at_word = cut.rfind(" ")
    return (cut[:at_word] if at_word > _LONGEST // 2 else cut).rstrip(" ,.;:-") + "\u2026"


def title_job(session_id: str, text: str) -> Job:
    """A job that names the session after `text` unless it has a name."""
    title = title_of(text)

    def job(connection: sqlite3.Connection) -> None:
        if not title:
            return
        row = connection.execute(
            "SELECT key FROM sessions WHERE id = ? AND title = '' AND closed_at IS NULL", (session_id,)
        ).fetchone()
        if row is None:
            return
        is_taken = connection.execute("SELECT 1 FROM sessions WHERE title = ?", (title,)).fetchone()
        # Many sessions begin alike (a webhook's): counting up through all of them would cost more with each.
        unique = f"{title} ({session_id[-6:]})" if is_taken else title
        sessions.retitle(row["key"], unique, "words")(connection)

    return job
