"""Who asked has gone, or the daemon ends, while something is committed: what was stored is gone on with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from gateway import letters, outbox
from gateway.handlers.letters import operations
from gateway.handlers.running import Running
from gateway.outbound import Outbound
from hermes.errors import Rejected
from hermes.events import Target
from hermes.testing import FakeAdapter
from tests.gatewayrig import message, rig


async def _turns(count: int) -> None:
    """Let the loop go round so often: where a caller leaves is what is tried."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("turns", range(1, 8))
async def test_a_message_whose_caller_hangs_up_while_it_is_stored_is_answered(
    tmp_path: Path, turns: int
) -> None:
    async with rig(tmp_path / "home") as g:
        taking = asyncio.create_task(g.core.intake("telegram").take([message("hello")]))
        await _turns(turns)
        taking.cancel()
        await asyncio.wait([taking])
        assert await g.answered(1) == ["echo: hello"]
        assert (await g.send("again")).kind == "accepted"
        assert await g.answered(2) == ["echo: hello", "echo: again"]


@pytest.mark.parametrize("turns", range(2, 8))
async def test_a_message_to_send_whose_caller_hangs_up_while_it_is_stored_is_sent(
    tmp_path: Path, turns: int
) -> None:
    async with rig(tmp_path / "home") as g:
        outbound: Outbound = g.core.outbound
        sending = asyncio.create_task(outbound.send("telegram:5", "hello", key="k"))
        while not await g.rows("SELECT 1 FROM outbox") and not sending.done():
            await _turns(turns)
        sending.cancel()
        await asyncio.wait([sending])
        assert await g.answered(1) == ["hello"]


@pytest.mark.parametrize("turns", range(2, 9))
async def test_a_dead_letter_whose_caller_hangs_up_while_it_is_stored_is_tried_again(
    tmp_path: Path, turns: int
) -> None:
    adapter = FakeAdapter(failures=[Rejected("the chat is closed")])
    async with rig(tmp_path / "home", adapter=adapter) as g:
        await g.send("hello")
        while not (found := await letters.listed(g.core.store, 1)):
            await _turns(turns)
        retry = operations(cast("Running", SimpleNamespace(core=g.core)))["letters.retry"]
        retrying = asyncio.ensure_future(retry({"letters": [found[0].id]}))
        while not await g.rows("SELECT 1 FROM outbox WHERE state = 'queued'") and not retrying.done():
            await _turns(turns)
        retrying.cancel()
        await asyncio.wait([retrying])
        assert await g.answered(1) == ["echo: hello"]


@pytest.mark.parametrize("turns", range(10))
async def test_D5_no_row_is_claimed_without_its_call_when_the_daemon_ends(tmp_path: Path, turns: int) -> None:
    adapter = FakeAdapter()
    async with rig(tmp_path / "home", adapter=adapter) as g:
        drafts = g.core.delivery.compose([Target("telegram", "5")], "hello", "k", "send")
        (rows,) = await g.core.store.write(outbox.enqueue_message(drafts, 1.0))
        g.core.delivery.wake(rows)
        await _turns(turns)
        await g.core.delivery.aclose()
        await g.core.store.write(
            outbox.enqueue([], 1.0)
        )  # what was asked of the store before is done by then
        ((state,),) = await g.rows("SELECT state FROM outbox")
        assert state == ("sent" if g.texts else "queued")
