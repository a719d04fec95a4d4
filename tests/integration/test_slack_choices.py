"""Buttons under messages in Slack and presses of them: the real SDK and real connections against a workspace."""

import asyncio
from typing import Any

import pytest

from adapters.slack.adapter import Slack
from hermes.adapter import Piece, Receipt
from hermes.errors import Gone, OutcomeUnknown
from hermes.events import Target
from hermes.testing import FakeClock
from tests.integration.slack_desk import opened, running
from tests.integration.telegram_desk import Desk, pass_time
from tests.peers.slack import USER, Fault, Message, SlackPeer, refused
from tests.peers.slack.spec import web_api

CHAT, THREAD = Target("slack", "C1"), Target("slack", "C1", "100.1")


@pytest.fixture
def peer(slack_peer: SlackPeer) -> SlackPeer:
    slack_peer.world.add_channel("C1")
    slack_peer.world.say("root", "C1", ts="100.1")
    return slack_peer


def asking(adapter: Slack, *labels: str, markdown: str = "Shall **I**?", target: Target = THREAD) -> Piece:
    return adapter.render_choices(adapter.render(markdown, target)[0], labels, target)


async def asked(peer: SlackPeer, *labels: str, target: Target = THREAD) -> Receipt:
    """We have sent a question with these buttons."""
    async with opened(peer) as adapter:
        return await adapter.send(target, asking(adapter, *labels, target=target), key="a")


def ours(peer: SlackPeer) -> list[Message]:
    return [message for message in peer.channels["C1"].messages if message.user == USER]


# -- out -----------------------------------------------------------------------------------------------


async def test_buttons_stand_under_a_message_and_come_and_go_with_its_edits(peer: SlackPeer) -> None:
    async with opened(peer) as adapter:
        growing = adapter.render_live("Shall", THREAD)
        assert growing is not None
        receipt = await adapter.send(THREAD, growing, key="a")
        for _ in range(2):
            await adapter.edit(THREAD, receipt.message_id, asking(adapter, "Yes", "No"))
            assert (ours(peer)[0].text, ours(peer)[0].buttons) == ("Shall I?", ["Yes", "No"])
        await adapter.edit(THREAD, receipt.message_id, growing)
        assert (ours(peer)[0].text, ours(peer)[0].buttons) == ("Shall", [])
        with pytest.raises(Gone):
            await adapter.edit(THREAD, "1.000001", asking(adapter, "Yes"))


async def test_a_question_whose_answer_was_lost_is_found_and_not_asked_again(peer: SlackPeer) -> None:
    peer.faults.add("chat.postMessage", Fault("lost"))
    async with opened(peer) as adapter:
        with pytest.raises(OutcomeUnknown):
            await adapter.send(THREAD, asking(adapter, "Yes"), key="a")
        await adapter.send(THREAD, asking(adapter, "Yes"), key="a", again=True)
        peer.methods.has_history = False
        await adapter.send(THREAD, asking(adapter, "Yes"), key="b", again=True)
    assert [(m.text, m.buttons) for m in ours(peer)] == [("Shall I?", ["Yes"]), ("↻ Shall I?", ["Yes"])]


async def test_what_slack_refuses_as_a_button_is_a_list_in_the_text(peer: SlackPeer) -> None:
    peer.faults.add("chat.postMessage", refused("invalid_blocks"))
    peer.faults.add("chat.update", refused("invalid_blocks_format"))
    async with opened(peer) as adapter:
        receipt = await adapter.send(THREAD, asking(adapter, "Yes", "No"), key="a")
        assert receipt.note == "sent without buttons"
        changed = await adapter.edit(THREAD, receipt.message_id, asking(adapter, "Oui", "<Non>"))
        assert changed.note == "sent without buttons"
    assert [(m.text, m.versions, m.buttons) for m in ours(peer)] == [
        ("Shall I?\n\n1. Oui\n2. <Non>", ["Shall *I*?\n\n1. Yes\n2. No"], []),
    ]


