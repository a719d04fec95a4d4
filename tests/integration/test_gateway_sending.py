"""Sends that are cut or fail in a way that nobody foresaw."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

from structlog.testing import capture_logs

from hermes.errors import AdapterError
from hermes.events import Sender
from hermes.testing import Answer, FakeAdapter, ScriptedModel
from tests.gatewayrig import rig


async def test_D5_a_send_under_way_is_waited_for_so_that_its_receipt_is_stored(tmp_path: Path) -> None:
    adapter = FakeAdapter()
    async with rig(tmp_path / "home", adapter=adapter) as g:
        async with adapter.on_sent:  # the platform is slow
            await g.send("hello")
            async with asyncio.timeout(10):
                while await g.rows("SELECT state FROM outbox") != [("sending",)]:
                    await asyncio.sleep(0.001)
            closing = asyncio.create_task(g.core.delivery.aclose())
            done, _ = await asyncio.wait((closing,), timeout=0.05)
            assert not done
        await closing
        assert g.texts == ["echo: hello"]
        assert await g.rows("SELECT state FROM outbox") == [("sent",)]


async def test_DC_08_another_bot_is_not_told_why_there_is_no_answer(tmp_path: Path) -> None:
    model = ScriptedModel([Answer(""), Answer(""), Answer("to the bot"), Answer(""), Answer("")])
    bot = Sender("77", "other", is_bot=True)
    async with rig(tmp_path / "home", model=model) as g:
        for _ in range(2):
            await g.send("and now?", sender=bot, admitted="listed")
            await g.quiet()
        assert g.texts == ["to the bot"]
        await g.send("and I?")
        (_, told) = await g.answered(2)
        assert "/retry" in told
        assert await g.rows("SELECT state FROM inbox") == [("failed",), ("answered",), ("failed",)]


async def test_an_adapter_that_breaks_stops_neither_its_chat_nor_the_answer(tmp_path: Path) -> None:
    broken = cast("AdapterError", RuntimeError("a bug"))
    with capture_logs() as said:
        await _two_messages(tmp_path, broken)
    assert "delivery.adapter_failed" in [line["event"] for line in said]


async def _two_messages(tmp_path: Path, broken: AdapterError) -> None:
    async with rig(tmp_path / "home", adapter=FakeAdapter(failures=[broken])) as g:
        await g.send("one")
        await g.send("two")
        assert await g.answered(2) == ["(again) echo: one", "echo: two"]
        await g.quiet()
