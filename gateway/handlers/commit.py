"""Committing what was decided in memory about people and who is admitted."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.core import Core
from gateway.people import Who
from hermes.store import Job

__all__ = ["commit"]


async def commit(core: Core, jobs: Sequence[Job], *paired: Who) -> None:
    """Commit; what could not be is not true in memory either, so that it can be tried again.

    paired: the accounts whose pairings the jobs change. Raises what the store raises.
    """
    try:
        await core.store.write(*jobs)
    except BaseException:
        for who in paired:
            await core.pairings.reload(core.store, *who)
        await core.linking.people.reload(core.store)
        raise