async def test_where_we_are_no_member_who_asked_gets_buttons_too(peer: SlackPeer) -> None:
    peer.world.add_channel("C2", is_member=False)
    target = Target("slack", "C2", None, f"{peer.base}/commands/T1/1")
    async with opened(peer) as adapter:
        await adapter.send(target, asking(adapter, "Yes", target=target), key="a")
    (shown,) = peer.responses
    assert [block["type"] for block in shown["blocks"]] == ["section", "actions"]


@pytest.mark.parametrize(
    ("button", "fault"),
    [
        ({"text": {"type": "plain_text", "text": "x" * 76}}, "at most 75"),
        ({"text": {"type": "mrkdwn", "text": "x"}}, "a text object"),
        ({"value": "x" * 2001}, "a value"),
        ({"action_id": "x" * 256}, "action_id"),
        ({"callback_data": "x"}, "callback_data"),
    ],
)
def test_the_peer_refuses_what_slack_does(button: dict[str, Any], fault: str) -> None:
    whole = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "x"}, **button}
    params = {"channel": "C1", "text": "x", "blocks": [{"type": "actions", "elements": [whole]}]}
    (found,) = web_api().faults("chat.postMessage", "POST", "application/json", params)
    assert "invalid_blocks" in found
    assert fault in found
    params["blocks"] = [{"type": "actions", "elements": [{**whole, "action_id": str(n)} for n in range(26)]}]
    assert "26 elements" in str(web_api().faults("chat.postMessage", "POST", "application/json", params))


# -- in ------------------------------------------------------------------------------------------------


async def test_a_press_is_acknowledged_once_it_is_stored_and_a_double_tap_is_one_message(
    peer: SlackPeer,
) -> None:
    await asked(peer, "/stop", "\U0001f44d & <more>")
    desk = Desk(gate=asyncio.Event())
    async with running(peer, desk):
        await peer.connected()
        first = await peer.press("\U0001f44d & <more>", "C1", "U2")
        await desk.taking.wait()
        await peer.links.say({"type": "a later thing"})
        assert peer.links.unacknowledged == [first]
        assert desk.gate is not None
        desk.gate.set()
        await peer.press("\U0001f44d & <more>", "C1", "U2")
        await peer.press("/stop", "C1", "U2")
        await peer.links.deliver("interactive", {"type": "block_actions", "actions": [{"action_id": "old"}]})
        await peer.acknowledged()
    assert [(e.text, e.command_text, e.sender.name) for e in desk.events] == [
        ("\U0001f44d & <more>", False, "Ben"), ("/stop", False, "Ben"),
    ]  # fmt: skip
    assert {(e.chat, e.thread, e.kind, e.chat_name) for e in desk.events} == {
        ("C1", "100.1", "group", "#room-c1")
    }
    assert (desk.duplicates, desk.ignored, desk.unparsable) == (1, ["unknown button"], [])
    assert first.acked_at is not None


async def test_FT_14_a_press_that_cannot_be_stored_is_not_acknowledged(peer: SlackPeer) -> None:
    await asked(peer, "Yes")
    clock, desk = FakeClock(), Desk(is_full=True)
    async with running(peer, desk, clock):
        await peer.connected()
        await peer.press("Yes", "C1")
        await pass_time(clock, 600, lambda: desk.refusals >= 3)
        assert len(peer.links.unacknowledged) == 1
        desk.is_full = False
        await pass_time(clock, 600, lambda: bool(desk.events))
        await peer.acknowledged()
    assert [event.text for event in desk.events] == ["Yes"]


async def test_buttons_outlive_the_process_that_sent_them(peer: SlackPeer) -> None:
    receipt = await asked(peer, "Yes", target=CHAT)
    desk = Desk()
    for life in (1, 2):
        async with running(peer, desk):
            await peer.connected(life)
            await peer.press("Yes", "C1", ts=receipt.message_id)
            await peer.acknowledged()
    assert [(e.text, e.thread, e.quoted) for e in desk.events] == [("Yes", None, "Shall *I*?")]
    assert desk.duplicates == 1
