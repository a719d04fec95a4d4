"""Which files of the home's folder are kept, and which go when there are too many or they are too old."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import structlog

from gateway.media.folder import Lying, MediaFolder
from gateway.media.rules import MediaRules
from hermes.clock import Clock
from hermes.errors import StoreError
from hermes.store import Store

__all__ = ["Keeping", "Named", "all_named_by_gateway", "digests_in", "doomed", "held_by_gateway"]

log = structlog.get_logger("gateway.media")

_FRESH = 600.0
"""Seconds in which whoever put a file there says so in the store."""
_NOBODYS = 86_400.0
"""Seconds that a file stays which nothing names: its message may have been put aside while it was on its way."""
_DIGEST = re.compile(r'"digest":\s*"([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class Named:
    """Digests. held: something open needs them (a message, a turn, a reply). recent: messages of the last days have them."""

    held: Collection[str]
    recent: Collection[str]


def doomed(files: Sequence[Lying], named: Named, rules: MediaRules, now: float) -> list[Lying]:
    """The files that have to go, in the order in which they do. Pure.

    What is held stays, and so does what was just put there. What nothing names goes after a day, what no message of
    the last days names after `rules.keep`. Over the quota the oldest go, those that recent messages name last.
    """
    free = [f for f in files if f.digest not in named.held and now - f.at > _FRESH]
    old = [f for f in free if f.digest not in named.recent and now - f.at > min(rules.keep, _NOBODYS)]
    left = sum(f.size for f in files) - sum(f.size for f in old)
    gone = {f.digest for f in old}
    out = list(old)
    for file in sorted(free, key=lambda f: (f.digest in named.recent, f.at)):
        if left <= rules.quota:
            break
        if file.digest not in gone:
            out.append(file)
            left -= file.size
    return out


async def held_by_gateway(store: Store) -> set[str]:
    """The digests that messages have which wait or are answered, replies that were not sent, and dead letters of both."""
    rows = await store.read(
        "SELECT event AS said FROM inbox WHERE state IN ('waiting', 'running') AND event LIKE '%\"digest\"%'"
        " UNION ALL SELECT event FROM inbox WHERE state = 'dead' AND event LIKE '%\"digest\"%'"
        " UNION ALL SELECT file FROM outbox"
        " WHERE file IS NOT NULL AND state IN ('queued', 'sending', 'dead', 'dropped')"
    )
    return {digest for row in rows for digest in digests_in(row["said"])}


async def all_named_by_gateway(store: Store) -> set[str]:
    """The digests that any message or reply has of which the words are kept."""
    rows = await store.read(
        "SELECT event AS said FROM inbox WHERE event LIKE '%\"digest\"%'"
        " UNION ALL SELECT file FROM outbox WHERE file IS NOT NULL"
    )
    return {digest for row in rows for digest in digests_in(row["said"])}


def digests_in(text: str) -> list[str]:
    """The digests of files in a stored JSON text."""
    return _DIGEST.findall(text) if '"digest"' in text else []


class Keeping:
    """Looks through the folder. named: see `Named`, for messages since then. forget: what is known of files that are gone."""

    def __init__(
        self,
        folder: MediaFolder,
        clock: Clock,
        rules: Callable[[], MediaRules],
        named: Callable[[float], Awaitable[Named]],
        forget: Callable[[Sequence[str]], Awaitable[None]],
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._rules = rules
        self._named = named
        self._forget = forget
        self._tidying = asyncio.Lock()

    async def has_room(self) -> bool:
        """Whether one more file may come. Well over the quota the folder is looked through first.

        What cannot go, since it is needed or was just put there, may take twice the quota.
        """
        quota = self._rules().quota
        if self._folder.used <= quota * 1.25:
            return True
        async with self._tidying:
            if self._folder.used > quota * 1.25:
                await self._tried()
        return self._folder.used <= quota * 2

    async def _tried(self) -> None:
        try:
            await self.tidy()
        except (StoreError, OSError) as error:  # a store that is away must not cost a message its files
            log.warning("media.not_tidied", error=str(error))

    async def tidy(self) -> int:
        """Once, to the end; how many files were removed. Raises `StoreError`, `OSError`."""
        rules, now = self._rules(), self._clock.time()
        await asyncio.to_thread(self._folder.sweep, now - 3600.0)
        files = await asyncio.to_thread(self._folder.lying)
        going = doomed(files, await self._named(now - rules.keep), rules, now) if files else []
        gone = await asyncio.to_thread(self._folder.remove, going)
        self._folder.used = sum(f.size for f in files) - sum(f.size for f in going)
        if gone:
            log.info("media.removed", files=len(gone), kept=len(files) - len(gone))
            await self._forget(gone)
        return len(gone)
