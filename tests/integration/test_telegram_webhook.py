"""Updates by webhook: the Bot API peer posts them to a server that the adapter has its address on."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from aiohttp import web

from adapters.telegram.adapter import TelegramByWebhook
from hermes.adapter import HttpAdapter
from hermes.clock import Clock
from hermes.testing import FakeClock
from tests.integration.telegram_desk import Desk, make_adapter, pass_time, running
from tests.peers.serving import LoopbackServer
from tests.peers.telegram import TelegramPeer, refusal
from tests.ports import free_port

SECRET = "a-Secret_1"
HEADER = "X-Telegram-Bot-Api-Secret-Token"


@asynccontextmanager
async def served(
    peer: TelegramPeer, desk: Desk, clock: Clock | None = None, **keys: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, asyncio.Event]]:
    """An adapter behind a server, with a client that is not Telegram; the event: let it run."""
    app, may_run, port = web.Application(), asyncio.Event(), free_port()
    url = f"http://127.0.0.1:{port}/telegram/updates"
    adapter = make_adapter(
        peer, clock, webhook={"url": url, "secret_token": SECRET, "max_connections": 7}, **keys
    )
    assert isinstance(adapter, TelegramByWebhook)
    assert isinstance(adapter, HttpAdapter)
    adapter.mount(app.router, desk)
    server = LoopbackServer(app, port)
    await server.start()

    async def run() -> None:
        await may_run.wait()
        await adapter.run(desk)

    task = asyncio.create_task(run(), name="run telegram")
    try:
        async with httpx.AsyncClient(base_url=server.base, trust_env=False, timeout=20.0) as client:
            yield client, may_run
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await server.stop()
        await adapter.aclose()


async def test_updates_are_posted_and_taken_once_they_are_stored(telegram_peer: TelegramPeer) -> None:
    desk = Desk(gate=asyncio.Event())
    telegram_peer.push_text("while away", 5)
    telegram_peer.push_text("again", 5)
    async with served(telegram_peer, desk) as (_, may_run):
        may_run.set()
        await desk.taking.wait()
        assert len(telegram_peer.updates.waiting) == 2
        assert desk.gate is not None
        desk.gate.set()
        await desk.until(lambda: len(desk.events) == 2)
        telegram_peer.push_again(telegram_peer.updates.pushed[-1]["update_id"], new_id=True)
        telegram_peer.push_text("now", 5)
        await desk.until(lambda: len(desk.events) == 3)
        telegram_peer.migrate(-500, -100777)
        telegram_peer.push_text("elsewhere", -100777)
        await desk.until(lambda: len(desk.events) == 4)
        await telegram_peer.wait_for(lambda: not telegram_peer.updates.waiting)
    assert [event.text for event in desk.events] == ["while away", "again", "now", "elsewhere"]
    assert [event.session for event in desk.events[2:]] == [None, "-500"]
    assert desk.watermarks == {"moves:424242": '{"-100777":"-500"}'}
    assert desk.duplicates == 1
    (call,) = telegram_peer.calls("setWebhook")
    assert (call.params["secret_token"], call.params["max_connections"]) == (SECRET, 7)
    assert call.params["allowed_updates"][0] == "message"
    assert desk.states == [("connecting", None), ("connected", None)]
    assert telegram_peer.calls("getUpdates") == telegram_peer.calls("deleteWebhook") == []
    assert telegram_peer.violations == []


async def test_who_goes_back_to_polling_takes_the_address_away(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    async with served(telegram_peer, desk) as (_, may_run):
        may_run.set()
        telegram_peer.push_text("by request", 5)
        await desk.until(lambda: len(desk.events) == 1)
    telegram_peer.push_text("by poll", 5)
    async with running(telegram_peer, desk):
        await desk.until(lambda: len(desk.events) == 2)
    assert [event.text for event in desk.events] == ["by request", "by poll"]
    assert telegram_peer.world.webhook_url == ""


async def test_what_is_not_telegrams_is_refused(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    update = json.dumps({"update_id": 1, "message": {}})
    async with served(telegram_peer, desk) as (client, may_run):

        async def post(body: str | bytes, *secrets: str) -> int:
            headers = [(HEADER, secret) for secret in secrets]
            return (await client.post("/telegram/updates", content=body, headers=headers)).status_code

        assert await post(update, SECRET) == 503  # who we are is not known yet
        may_run.set()
        async with asyncio.timeout(10):
            while ("connected", None) not in desk.states:
                await asyncio.sleep(0)
        assert [await post(update), await post(update, "wrong"), await post(update, SECRET + "x")] == [
            401
        ] * 3
        assert [await post("{", SECRET), await post(b"\xff", SECRET), await post("[]", SECRET)] == [400] * 3
        assert (desk.events, desk.unparsable) == ([], [])
        assert await post(update, SECRET) == 200
    assert len(desk.unparsable) == 1


async def test_FT_14_while_nothing_can_be_stored_it_is_to_come_again(telegram_peer: TelegramPeer) -> None:
    desk = Desk(is_full=True)
    telegram_peer.push_text("kept", 5)
    async with served(telegram_peer, desk) as (_, may_run):
        may_run.set()
        await desk.until(lambda: desk.refusals >= 2)
        desk.is_full = False
        await desk.until(lambda: bool(desk.events))
        await telegram_peer.wait_for(lambda: not telegram_peer.updates.waiting)
    assert [event.text for event in desk.events] == ["kept"]
    assert "503" in (telegram_peer.world.hook.failure or (0, ""))[1]


async def test_another_programs_address_is_replaced_and_a_failing_one_is_told(
    telegram_peer: TelegramPeer,
) -> None:
    clock, desk = FakeClock(), Desk()
    telegram_peer.faults.add("setWebhook", refusal(400, "Bad Request: bad webhook: Failed to resolve host"))
    async with served(telegram_peer, desk, clock) as (_, may_run):
        may_run.set()
        await pass_time(clock, 10, lambda: ("connected", None) in desk.states)
        (said,) = [reason for _, reason in desk.states if reason]
        assert "Failed to resolve host" in said
        ours = telegram_peer.world.webhook_url
        telegram_peer.world.webhook_url = "https://other.example/secret"
        await pass_time(clock, 90, lambda: telegram_peer.world.webhook_url == ours)
        assert ("connecting", "conflict") in desk.states
        await pass_time(clock, 5, lambda: desk.states[-1] == ("connected", None))

        desk.is_full = True
        telegram_peer.push_text("kept", 5)
        await desk.until(lambda: desk.refusals >= 1)
        await pass_time(clock, 90, lambda: "503" in str(desk.states[-1][1]))
        assert desk.states[-1][0] == "connecting"
        desk.is_full = False
        await desk.until(lambda: bool(desk.events))
        await telegram_peer.wait_for(lambda: not telegram_peer.updates.waiting)
        await pass_time(clock, 120, lambda: desk.states[-1] == ("connected", None))
    assert desk.states[-1] == ("connected", None)
    assert SECRET not in str(desk.states)
