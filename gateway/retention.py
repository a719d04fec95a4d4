"""What the gateway keeps, and for how long: jobs that take old rows away in small bites, so that no commit is long."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from hermes.store import Job

__all__ = ["Rules", "prune"]

_BITE = 500


@dataclass(frozen=True, slots=True)
class Rules:
    """Seconds. keys: how long a message is recognised when it is delivered again."""

    inbox_raw: float
    outbox: float
    dead_letters: float
    keys: float = 30 * 86_400.0
    counters: float = 90 * 86_400.0


def prune(now: float, rules: Rules) -> Job:
    """A job that takes one bite.

    Its result is how many rows it changed, 0 when there is nothing left to do.
    """

    def job(connection: sqlite3.Connection) -> int:
        changed = 0
        for sql, before in _statements(now, rules):
            changed += connection.execute(sql, {"now": now, "before": before, "bite": _BITE}).rowcount
        day = time.strftime("%Y-%m-%d", time.gmtime(now - rules.counters))
        connection.execute("DELETE FROM verdicts WHERE day < ?", (day,))
        return changed

    return job


def _statements(now: float, rules: Rules) -> list[tuple[str, float]]:
    return [
        (
            """UPDATE inbox SET event = NULL, answer = NULL WHERE id IN (
                SELECT id FROM inbox WHERE event IS NOT NULL AND closed_at < :before AND state <> 'dead' LIMIT :bite)""",
            now - rules.inbox_raw,
        ),
        (
            """DELETE FROM inbox WHERE id IN (
                SELECT id FROM inbox WHERE closed_at IS NOT NULL AND received_at < :before AND state <> 'dead' LIMIT :bite)""",
            now - rules.keys,
        ),
        (
            "DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE state = 'dead' AND received_at < :before LIMIT :bite)",
            now - max(rules.dead_letters, rules.keys),
        ),
        (
            "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE state = 'sent' AND closed_at < :before LIMIT :bite)",
            now - rules.outbox,
        ),
        (
            """UPDATE outbox SET state = 'dead', error = 'nothing has run its platform since', closed_at = :now
                WHERE id IN (SELECT id FROM outbox WHERE state IN ('queued', 'sending') AND created_at < :before LIMIT :bite)""",
            now - max(rules.outbox, rules.keys),
        ),
        (
            """UPDATE inbox SET state = 'dead', answer = 'nothing has run its platform since', closed_at = :now
                WHERE id IN (SELECT id FROM inbox WHERE state = 'waiting' AND received_at < :before LIMIT :bite)""",
            now - rules.keys,
        ),
        (
            """DELETE FROM outbox WHERE id IN (
                SELECT id FROM outbox WHERE state NOT IN ('queued', 'sending', 'sent') AND closed_at < :before LIMIT :bite)""",
            now - rules.dead_letters,
        ),
        (
            "DELETE FROM unparsable WHERE id IN (SELECT id FROM unparsable WHERE at < :before LIMIT :bite)",
            now - rules.inbox_raw,
        ),
    ]
