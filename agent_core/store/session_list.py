"""`sessions.json`: an agent's sessions from the rows, for people and programs. It can be written anew at any time."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_core.store.jsonl import session_folder
from agent_core.store.replacement import Replacement
from hermes.store import Store

__all__ = ["write_session_index"]

_PAGE = 250


async def write_session_index(store: Store, home: Path, agents: Iterable[str]) -> None:
    """Write `sessions.json` of each agent, oldest session first. Raises `OSError`, `StoreError`.

    A page at a time: a list made in memory would cost as much of it as there are sessions, and keep it.
    """
    for agent_id in sorted(agents):
        fresh = await asyncio.to_thread(Replacement, session_folder(home, agent_id) / "sessions.json")
        try:
            await _write_pages(store, agent_id, fresh)
            await asyncio.to_thread(fresh.commit)
        finally:
            await asyncio.to_thread(fresh.discard)


async def _write_pages(store: Store, agent_id: str, fresh: Replacement) -> None:
    after, opening = "", '{"sessions": ['
    while page := await _page(store, agent_id, after):
        after = page[-1]["id"]
        await asyncio.to_thread(fresh.write, opening + _entries(page))
        opening = ","
    await asyncio.to_thread(fresh.write, "\n]}\n" if opening == "," else f"{opening}]}}\n")


async def _page(store: Store, agent_id: str, after: str) -> Sequence[sqlite3.Row]:
    return await store.read(
        "SELECT id, agent_id, key, platform, kind, chat, thread, title, started_at, last_at, closed_at,"
        " message_count AS messages FROM sessions WHERE id > ? AND agent_id = ? ORDER BY id LIMIT ?",
        (after, agent_id, _PAGE),
    )


def _entries(page: Sequence[sqlite3.Row]) -> str:
    """One line for each."""
    return ",".join(f"\n {json.dumps(dict(row), ensure_ascii=False)}" for row in page)
