"""Work that goes on to its end, though who asked for it has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["uncut"]

_T = TypeVar("_T")
_under_way: set[asyncio.Task[Any]] = set()
"""The loop itself keeps only weak references."""


async def uncut(work: Coroutine[Any, Any, _T], *, name: str) -> _T:
    """Await `work` to its end. A caller that is cancelled stops waiting; the work does not stop.

    For a commit and what has to be told of it: a caller that hangs up in between would leave a row that nobody takes up
    before the next start.
    """
    task = asyncio.create_task(work, name=name)
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return await asyncio.shield(task)
