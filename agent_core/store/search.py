"""Full-text search over the message rows of all sessions.

The newest matches are ranked, 2,000 for one word and fewer for more, since each word costs anew: ranking every match
of two common words takes four times the time, and people look for what was said lately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.store.fold import MatchPlan, match_query
from hermes.errors import StoreCorrupt
from hermes.store import Store

__all__ = ["Hit", "search", "snippet"]

_RANKED = 2_000
_RANKED_LEAST = 500
_SCANNED = 20_000
"""Newest rows that are looked through when nothing in the query is a word."""
_SHOWN = 65_536
"""Characters of a text that are looked through for the place to show."""
_BEFORE, _AFTER = 60, 140

_COLUMNS = "m.id, m.session_id, s.title, s.key, m.role, m.at, substr(m.body, 1, ?) AS body"


@dataclass(frozen=True, slots=True)
class Hit:
    """One message that was found. `snippet`: plain text around the first word found. `at`: epoch seconds."""

    message_id: int
    session_id: str
    session_key: str
    title: str
    role: str
    at: float
    snippet: str


@dataclass(frozen=True, slots=True)
class _Filter:
    sql: str
    parameters: tuple[Any, ...]


async def search(
    store: Store,
    query: str,
    *,
    limit: int = 20,
    session_keys: Sequence[str] | None = None,
    exclude_session: str | None = None,
) -> list[Hit]:
    """The best matches, best first; an empty list for a query with nothing in it. session_keys: `None`: everybody's.

    Any text may be the query. Raises `StoreCorrupt` when the index is damaged, `StoreUnavailable`.
    """
    plan = match_query(query)
    if plan.match is None and not plan.contains:
        return []
    await _refuse_broken(store)
    chosen = _filter(session_keys, exclude_session)
    build = _by_symbols if plan.match is None else _by_words
    rows = await store.read(*build(plan, chosen, limit))
    return [
        Hit(
            r["id"], r["session_id"], r["key"], r["title"], r["role"], r["at"], snippet(r["body"], plan.words)
        )
        for r in rows
    ]


async def _refuse_broken(store: Store) -> None:
    [row] = await store.read("SELECT broken FROM search_state")
    if row["broken"]:
        raise StoreCorrupt("The search index is damaged; stop the daemon and run `hermes doctor --fix`.")


def _filter(session_keys: Sequence[str] | None, exclude_session: str | None) -> _Filter:
    sql, parameters = "", list(session_keys or ())
    if session_keys is not None:
        sql += f" AND s.key IN ({', '.join('?' * len(session_keys))})"
    if exclude_session is not None:
        sql += " AND m.session_id <> ?"
        parameters.append(exclude_session)
    return _Filter(sql, tuple(parameters))


def _contains(plan: MatchPlan) -> str:
    # instr, not LIKE: nothing in it is a wildcard.
    return " AND instr(m.body, ?) > 0" * len(plan.contains)


def _by_words(plan: MatchPlan, chosen: _Filter, limit: int) -> tuple[str, tuple[Any, ...]]:
    # CROSS JOIN keeps the index outermost; without a filter the rows are not looked at before the ranking.
    joined = " CROSS JOIN messages m ON m.id = f.rowid CROSS JOIN sessions s ON s.id = m.session_id"
    inner = (
        "SELECT f.rowid AS id, bm25(messages_fts) AS score FROM messages_fts f"  # noqa: S608  our own fragments
        f"{joined if chosen.sql else ''} WHERE messages_fts MATCH ?{chosen.sql}"
        f" ORDER BY f.rowid DESC LIMIT {_ranked(plan)}"
    )
    # Texts are read for the best only; `contains` needs them before.
    held = f" JOIN messages m ON m.id = h.id WHERE TRUE{_contains(plan)}" if plan.contains else " WHERE TRUE"
    best = (
        f"SELECT h.id, h.score FROM hits h{held} AND h.id NOT IN (SELECT id FROM messages WHERE hidden = 1)"  # noqa: S608  our own fragments
        " ORDER BY h.score, h.id DESC LIMIT ?"
    )
    outer = (
        f"WITH hits AS MATERIALIZED ({inner}), best AS MATERIALIZED ({best})"  # noqa: S608  our own fragments
        f" SELECT {_COLUMNS} FROM best b CROSS JOIN messages m ON m.id = b.id"
        " CROSS JOIN sessions s ON s.id = m.session_id ORDER BY b.score, b.id DESC"
    )
    return outer, (plan.match, *chosen.parameters, *plan.contains, limit, _SHOWN)


def _ranked(plan: MatchPlan) -> int:
    """How many matches are ranked; where a text must contain more than words, they are what is looked through."""
    return _RANKED if plan.contains else max(_RANKED_LEAST, _RANKED // max(1, len(plan.words)))


def _by_symbols(plan: MatchPlan, chosen: _Filter, limit: int) -> tuple[str, tuple[Any, ...]]:
    statement = (
        f"SELECT {_COLUMNS} FROM messages m"  # noqa: S608  our own fragments
        " CROSS JOIN sessions s ON s.id = m.session_id"
        f" WHERE m.id > (SELECT coalesce(max(id), 0) - {_SCANNED} FROM messages) AND m.hidden = 0"
        f"{_contains(plan)}{chosen.sql} ORDER BY m.id DESC LIMIT ?"
    )
    return statement, (_SHOWN, *plan.contains, *chosen.parameters, limit)


def snippet(text: str, words: Sequence[str]) -> str:
    """About 200 characters of `text` around the first of `words` that stands in it."""
    low = text.lower()
    places = [place for word in words if (place := low.find(word.lower())) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    end = start + _BEFORE + _AFTER
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
