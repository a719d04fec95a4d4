"""What is written behind the rows: transcripts and `sessions.json`, within a second, in nobody's way.

Rows are the truth. A transcript is completed from the rows when its session is noted and once at start, so
that neither a kill nor a full disk leaves a gap. Lines: `{"id", "turn", ...message}`, and
`{"type": "undone", "turn"}` for what was taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from agent_core.store.jsonl import (
    Tail,
    append_lines,
    mend_tail,
    read_lines,
    transcript_path,
)
from agent_core.store.rows import dump, message_of
from agent_core.store.session_list import write_session_index
from hermes.clock import Clock, SystemClock
from hermes.errors import StoreError
from hermes.store import Store

__all__ = ["OWNER_AND_UNDONE", "Behind", "transcript_lines"]

_log = structlog.get_logger(__name__)

_PAUSE = 0.6
"""Seconds between rounds: what is noted meanwhile is written together."""
_INDEX_EVERY = 1.0
_INDEX_SHARE = 50.0
_INDEX_SELDOMEST = 60.0
_RETRY = 5.0
_PAGE = 500
OWNER_AND_UNDONE = """
    SELECT s.agent_id, t.id AS turn_id FROM sessions s
    LEFT JOIN turns t ON t.session_id = s.id AND t.undone = 1
    WHERE s.id = ? ORDER BY t.begun_at"""
"""Whose the session is, with a row for each turn that was taken back (`NULL` where none was); no row: there is none."""


@dataclass(slots=True)
class _Written:
    """What a transcript holds already."""

    path: Path
    last_id: int
    undone: set[str] = field(default_factory=set)


class Behind:
    """The writer behind the rows: `start` it, `note` changed sessions, `aclose` it before the store."""

    def __init__(self, store: Store, home: Path, clock: Clock | None = None) -> None:
        self._store = store
        self._home = home
        self._clock = clock or SystemClock()
        self._index_pause = _INDEX_EVERY
        self._noted: set[str] = set()
        self._wake = asyncio.Event()
        self._written: dict[str, _Written] = {}
        self._stale_agents: set[str] = set()
        self._index_written = float("-inf")
        self._task: asyncio.Task[None] | None = None
        self._failing = False
        self._idle = asyncio.Event()
        self._closing = asyncio.Event()

    def start(self) -> None:
        """Begin, completing what an earlier process left behind."""
        self._task = asyncio.create_task(self._serve(), name="transcripts")

    def note(self, session_id: str) -> None:
        """The session's rows changed. Never blocks, never raises."""
        self._noted.add(session_id)
        self._idle.clear()
        self._wake.set()

    async def wait_written(self) -> None:
        """Return when all that was noted is in the files (waits on through a full disk)."""
        await self._idle.wait()

    async def aclose(self) -> None:
        """Write what is left, once; what cannot be written now is completed at the next start."""
        if self._task is None:
            return
        # Asked, not cancelled: a thread that is writing lines would go on, and they would be written twice.
        self._closing.set()
        self._wake.set()
        await self._task
        self._task = None
        self._index_written = float("-inf")
        await self._round()

    async def _serve(self) -> None:
        await self._note_unwritten()
        while not self._closing.is_set():
            await self._needed()
            self._wake.clear()
            await self._round()
            if self._noted:
                self._wake.set()
            elif not self._stale_agents:
                self._idle.set()
            await self._pause(_RETRY if self._failing else _PAUSE, self._closing)

    async def _needed(self) -> None:
        """Wait until something is noted, or the lists are due."""
        if self._stale_agents:
            due = self._index_written + self._index_pause - self._clock.monotonic()
            await self._pause(due, self._wake)
        else:
            await self._wake.wait()

    async def _pause(self, seconds: float, unless: asyncio.Event) -> None:
        """Sleep, or less when `unless` is set."""
        waits = {
            asyncio.ensure_future(self._clock.sleep(seconds)),
            asyncio.ensure_future(unless.wait()),
        }
        _, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in pending:
            wait.cancel()

    async def _note_unwritten(self) -> None:
        try:
            rows = await self._store.read(
                "SELECT s.id, s.agent_id, (SELECT max(id) FROM messages m WHERE m.session_id = s.id) AS last"
                " FROM sessions s"
            )
            tails = await asyncio.to_thread(self._tails, [(r["id"], r["agent_id"]) for r in rows])
        except (StoreError, OSError) as error:
            _log.warning("transcripts.start_failed", reason=str(error))
            rows, tails = [], {}
        for row in rows:
            if (row["last"] or 0) > tails[row["id"]].last_id or tails[row["id"]].cut:
                self._noted.add(row["id"])
        self._wake.set()

    def _tails(self, sessions: Sequence[tuple[str, str]]) -> dict[str, Tail]:
        return {s: mend_tail(transcript_path(self._home, agent, s)) for s, agent in sessions}

    async def _round(self) -> None:
        """Write what is noted, and the lists when they are due."""
        noted, self._noted = self._noted, set()
        failures = [f for session_id in sorted(noted) if (f := await self._attempt(session_id)) is not None]
        is_due = self._clock.monotonic() - self._index_written >= self._index_pause
        if self._stale_agents and is_due and not failures:
            failure = await self._attempt(None)
            failures = [failure] if failure is not None else []
        if failures and not self._failing:
            _log.warning("transcripts.not_written", reason=str(failures[0]), sessions=len(failures))
        elif self._failing and not failures:
            _log.info("transcripts.written_again")
        self._failing = bool(failures)

    async def _attempt(self, session_id: str | None) -> Exception | None:
        """One write (`None`: the lists); what the disk or the store refuses stays noted."""
        try:
            await (self._write_index() if session_id is None else self._write_session(session_id))
        except (OSError, StoreError) as error:
            if session_id is not None:
                self._written.pop(session_id, None)
                self._noted.add(session_id)
            return error
        return None

    async def _write_session(self, session_id: str) -> None:
        # Before the messages: an undone turn's lines then stand in the file when its own is written.
        found = await self._store.read(OWNER_AND_UNDONE, (session_id,))
        if not found:
            self._written.pop(session_id, None)  # deleted meanwhile
            return
        agent_id = found[0]["agent_id"]
        written = self._written.get(session_id)
        if written is None:
            path = transcript_path(self._home, agent_id, session_id)
            written = await asyncio.to_thread(_look, path)
        await self._append_rows(session_id, written)
        await self._append_undone(written, [row["turn_id"] for row in found if row["turn_id"] is not None])
        self._remember(session_id, written)
        self._stale_agents.add(agent_id)

    def _remember(self, session_id: str, written: _Written) -> None:
        self._written.pop(session_id, None)
        self._written[session_id] = written
        while len(self._written) > 256:
            self._written.pop(next(iter(self._written)))

    async def _append_rows(self, session_id: str, written: _Written) -> None:
        while True:
            page = await transcript_lines(self._store, session_id, written.last_id)
            if not page:
                return
            await asyncio.to_thread(append_lines, written.path, [line for _, line in page])
            written.last_id = page[-1][0]
            if len(page) < _PAGE:  # what came since is noted anew
                return

    async def _append_undone(self, written: _Written, undone: Sequence[str]) -> None:
        fresh = [turn for turn in undone if turn not in written.undone]
        if fresh:
            lines = [dump({"type": "undone", "turn": turn}) for turn in fresh]
            await asyncio.to_thread(append_lines, written.path, lines)
            written.undone.update(fresh)

    async def _write_index(self) -> None:
        began = self._index_written = self._clock.monotonic()
        agents = set(self._stale_agents)
        await write_session_index(self._store, self._home, agents)
        self._stale_agents -= agents
        # A list of thousands costs its time: it is written the more seldom, a fiftieth of the time at most. One
        # that a slow disk held up once is not put off for an hour.
        pause = _INDEX_SHARE * (self._clock.monotonic() - began)
        self._index_pause = min(max(_INDEX_EVERY, pause), _INDEX_SELDOMEST)


def _look(path: Path) -> _Written:
    tail = mend_tail(path)
    undone = (
        {str(v["turn"]) for v in read_lines(path) if v and v.get("type") == "undone"}
        if path.exists()
        else set()
    )
    return _Written(path, tail.last_id, undone)


async def transcript_lines(store: Store, session_id: str, after: int) -> list[tuple[int, str]]:
    """The next lines of a transcript after message `after`, each with its message id; a bounded page."""
    rows = await store.read(
        "SELECT id, turn_id, role, body, content, at FROM messages"
        " WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?",
        (session_id, after, _PAGE),
    )
    return [(r["id"], dump({"id": r["id"], "turn": r["turn_id"], **message_of(r).to_json()})) for r in rows]
