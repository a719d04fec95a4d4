"""Mode http: requests as Slack makes them, to an HTTP server that the adapter has its address on."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import httpx
from aiohttp import web
from structlog.testing import capture_logs

from adapters.slack.adapter import SlackByHttp
from hermes.adapter import HttpAdapter, Piece
from hermes.events import Target
from tests.integration.slack_desk import make_adapter, opened
from tests.integration.telegram_desk import Desk
from tests.peers.serving import LoopbackServer
from tests.peers.slack import SIGNING_SECRET, SlackPeer

FORM = "application/x-www-form-urlencoded"


class Caller:
    """Slack's side of the request URL."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def post(self, payload: Any, *, kind: str = "application/json", **changed: str) -> httpx.Response:
        if isinstance(payload, bytes):
            body = payload
        else:
            body = urlencode(payload).encode() if kind == FORM else json.dumps(payload).encode()
        stamp = changed.get("stamp", str(int(time.time())))
        signed = f"v0:{stamp}:".encode() + body
        signature = "v0=" + hmac.new(SIGNING_SECRET.encode(), signed, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": changed.get("signature", signature),
        }
        return await self._client.post("/slack/events", content=body, headers=headers)


@asynccontextmanager
async def served(peer: SlackPeer, desk: Desk) -> AsyncIterator[tuple[Caller, asyncio.Event]]:
    """An adapter behind a server; the event: let it run."""
    adapter = make_adapter(peer, mode="http", signing_secret=SIGNING_SECRET, app_token=None)
    assert isinstance(adapter, SlackByHttp)
    assert isinstance(adapter, HttpAdapter)
    app, may_run = web.Application(), asyncio.Event()
    adapter.mount(app.router, desk)
    server = LoopbackServer(app)
    await server.start()

    async def run() -> None:
        await may_run.wait()
        await adapter.run(desk)

    task = asyncio.create_task(run(), name="run slack")
    try:
        async with httpx.AsyncClient(base_url=server.base, trust_env=False, timeout=20.0) as client:
            yield Caller(client), may_run
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await server.stop()
        await adapter.aclose()


async def connected(desk: Desk) -> None:
    async with asyncio.timeout(10):
        while ("connected", None) not in desk.states:
            await asyncio.sleep(0)


async def test_the_address_is_proved_messages_and_commands_come_and_repeats_are_known(
    slack_peer: SlackPeer,
) -> None:
    desk = Desk()
    async with served(slack_peer, desk) as (slack, may_run):
        check = await slack.post({"type": "url_verification", "challenge": "3eZbrw1aB", "token": "x"})
        assert check.json() == {"challenge": "3eZbrw1aB"}
        early = slack_peer.world.say("early")
        assert (await slack.post(early)).status_code == 503
        may_run.set()
        await connected(desk)
        for payload in (early, early, slack_peer.world.say("two")):
            done = await slack.post(payload)
            assert (done.status_code, done.content) == (200, b"")
        command = slack_peer.world.command("stop", response_url="https://hooks.slack.com/commands/1")
        assert (await slack.post(command, kind=FORM)).content == b""
        assert (await slack.post({"payload": "{}"}, kind=FORM)).status_code == 200
    assert [event.text for event in desk.events] == ["early", "two", "/stop"]
    assert (desk.duplicates, desk.ignored) == (1, ["no message"])
    assert slack_peer.links.opened == 0


async def test_what_is_not_slacks_is_refused(slack_peer: SlackPeer) -> None:
    desk = Desk()
    async with served(slack_peer, desk) as (slack, may_run):
        may_run.set()
        await connected(desk)
        payload = slack_peer.world.say("forged")
        for changed in (
            {"signature": "v0=" + "0" * 64},
            {"stamp": str(int(time.time()) - 400)},
            {"stamp": str(int(time.time()) + 400)},
            {"stamp": "x"},
        ):
            assert (await slack.post(payload, **changed)).status_code == 401
        assert (await slack.post({"type": "url_verification"}, signature="v0=0")).status_code == 401
        assert (await slack.post(b"{", kind="application/json")).status_code == 400
        assert (await slack.post(b"\xff", kind="application/json")).status_code == 400
    assert desk.events == []


