"""`hermes __complete KIND`: what Tab may offer beside commands and options, one a line: the name, a tab, what it is.

Asked while somebody types: it starts nothing, writes nothing, waits for nobody, and is silent about all that fails.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any

from gateway.control_client import ask
from hermes.home import Home, default_home

__all__ = ["KINDS", "offer"]

_MOST = 200
_PATIENCE = 0.2
"""Seconds that the running daemon has for its answer."""

_SESSIONS = "SELECT id, title FROM sessions ORDER BY last_at DESC LIMIT 200"
_LETTERS = (
    "SELECT 'r' || id, text FROM outbox WHERE state IN ('dead', 'dropped') AND kind <> 'live'"
    " UNION ALL SELECT 'm' || id, '' FROM inbox WHERE state = 'dead' LIMIT 200"
)

Pairs = Iterable[tuple[object, object]]


def offer(kind: str) -> int:
    """Print what there is of this kind; 0 always."""
    try:
        for name, meaning in KINDS[kind](Home(default_home())):
            print(f"{_line(name)}\t{_line(meaning)[:60]}")
    except Exception:  # noqa: BLE001  somebody is typing; nothing that fails here is worth a word
        return 0
    return 0


def _line(value: object) -> str:
    return "".join(c if c.isprintable() else " " for c in str(value or ""))


def _answer(home: Home, op: str) -> dict[str, Any] | None:
    return ask(home, op, seconds=_PATIENCE, limit=_MOST)


def _rows(home: Home, sql: str) -> Pairs:
    """From a database that nobody has open, as it was when it was closed; nothing is written beside it."""
    address = f"{home.state.as_uri()}?immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return connection.execute(sql).fetchall()


def _sessions(home: Home) -> Pairs:
    answer = _answer(home, "sessions.list")
    if answer is None:
        return _rows(home, _SESSIONS)
    return [(s["session_id"], s["title"]) for s in answer["sessions"]]


def _letters(home: Home) -> Pairs:
    answer = _answer(home, "letters.list")
    found = _rows(home, _LETTERS) if answer is None else [(n["id"], n["text"]) for n in answer["letters"]]
    return [*found, ("all", "")]


def _platforms(home: Home) -> Pairs:
    from gateway.config.document import parse

    found = parse(home.config.read_bytes()).values.get("platforms") or {}
    return [(name, (settings or {}).get("type", name)) for name, settings in found.items()]


KINDS: Mapping[str, Callable[[Home], Pairs]] = {
    "sessions": _sessions,
    "letters": _letters,
    "platforms": _platforms,
}
