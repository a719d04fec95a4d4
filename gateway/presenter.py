"""What people see while a turn runs: the sign that somebody is writing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gateway.signs import Signs
from hermes.clock import Clock
from hermes.events import Target

__all__ = ["showing_typing"]

_AFTER = 0.3
"""Seconds: who is answered sooner sees no sign, and the call is left to the pace for an answer."""
_EVERY = 4.5
"""Seconds: Telegram shows the sign for five (Bot API, sendChatAction)."""


@asynccontextmanager
async def showing_typing(signs: Signs, targets: Sequence[Target], clock: Clock) -> AsyncIterator[None]:
    """Keep the sign up for the time of the block. It never delays or fails what happens inside."""
    if not targets:
        yield
        return
    task = asyncio.create_task(_keep(signs, targets, clock), name="typing")
    try:
        yield
    finally:
        task.cancel()


async def _keep(signs: Signs, targets: Sequence[Target], clock: Clock) -> None:
    await clock.sleep(_AFTER)
    while True:
        for target in targets:
            await signs.typing(target)
        await clock.sleep(_EVERY)
