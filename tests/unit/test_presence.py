"""A home that is taken away under the daemon."""

import asyncio
from pathlib import Path

from gateway.presence import Presence
from hermes.home import Home
from hermes.testing import FakeClock


async def test_a_home_that_was_removed_replaced_or_taken_is_noticed(tmp_path: Path) -> None:
    home, clock, taken = Home(tmp_path), FakeClock(), asyncio.Event()
    state = home.state
    state.write_bytes(b"x")
    home.lock.write_bytes(b"")
    presence = Presence(home, clock, taken.set)
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
        assert not taken.is_set()
        home.lock.rename(tmp_path / "old.lock")
        home.lock.write_bytes(b"")
        async with asyncio.timeout(20):
            while not taken.is_set():
                await clock.advance(2.0)
                await asyncio.sleep(0)
        await watching
    finally:
        watching.cancel()
