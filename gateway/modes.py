"""The busy mode that somebody chose for one conversation with `/queue` or `/steer`; it outlives a restart."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from typing import Self, get_args

from gateway.settings import Busy
from hermes.store import Job, Store

__all__ = ["MOST_MODES", "Modes"]

MOST_MODES = 4096
"""Conversations whose own mode is remembered; those set longest ago go first."""


class Modes:
    """The chosen modes, by session key: in memory, and on disk with the reply that tells of the choice."""

    def __init__(self) -> None:
        self._modes: OrderedDict[str, Busy] = OrderedDict()

    @classmethod
    async def load(cls, store: Store) -> Self:
        """Those on disk. Raises `StoreUnavailable`."""
        found = cls()
        known = get_args(Busy.__value__ if hasattr(Busy, "__value__") else Busy)
        for row in await store.read("SELECT session_key, mode FROM modes ORDER BY at"):
            if row["mode"] in known:  # a newer program may know more
                found._set(row["session_key"], row["mode"])
        return found

    def __len__(self) -> int:
        return len(self._modes)

    def get(self, key: str) -> Busy | None:
        """The mode chosen for the conversation; `None`: the settings' one."""
        return self._modes.get(key)

    def choose(self, key: str, mode: Busy, now: float) -> Job:
        """Choose: it holds at once, and a restart keeps it when the returned job is committed with the reply."""
        self._set(key, mode)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO modes (session_key, mode, at) VALUES (?, ?, ?)"
                " ON CONFLICT (session_key) DO UPDATE SET mode = excluded.mode, at = excluded.at",
                (key, mode, now),
            )
            connection.execute(
                "DELETE FROM modes WHERE session_key IN"
                " (SELECT session_key FROM modes ORDER BY at DESC LIMIT -1 OFFSET ?)",
                (MOST_MODES,),
            )

        return job

    def _set(self, key: str, mode: Busy) -> None:
        self._modes[key] = mode
        self._modes.move_to_end(key)
        if len(self._modes) > MOST_MODES:
            self._modes.popitem(last=False)
