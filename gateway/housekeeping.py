"""What is done beside the messages, now and then: retention of rows, spilled tool results and files, a look at the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from gateway import books, retention
from gateway.core import Core
from gateway.disk import low, measure
from gateway.settings import Retention
from hermes.clock import Clock
from hermes.errors import StoreError
from hermes.home import Home

__all__ = ["Housekeeping", "remove_old_files"]

log = structlog.get_logger("gateway.housekeeping")

_EVERY = 3600.0
_FIRST = 60.0
_PAUSE = 0.2


class Housekeeping:
    """Runs an hour apart; small bites, so that nobody waits for it."""

    def __init__(self, core: Core, home: Home, clock: Clock) -> None:
        self._core = core
        self._home = home
        self._clock = clock

    async def run(self) -> None:
        """Run for ever."""
        await self._clock.sleep(_FIRST)
        while True:
            try:
                await self.tidy()
            except (StoreError, OSError) as error:
                log.warning("housekeeping.failed", error=str(error))
            await self._clock.sleep(_EVERY)

    async def tidy(self) -> None:
        """Once, to the end."""
        rules = self._core.settings.current().get("retention", Retention)
        gateway_rules = retention.Rules(rules.inbox_raw, rules.outbox, rules.dead_letters)
        now = self._clock.time()
        theirs = books.pruners(now, steps=rules.steps, usage=rules.usage)
        for job in (retention.prune(now, gateway_rules), *theirs):
            while (await self._core.store.write(job))[0]:
                await self._clock.sleep(_PAUSE)
        await asyncio.to_thread(remove_old_files, self._home.spills, now - rules.spills)
        await self._core.keeping.tidy()
        await self._look_at_disk()

    async def _look_at_disk(self) -> None:
        disk = await asyncio.to_thread(measure, self._home)
        if low(disk) is not None:
            log.warning("disk.low", free_bytes=disk["free"], total_bytes=disk["total"])


def remove_old_files(folder: Path, before: float) -> int:
    """Remove plain files of `folder` (and its folders) last changed before `before`; how many. Blocks."""
    removed = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            removed += 1
    return removed
