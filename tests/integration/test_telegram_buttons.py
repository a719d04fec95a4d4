"""Buttons on Telegram: offered by the gateway, pressed at the Bot API peer, and back as messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes.adapter import Receipt
from hermes.events import Target
from hermes.model import Completion
from hermes.testing import Answer, FakeClock, ScriptedModel
from tests.gatewayrig import OPEN
from tests.integration.telegram_desk import Desk, conversing, make_adapter, opened, pass_time, running
from tests.integration.test_gateway_choices import offering
from tests.integration.test_telegram_live import Slow
from tests.integration.test_telegram_webhook import served
from tests.peers.telegram import TelegramPeer, refusal

CHAT = Target("telegram", "5")
GROUP = -1001
TOPIC = 77
CLOSED = OPEN.replace('"*"', '"7"')


async def answered(peer: TelegramPeer, count: int) -> None:
    """Wait until so many presses have ended."""
    await peer.wait_for(lambda: len(peer.world.callback_answers) == count)


async def offered(peer: TelegramPeer, *choices: str) -> Receipt:
    """A question with buttons stands in the chat."""
    peer.add_chat(5)
    adapter = make_adapter(peer)
    (piece,) = adapter.render("**Shall** I?", CHAT)
    try:
        return await adapter.send(CHAT, adapter.render_choices(piece, choices, CHAT), key="k")
    finally:
        await adapter.aclose()


def last_said(model: ScriptedModel) -> str:
    return model.requests[-1].messages[-1].text


async def test_what_is_pressed_is_answered_once_over_two_lives(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer = telegram_peer
    model = ScriptedModel([offering("Yes", "/new"), Answer("Shall I?"), Answer("as you like")])
    async with conversing(tmp_path / "home", peer, model) as g:
        peer.push_text("ask me", 5)
        await peer.wait_text(5, "Shall I?")
        await g.quiet()
        press = peer.push_press("/new", 5)
        peer.push_press("/new", 5)
        await peer.wait_text(5, "as you like")
        await answered(peer, 2)
        await g.quiet()
        assert last_said(model).endswith("> Shall I?\n\n/new")
        assert peer.chats[5][1].buttons.keys() == {"Yes", "/new"}  # others may choose too
        assert not peer.chats[5][2].buttons
    peer.push_again(press["update_id"], new_id=True)
    peer.push_text("and now", 5)
    async with conversing(tmp_path / "home", peer, ScriptedModel([Answer("goes on")])) as g:
        await peer.wait_text(5, "goes on")
        await g.quiet()
        assert peer.chats[5].texts() == ["Shall I?", "as you like", "goes on"]
        assert len(await g.rows("SELECT DISTINCT session_key FROM inbox")) == 1
        told = await g.rows("SELECT event FROM inbox")
        assert len(told) == 3
    assert peer.violations == []


class Asking(Slow):
    """Offers choices, then says its pieces step by step."""

    def __init__(self, *pieces: str) -> None:
        super().__init__(*pieces)
        self.script = [offering("Yes", "No")]

    async def _answer(self, answer: Answer, on_text: Callable[[str], None]) -> Completion:
        if answer.tool_calls:
            return await ScriptedModel._answer(self, answer, on_text)
        return await super()._answer(answer, on_text)


async def test_an_answer_that_grew_has_its_buttons_when_it_is_whole(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer, model = telegram_peer, Asking("Shall", " I?")
    async with conversing(tmp_path / "home", peer, model) as g:
        peer.push_text("ask me", 5)
        model.steps[0].set()
        await peer.wait_text(5, "Shall")
        assert not peer.chats[5][1].buttons
        peer.faults.add("editMessageText", refusal(500, "Internal Server Error"))
        model.steps[1].set()
        model.end.set()
        await peer.wait_for(lambda: bool(peer.chats[5][1].buttons))
        await g.quiet()
        (row,) = await g.rows("SELECT json_extract(format, '$.buttons') FROM outbox WHERE kind = 'reply'")
        assert '"Yes"' in row[0]
        assert peer.chats[5].texts() == ["Shall I?"]
    assert peer.violations == []


async def test_in_a_topic_only_who_may_write_can_press_and_nothing_is_said_to_others(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer = telegram_peer
    peer.add_chat(GROUP, kind="supergroup", topics=(TOPIC,))
    model = ScriptedModel([offering("Yes", "No"), Answer("Shall I? " * 600), Answer("done")])
    async with conversing(tmp_path / "home", peer, model, CLOSED) as g:
        asked = peer.push_text("@peer_bot ask me", GROUP, user=7, thread=TOPIC)["message"]["message_id"]
        await peer.wait_for(lambda: len(peer.chats[GROUP].texts()) == 2)
        await g.quiet()
        first, second = (m for m in peer.chats[GROUP] if m.from_bot)
        assert (first.reply_to, second.reply_to) == (asked, None)
        assert (len(first.buttons), len(second.buttons)) == (0, 2)
        peer.push_press("Yes", GROUP, user=8)
        await answered(peer, 1)
        await g.quiet()
        assert len(peer.chats[GROUP].texts()) == 2
        peer.push_press("No", GROUP, user=7)
        await peer.wait_text(GROUP, "done")
        await answered(peer, 2)
        await g.quiet()
        last = peer.chats[GROUP][-1]
        assert (last.thread_id, last.reply_to) == (TOPIC, second.message_id)
        assert last_said(model).endswith("\n\nNo")
        assert len(await g.rows("SELECT DISTINCT session_key FROM inbox")) == 1
    assert {len(call.params) for call in peer.calls("answerCallbackQuery")} == {1}  # no notice in it
    assert peer.violations == []


async def test_FT_14_a_press_that_cannot_be_stored_stays_open(telegram_peer: TelegramPeer) -> None:
    peer, clock, desk = telegram_peer, FakeClock(), Desk(is_full=True)
    sent = await offered(peer, "Yes")
    peer.push_callback("another:1", int(sent.message_id), 5)
    peer.push_press("Yes", 5)
    async with running(peer, desk, clock):
        await pass_time(clock, 60, lambda: desk.refusals >= 4)
        assert peer.calls("answerCallbackQuery") == []
        desk.is_full = False
        await pass_time(clock, 6, lambda: bool(desk.events))
        await answered(peer, 2)
    assert [event.text for event in desk.events] == ["Yes"]
    assert desk.ignored == ["unknown button"]


@pytest.mark.parametrize("wait", [refusal(400, "Bad Request: query is too old"), refusal(500, "Internal")])
async def test_a_press_that_cannot_be_ended_keeps_nobody_up(telegram_peer: TelegramPeer, wait: Any) -> None:
    peer, clock, desk = telegram_peer, FakeClock(), Desk()
    await offered(peer, "Yes", "No")
    peer.faults.add("answerCallbackQuery", wait)
    async with running(peer, desk, clock):
        peer.push_press("Yes", 5)
        peer.push_press("No", 5)
        await desk.until(lambda: len(desk.events) == 2)
        await pass_time(clock, 6, lambda: len(peer.world.callback_answers) == 1)
    assert len(peer.calls("answerCallbackQuery")) == 2


async def test_by_request_a_press_is_taken_and_then_ended(telegram_peer: TelegramPeer) -> None:
    peer, desk = telegram_peer, Desk(gate=asyncio.Event())
    await offered(peer, "Yes")
    async with served(peer, desk) as (_, may_run):
        may_run.set()
        await peer.wait_for(lambda: bool(peer.calls("setWebhook")))
        peer.push_press("Yes", 5)
        await desk.taking.wait()
        async with opened(peer) as other:  # as long as an answer would need to get there
            for _ in range(3):
                await other.typing(CHAT)
        assert peer.world.callback_answers == []
        assert desk.gate is not None
        desk.gate.set()
        await answered(peer, 1)
    assert [(event.text, event.command_text) for event in desk.events] == [("Yes", False)]
    assert peer.violations == []


async def test_refused_buttons_cost_no_answer(telegram_peer: TelegramPeer) -> None:
    peer = telegram_peer
    peer.faults.add("sendMessage", refusal(400, "Bad Request: BUTTON_DATA_INVALID"))
    receipt = await offered(peer, "Yes", "No")
    assert peer.chats[5].texts() == ["Shall I?\n\n1. Yes\n2. No"]
    assert [entity["type"] for entity in peer.chats[5][0].entities] == ["bold"]
    assert receipt.note == "sent without buttons"
