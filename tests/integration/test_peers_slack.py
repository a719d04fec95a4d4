"""The Slack workspace itself: as a program, and what it does not let through."""

import asyncio

import httpx

from adapters.slack.adapter import build
from adapters.slack.settings import SlackSettings
from hermes.adapter import FetchingAdapter
from hermes.events import Target
from tests.contract.platforms import context
from tests.integration.telegram_desk import Desk
from tests.peers.programs import peer_program
from tests.peers.slack import APP_TOKEN, BOT_TOKEN, SlackPeer, SlackPeerControl


async def test_as_a_program_it_can_be_steered_and_looked_at() -> None:
    with peer_program("slack") as base:
        control, desk = SlackPeerControl(base), Desk()
        settings = {
            "type": "slack",
            "bot_token": BOT_TOKEN,
            "app_token": APP_TOKEN,
            "base_url": f"{base}/api/",
        }
        adapter = build(SlackSettings.model_validate(settings), context("slack"))
        task = asyncio.create_task(adapter.run(desk))
        ts = await asyncio.to_thread(control.push, "hello", channel="D1")
        await desk.until(lambda: len(desk.events) == 1)
        assert desk.events[0].message_id == ts
        (piece,) = adapter.render("*answer*", Target("slack", "D1"))
        await adapter.send(Target("slack", "D1"), piece, key="k")
        await asyncio.to_thread(control.push_file, "a.txt", b"bytes", "text/plain", channel="D1", text="see")
        await desk.until(lambda: len(desk.events) == 2)
        assert isinstance(adapter, FetchingAdapter)
        (attachment,) = desk.events[1].attachments
        assert [chunk async for chunk in adapter.fetch(desk.events[1], attachment)] == [b"bytes"]
        task.cancel()
        await asyncio.wait((task,))
        await adapter.aclose()
        assert await asyncio.to_thread(control.wait_text, "D1", "answer") == ["answer"]
        shown = (await asyncio.to_thread(control.channels))["D1"]
        assert [message["source"] for message in shown] == ["hello", "_answer_", "see"]
        assert [file["name"] for file in shown[2]["files"]] == ["a.txt"]
        assert await asyncio.to_thread(control.violations) == []


async def test_it_refuses_what_slack_does_not_take() -> None:
    async with SlackPeer() as peer, httpx.AsyncClient(base_url=peer.base_url, trust_env=False) as client:
        peer.world.add_channel("C1")
        mine = {"Authorization": f"Bearer {BOT_TOKEN}"}
        good = {"channel": "C1", "text": "x"}
        for method, body, headers, error in (
            ("chat.postMessage", good, {}, "invalid_auth"),
            ("chat.postMessage", {**good, "colour": "red"}, mine, "invalid_arguments"),
            ("chat.postMessage", {**good, "thread_ts": 100.1}, mine, "invalid_arguments"),
            ("chat.postMessage", {"text": "x"}, mine, "invalid_arguments"),
            ("chat.postMessage", {**good, "text": "x" * 40_001}, mine, "msg_too_long"),
            ("chat.postMessage", {**good, "channel": "C2"}, mine, "channel_not_found"),
            ("conversations.history", {"channel": "C1"}, mine, "invalid_arguments"),
            ("chat.shout", good, mine, "unknown_method"),
            ("files.getUploadURLExternal", {"filename": "a", "length": 1}, mine, "invalid_arguments"),
            ("files.completeUploadExternal", {"files": "[", "channel_id": "C1"}, mine, "invalid_arguments"),
            (
                "files.completeUploadExternal",
                {"files": [{"id": "F9"}], "channel_id": "C1"},
                mine,
                "file_not_found",
            ),
            ("reactions.add", {"channel": "C1", "name": "eyes"}, mine, "invalid_arguments"),
        ):
            answer = await client.post(method, json=body, headers=headers)
            assert (answer.json()["ok"], answer.json()["error"]) == (False, error)
        assert len(peer.violations) == 8
        assert peer.texts("C1") == []
