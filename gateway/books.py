"""The books: one database with everybody's tables, and what is done with all of it.

Opened, brought to this program's schema, looked at and mended, forgotten, pruned, counted. Beside `wiring` the only module
that knows the thinking side, of which it knows the tables alone.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from agent_core import forget, usage
from agent_core.forget import Forgotten
from agent_core.settings import LLM
from agent_core.store import files
from agent_core.store.behind import transcript_lines
from agent_core.store.calls import GROUPS, Group, prune_calls
from agent_core.store.copies import close_turns, copy_online, counts, look_at_copy, sessions_in
from agent_core.store.database import SqliteStore
from agent_core.store.doctor import mend_transcripts
from agent_core.store.index import ensure_current
from agent_core.store.jsonl import transcript_path
from agent_core.store.retention import Rules as StepRules
from agent_core.store.retention import prune as prune_steps
from agent_core.store.schema import PART as AGENT_PART
from agent_core.store.sessions import rename
from gateway import forgetting
from gateway.kept import copies
from gateway.media.keeping import Named, all_named_by_gateway, held_by_gateway
from gateway.schema import PART as GATEWAY_PART
from hermes.config import Snapshot
from hermes.errors import HermesError
from hermes.home import Home
from hermes.messages import JSONObject
from hermes.store import Job, Store

__all__ = [
    "close_turns",
    "copy_online",
    "counts",
    "examine",
    "files_named",
    "forget_files",
    "forget_sessions",
    "known_schemas",
    "look_at_copy",
    "look_at_store",
    "make_fit",
    "open_store",
    "pruners",
    "rename_session",
    "session_page",
    "usage_report",
]


async def open_store(home: Home) -> SqliteStore:
    """The store with everybody's tables."""
    store = await SqliteStore.open(home.state, [AGENT_PART, GATEWAY_PART])
    try:
        await ensure_current(store)
    except BaseException:
        await store.aclose()
        raise
    return store


def known_schemas() -> dict[str, int]:
    """The schema versions that this program brings a database to."""
    return {part.name: len(part.steps) for part in (AGENT_PART, GATEWAY_PART)}


async def make_fit(home: Home, *jobs: Job) -> list[Any]:
    """Bring the database of a folder that nobody uses to this program's schema, run the jobs, make transcripts agree.

    The jobs' results. Transcripts of conversations that the database does not have are removed.
    """
    store = await open_store(home)
    try:
        results = await store.write(*jobs) if jobs else []
        known = {
            transcript_path(home.root, a, s) for a, s in await asyncio.to_thread(sessions_in, home.state)
        }
        await asyncio.to_thread(_remove_unknown, home, known)
        await mend_transcripts(store, home.root)
    finally:
        await store.aclose()
    return results


def _remove_unknown(home: Home, known: set[Path]) -> None:
    for path in home.root.glob("agents/*/sessions/*.jsonl"):
        if path not in known:
            path.unlink()


async def examine(home: Home, *, fix: bool) -> list[JSONObject]:
    """What `hermes doctor` finds in the store, after mending where `fix`. The caller holds the home's lock.

    Each has `name`, `ok`, `detail`, `fixable`. Raises `StoreError`.
    """
    from agent_core.store import doctor

    if fix:
        store = await open_store(home)
        found = await doctor.check(store, home.root)
        await store.aclose()
        if any(f.name == "index" and not f.ok for f in found):
            await asyncio.to_thread(doctor.mend_index, home.state)
    store = await open_store(home)
    try:
        if fix:
            await doctor.mend_transcripts(store, home.root)
        return [
            *(asdict(finding) for finding in await doctor.check(store, home.root)),
            *await _look_at_files(store, home),
        ]
    finally:
        await store.aclose()


async def look_at_store(store: Store, home: Home) -> list[JSONObject]:
    """What `hermes doctor` finds in a store that is in use; nothing is mended."""
    from agent_core.store import doctor

    return [
        *(asdict(finding) for finding in await doctor.check(store, home.root)),
        *await _look_at_files(store, home),
    ]


async def _look_at_files(store: Store, home: Home) -> list[JSONObject]:
    """Whether the files are there which something open needs; others go by age and quota. Nothing where there are none."""
    named = await files_named(store, 0.0)
    lying = await asyncio.to_thread(lambda: {p.name for p in home.media.glob("??/*")})
    if not lying and not named.held and not named.recent:
        return []
    lost, gone = set(named.held) - lying, set(named.recent) - set(named.held) - lying
    if lost:
        detail = (
            f"{len(lost)} files that a waiting message, a running turn or an unsent reply needs are missing."
        )
    else:
        passed = f"; {len(gone)} of earlier messages are no longer kept" if gone else ""
        detail = f"All files that are needed are there ({len(lying)} are kept{passed})."
    return [{"name": "files", "ok": not lost, "detail": detail, "fixable": False}]


async def forget_sessions(
    store: Store, home: Home, sessions: Sequence[str], now: float
) -> tuple[list[Forgotten], list[Path]]:
    """Forget conversations everywhere; what was forgotten, and the copies that still hold it."""
    if not isinstance(store, SqliteStore):
        raise TypeError("only the store of `open_store` can forget")
    sent: set[str] = set()
    companion = functools.partial(forgetting.forget, files=sent.update)
    found, kept = await forget.forget_sessions(store, home, sessions, now, [companion])
    named = sorted(sent.union(*(gone.files for gone in found)))
    if named:
        still = await files.still_named(store, named) | await all_named_by_gateway(store)
        await asyncio.to_thread(_remove_media, home, set(named) - still)
    return found, [*kept, *await asyncio.to_thread(copies, home)]


def _remove_media(home: Home, digests: set[str]) -> None:
    for digest in digests:
        home.lying(digest).unlink(missing_ok=True)


async def files_named(store: Store, since: float) -> Named:
    """The files that are needed still, and those of messages since then."""
    held = await held_by_gateway(store) | await files.named_by_open_turns(store)
    return Named(held, await files.named_since(store, since))


async def forget_files(store: Store, digests: Sequence[str]) -> None:
    """What was found out about files that are gone."""
    await store.write(files.forget_captions(digests))


async def session_page(store: Store, session_id: str, after: int) -> list[tuple[int, str]]:
    """The next lines of a conversation's transcript after message `after`, each with its message's id."""
    return await transcript_lines(store, session_id, after)


def rename_session(session_id: str, title: str) -> Job:
    """A job that names a conversation; its result is the title it got. Raises `ValueError`, `LookupError`."""
    return rename(session_id, title)


def pruners(now: float, *, steps: float, usage: float) -> Sequence[Job]:
    """The thinking side's part of retention; seconds to keep."""
    return prune_steps(now, StepRules(steps=steps / 86_400)), prune_calls(now - usage)


async def usage_report(store: Store, snapshot: Snapshot, since: float, by: Sequence[str]) -> list[JSONObject]:
    """What model calls have used since `since`. Raises `HermesError` for a group that is not known."""
    unknown = [group for group in by if group not in GROUPS]
    if unknown or not by:
        raise HermesError(
            f"Usage can be shown by {', '.join(GROUPS)}; not by {', '.join(unknown) or 'nothing'}."
        )
    groups = [cast("Group", group) for group in by]
    return await usage.report(store, since, groups, usage.own_prices(snapshot.get("llm", LLM)))
