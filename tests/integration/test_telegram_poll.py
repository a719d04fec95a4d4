"""Messages on their way in: the real SDK against the Bot API peer, and an intake that keeps the contract."""

import asyncio
import logging
from pathlib import Path

import pytest
import structlog

from hermes.errors import Unauthorized
from hermes.events import Target
from hermes.testing import FakeClock, ScriptedModel
from tests.integration.telegram_desk import Desk, conversing, opened, pass_time, running
from tests.peers.telegram import Fault, TelegramPeer, refusal, too_many

OFFSET = "offset:424242"
CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


def offsets(peer: TelegramPeer) -> list[int | None]:
    return [call.params.get("offset") for call in peer.calls("getUpdates")]


async def polled(peer: TelegramPeer, offset: int) -> None:
    """Wait until a poll asks for `offset`."""
    await peer.wait_for(lambda: offset in offsets(peer))


# -- the ordinary way --------------------------------------------------------------------------------


async def test_a_message_is_taken_and_then_confirmed(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    first = telegram_peer.push_text("while away", 5)["update_id"]
    async with running(telegram_peer, desk):
        await desk.until(lambda: len(desk.events) == 1)
        telegram_peer.push_text("now", 5)
        await desk.until(lambda: len(desk.events) == 2)
        await polled(telegram_peer, first + 2)
    assert [event.text for event in desk.events] == ["while away", "now"]
    assert desk.events[0].account == "424242"
    assert desk.watermarks[OFFSET].startswith(f"{first + 2}@")
    assert offsets(telegram_peer)[0] is None
    assert desk.states == [("connecting", None), ("connected", None)]
    assert desk.beats >= 2
    assert telegram_peer.world.commands == [{"command": "help", "description": "What I can do"}]


async def test_nothing_is_confirmed_before_it_is_stored(telegram_peer: TelegramPeer) -> None:
    desk = Desk(gate=asyncio.Event())
    telegram_peer.push_text("hi", 5)
    async with running(telegram_peer, desk):
        await desk.taking.wait()
        async with opened(telegram_peer) as other:  # as long as another poll would need to get there
            for _ in range(3):
                await other.typing(Target("telegram", "5"))
        assert len(telegram_peer.updates.waiting) == 1
        assert len(telegram_peer.calls("getUpdates")) == 1
        assert desk.gate is not None
        desk.gate.set()
        await telegram_peer.wait_for(lambda: not telegram_peer.updates.waiting)
    assert len(desk.events) == 1


async def test_TG_26_a_restart_goes_on_where_it_was(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    first = telegram_peer.push_text("one", 5)["update_id"]
    async with running(telegram_peer, desk):
        await desk.until(lambda: len(desk.events) == 1)
    telegram_peer.push_again(first)
    telegram_peer.push_again(first, new_id=True)
    telegram_peer.push_text("two", 5)
    async with running(telegram_peer, desk):
        await desk.until(lambda: len(desk.events) == 2)
    assert [event.text for event in desk.events] == ["one", "two"]
    assert desk.duplicates == 1


async def test_a_full_disk_is_waited_out_and_nothing_is_confirmed(telegram_peer: TelegramPeer) -> None:
    clock, desk = FakeClock(), Desk(is_full=True)
    telegram_peer.push_text("hi", 5)
    async with running(telegram_peer, desk, clock):
        await pass_time(clock, 60, lambda: desk.refusals >= 4)
        assert desk.refusals == 4
        assert len(telegram_peer.calls("getUpdates")) == 1
        desk.is_full = False
        await pass_time(clock, 6, lambda: bool(desk.events))
    assert [event.text for event in desk.events] == ["hi"]


async def test_a_malformed_update_stands_in_nobodys_way(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    telegram_peer.push_text("before", 5)
    bad = telegram_peer.push_raw({"message": {"message_id": "x", "chat": None}})
    telegram_peer.push_raw({"no_id": 1, "update_id": "NaN"})
    telegram_peer.push_text("after", 5)
    async with running(telegram_peer, desk):
        await desk.until(lambda: len(desk.events) == 2)
        await polled(telegram_peer, bad["update_id"] + 2)
    assert [event.text for event in desk.events] == ["before", "after"]
    assert "chat is no object" in [item.error for item in desk.unparsable]


async def test_TG_17_TG_18_posts_and_edits_pass_without_harm(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    stop = telegram_peer.push_text("/stop", 5)
    telegram_peer.push_channel_post("news")
    telegram_peer.push_edited(stop["message"]["message_id"], "/stop", 5)
    telegram_peer.push_text("hi", 5)
    async with running(telegram_peer, desk):
        await desk.until(lambda: bool(desk.events) and desk.events[-1].text == "hi")
    assert [event.text for event in desk.events] == ["/stop", "news", "/stop", "hi"]
    assert [event.edited for event in desk.events] == [False, False, True, False]
    assert desk.events[1].sender.id == "-100900"
    assert not desk.events[1].addressed


async def test_TG_23_a_mention_after_emoji_is_for_us(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    telegram_peer.push_text("\U0001f680\U0001f680 @peer_bot status", -1001, user=9)
    async with running(telegram_peer, desk):
        await desk.until(lambda: bool(desk.events))
    assert desk.events[0].addressed
    assert desk.events[0].text == "\U0001f680\U0001f680 status"


async def test_an_offset_is_forgotten_after_a_quiet_week(telegram_peer: TelegramPeer) -> None:
    clock, desk = FakeClock(), Desk()
    last = telegram_peer.push_text("one", 5)["update_id"]
    async with running(telegram_peer, desk, clock, poll_timeout=1):
        await polled(telegram_peer, last + 1)
        clock.jump(6 * 86400 + 1)
        seen = len(offsets(telegram_peer))
        await telegram_peer.wait_for(lambda: None in offsets(telegram_peer)[seen:])
    async with running(telegram_peer, desk, clock):
        await telegram_peer.wait_for(lambda: len(telegram_peer.calls("getMe")) == 2)
        seen = len(offsets(telegram_peer))
        await telegram_peer.wait_for(lambda: len(offsets(telegram_peer)) > seen)
        assert offsets(telegram_peer)[-1] is None


async def test_cancelling_ends_a_long_poll_at_once(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    async with running(telegram_peer, desk, poll_timeout=50) as task:
        await telegram_peer.wait_for(lambda: len(telegram_peer.calls("getUpdates")) == 1)
        task.cancel()
        async with asyncio.timeout(2):
            await asyncio.wait((task,))
        assert task.cancelled()
    await telegram_peer.wait_for(lambda: telegram_peer.calls("getUpdates")[0].outcome == "client-gone")


# -- what goes wrong ---------------------------------------------------------------------------------


async def test_a_wrong_token_ends_the_adapter_after_one_call(telegram_peer: TelegramPeer) -> None:
    async with running(telegram_peer, Desk(), token="1:wrong") as task:
        with pytest.raises(Unauthorized):
            await task
    assert telegram_peer.calls() == []


async def test_a_token_that_is_revoked_later_ends_the_adapter(telegram_peer: TelegramPeer) -> None:
    telegram_peer.faults.add("getUpdates", refusal(401, "Unauthorized"))
    async with running(telegram_peer, Desk()) as task:
        with pytest.raises(Unauthorized):
            await task


async def test_PR_10_a_conflict_is_waited_out(
    telegram_peer: TelegramPeer, caplog: pytest.LogCaptureFixture
) -> None:
    structlog.configure(
        processors=[structlog.processors.KeyValueRenderer(key_order=["event"])],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    caplog.set_level(logging.INFO, "adapters.telegram")
    clock, desk = FakeClock(), Desk()
    telegram_peer.faults.add("getUpdates", refusal(409, CONFLICT, times=1000))
    async with running(telegram_peer, desk, clock, poll_timeout=1) as task:
        passed = await pass_time(clock, 300, task.done)
        calls = len(telegram_peer.calls("getUpdates"))
        lines = [record for record in caplog.records if "adapter.trouble" in record.getMessage()]
        assert passed >= 300
        assert 5 <= calls <= 20
        assert 1 <= len(lines) <= 6
        assert "Another program" in lines[0].getMessage()
        assert desk.states == [("connecting", None), ("connected", None), ("connecting", "conflict")]
        telegram_peer.faults.clear()
        telegram_peer.push_text("hi again", 5)
        await pass_time(clock, 60, lambda: bool(desk.events))
        assert desk.states[-1] == ("connected", None)
        assert not task.done()
    structlog.reset_defaults()


async def test_a_webhook_set_by_somebody_is_removed(telegram_peer: TelegramPeer) -> None:
    clock, desk = FakeClock(), Desk()
    telegram_peer.world.webhook_url = "https://example.com/hook"
    telegram_peer.push_text("one", 5)
    async with running(telegram_peer, desk, clock, poll_timeout=1):
        await desk.until(lambda: bool(desk.events))
        telegram_peer.world.webhook_url = "https://example.com/hook"
        telegram_peer.push_text("two", 5)
        await pass_time(clock, 60, lambda: len(desk.events) == 2)
    assert [event.text for event in desk.events] == ["one", "two"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("cut"),
        Fault("malformed"),
        refusal(502, "Bad Gateway"),
        too_many(3),
        refusal(400, "Bad Request: x"),
    ],
)
async def test_a_failed_poll_is_tried_again(telegram_peer: TelegramPeer, fault: Fault) -> None:
    clock, desk = FakeClock(), Desk()
    telegram_peer.faults.add("getUpdates", fault)
    telegram_peer.push_text("hi", 5)
    async with running(telegram_peer, desk, clock):
        await pass_time(clock, 60, lambda: bool(desk.events))
        await telegram_peer.wait_for(lambda: len(telegram_peer.calls("getUpdates")) >= 3)
    assert [state for state, _ in desk.states] == ["connecting", "connected", "connecting", "connected"]
    assert desk.states[2][1]


async def test_the_start_waits_for_the_network(telegram_peer: TelegramPeer) -> None:
    clock, desk = FakeClock(), Desk()
    telegram_peer.faults.add("getMe", Fault("cut", times=3))
    telegram_peer.push_text("hi", 5)
    async with running(telegram_peer, desk, clock):
        await pass_time(clock, 120, lambda: bool(desk.events))
    assert desk.events[0].text == "hi"


async def test_PR_11_a_failing_poll_does_not_show_the_token(
    telegram_peer: TelegramPeer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    clock, desk = FakeClock(), Desk()
    telegram_peer.faults.add("getUpdates", Fault("cut"), Fault("malformed"))
    telegram_peer.push_text("hi", 5)
    async with running(telegram_peer, desk, clock):
        await pass_time(clock, 60, lambda: bool(desk.events))
    told = [record.getMessage() for record in caplog.records] + [str(state) for state in desk.states]
    assert any("HTTP Request: POST" in text for text in told)
    assert [text for text in told if "peer-token" in text] == []


async def test_updates_without_ids_do_not_make_a_storm(telegram_peer: TelegramPeer) -> None:
    clock, desk = FakeClock(), Desk()
    telegram_peer.push_raw({"update_id": "NaN"})
    async with running(telegram_peer, desk, clock):
        await pass_time(clock, 60, lambda: False)
    assert len(telegram_peer.calls("getUpdates")) <= 8
    assert desk.states[-1][0] == "connecting"


async def test_TG_25_a_group_that_becomes_a_supergroup_keeps_its_conversation(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer, model = telegram_peer, ScriptedModel()
    home = tmp_path / "home"
    async with conversing(home, peer, model) as g:
        peer.push_text("@peer_bot first", -500, user=7)
        await peer.wait_text(-500, "first")
        peer.migrate(-500, -100777)
        peer.push_text("@peer_bot second", -100777, user=7)
        await peer.wait_text(-100777, "second")
        await g.quiet()
        assert "first" in str(model.requests[-1].messages)
    peer.push_text("@peer_bot third", -100777, user=7)
    async with conversing(home, peer, model) as g:
        await peer.wait_text(-100777, "third")
        await g.quiet()
        assert "first" in str(model.requests[-1].messages)
        assert len(await g.rows("SELECT DISTINCT session_key FROM inbox")) == 1
    async with opened(peer) as adapter:
        (piece,) = adapter.render("for the old id", Target("telegram", "-500"))
        await adapter.send(Target("telegram", "-500"), piece, key="k")
    assert peer.chats[-100777].texts()[-1] == "for the old id"
    assert peer.violations == []