async def test_another_apps_requests_are_refused_however_well_they_are_signed(slack_peer: SlackPeer) -> None:
    said = slack_peer.world.say("for another")
    command = slack_peer.world.command("stop", response_url="https://hooks.slack.com/commands/1")
    press = {"payload": json.dumps({"type": "block_actions", "api_app_id": "A2"})}
    desk = Desk()
    with capture_logs() as logs:
        async with served(slack_peer, desk) as (slack, may_run):
            may_run.set()
            await connected(desk)
            for payload, kind in (
                ({**said, "api_app_id": "A2"}, "application/json"),
                ({**command, "api_app_id": "A2"}, FORM),
                (press, FORM),
            ):
                refused = await slack.post(payload, kind=kind)
                assert refused.status_code == 401
                assert "It is for the app 'A2', and bot_token is of A1" in refused.json()["error"]
            assert (await slack.post(said)).status_code == 200
    assert [event.text for event in desk.events] == ["for another"]
    assert [log["event"] for log in logs if log["log_level"] == "warning"] == ["slack.refused"] * 3


async def test_where_slack_does_not_say_which_app_we_are_the_signature_counts(slack_peer: SlackPeer) -> None:
    slack_peer.scopes = slack_peer.scopes.replace(",users:read", "")
    desk = Desk()
    with capture_logs() as logs:
        async with served(slack_peer, desk) as (slack, may_run):
            may_run.set()
            await connected(desk)
            said = {**slack_peer.world.say("hello"), "api_app_id": "A2"}
            assert (await slack.post(said)).status_code == 200
    assert [event.text for event in desk.events] == ["hello"]
    assert "slack.app_unknown" in [log["event"] for log in logs]


async def test_FT_14_what_cannot_be_stored_in_time_is_to_come_again(slack_peer: SlackPeer) -> None:
    desk = Desk(is_full=True)
    async with served(slack_peer, desk) as (slack, may_run):
        may_run.set()
        await connected(desk)
        payload = slack_peer.world.say("kept")
        assert (await slack.post(payload)).status_code == 503
        desk.is_full, desk.gate = False, asyncio.Event()
        began = time.monotonic()
        assert (await slack.post(payload)).status_code == 503
        assert time.monotonic() - began < 3  # Slack's own limit
        desk.gate.set()
        assert (await slack.post(payload)).status_code == 200
    assert [event.text for event in desk.events] == ["kept"]
    assert desk.duplicates == 1


async def test_a_press_comes_as_a_form_and_is_answered_once_it_is_stored(slack_peer: SlackPeer) -> None:
    slack_peer.world.say("ask me", "D1")
    async with opened(slack_peer) as adapter:
        await adapter.send(
            Target("slack", "D1"), Piece("So?", {"text": "So?", "choices": ["Yes & so"]}), key="a"
        )
    press = {"payload": json.dumps(slack_peer.world.press("Yes & so"))}
    desk = Desk(is_full=True)
    async with served(slack_peer, desk) as (slack, may_run):
        may_run.set()
        await connected(desk)
        assert (await slack.post(press, kind=FORM)).status_code == 503
        desk.is_full = False
        for _ in range(2):
            done = await slack.post(press, kind=FORM)
            assert (done.status_code, done.content) == (200, b"")
        assert (await slack.post({"payload": "{"}, kind=FORM)).status_code == 400
        assert (await slack.post(press, kind=FORM, signature="v0=0")).status_code == 401
    assert [(e.text, e.kind, e.command_text) for e in desk.events] == [("Yes & so", "direct", False)]
    assert (desk.duplicates, desk.unparsable) == (1, [])
