"""A home that is taken away under the daemon."""

import asyncio
from pathlib import Path

from gateway.presence import Presence
from hermes.testing import FakeClock


async def test_a_database_that_was_removed_or_replaced_is_noticed(tmp_path: Path) -> None:
    state, clock = tmp_path / "state.db", FakeClock()
    state.write_bytes(b"x")
    presence = Presence(state, clock)
    watching = asyncio.create_task(presence.watch())

    async def passes(until: bool) -> None:
        async with asyncio.timeout(20):
            while (presence.fault is not None) is not until:
                await clock.advance(2.0)
                await asyncio.sleep(0)

    try:
        async with asyncio.timeout(20):
            while not clock.sleeping:
                await asyncio.sleep(0)
        state.rename(tmp_path / "away")
        await passes(True)
        assert presence.fault is not None
        assert "removed or replaced" in presence.fault
        (tmp_path / "away").rename(state)
        await passes(False)
        state.rename(tmp_path / "away")
        state.write_bytes(b"another")
        await passes(True)
    finally:
        watching.cancel()
