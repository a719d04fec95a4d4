"""What people write on Discord comes in once, whatever the connection goes through."""

import asyncio
from typing import Any

import pytest
import structlog

from hermes.errors import Unauthorized
from hermes.events import Deleted, Target
from tests.integration.discord_desk import Hasty, make_discord, running
from tests.integration.telegram_desk import Desk
from tests.peers.discord import BOT_ID, GUILD, DiscordPeer, Fault, refusal


def texts(desk: Desk) -> list[str]:
    return [event.text for event in desk.events]


async def has(desk: Desk, *wanted: str) -> None:
    await desk.until(lambda: texts(desk) == list(wanted))


async def test_direct_messages_and_mentions_come_in_and_nothing_else(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        discord_peer.push_text("hello")
        discord_peer.push_text("not for us", "11")
        discord_peer.push_text(f"<@{BOT_ID}> in the server", "11")
        (piece,) = adapter.render("an answer", Target("discord", "5"))
        await adapter.send(Target("discord", "5"), piece, key="k")
        discord_peer.push_text("bye")
        await desk.until(lambda: len(desk.events) == 4)
    assert [(e.text, e.addressed, e.kind) for e in desk.events] == [
        ("hello", True, "direct"),
        ("not for us", False, "group"),
        ("in the server", True, "group"),
        ("bye", True, "direct"),
    ]
    assert desk.ignored == ["own message"]
    assert desk.states[-1] == ("connected", None)
    asked = discord_peer.gateway.identifies[0]
    assert asked["intents"] == 1 | 1 << 9 | 1 << 12 | 1 << 15
    assert len(discord_peer.calls("GET channel")) == 1  # asked once


async def test_the_menu_is_written_once_and_only_when_it_changed(discord_peer: DiscordPeer) -> None:
    for _ in range(2):
        async with running(discord_peer, Desk()):
            await discord_peer.wait_for(lambda: bool(discord_peer.calls("GET commands")))
            await discord_peer.wait_for(lambda: len(discord_peer.world.commands) == 3)
        discord_peer.journal.clear()
    assert discord_peer.calls("PUT commands") == []
    async with running(discord_peer, Desk(), slash_commands=False):
        discord_peer.push_text("x")
    assert discord_peer.calls("GET commands") == []


async def test_changes_and_deletions_are_told_as_such_and_previews_are_not(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk, auto_thread=True) as adapter:
        sent = discord_peer.push_text("first words")
        discord_peer.push_raw("MESSAGE_UPDATE", {**sent, "embeds": [{"title": "a preview"}]})
        discord_peer.push_edited(sent, "second words")
        (piece,) = adapter.render("an answer", Target("discord", "5"))
        receipt = await adapter.send(Target("discord", "5"), piece, key="k")
        await adapter.edit(Target("discord", "5"), receipt.message_id, piece)
        mention = discord_peer.push_text(f"<@{BOT_ID}> begins a thread", "11")
        discord_peer.push_deleted(sent)
        discord_peer.push_raw("MESSAGE_DELETE_BULK", {"ids": [mention["id"]], "channel_id": "11"})
        await desk.until(lambda: len(desk.deleted) == 4)
    first, second, third = desk.events
    assert (first.edited, second.edited, third.edited) == (False, True, False)
    assert first.message_id == second.message_id
    assert first.dedupe_key != second.dedupe_key
    assert Deleted("5", sent["id"]) in desk.deleted
    assert Deleted(third.chat, mention["id"]) in desk.deleted
    assert desk.ignored == ["own message"]


# -- the connection is lost ---------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cut", "opcode 7", "opcode 9 resumable", "close 4000", "close 1000"])
async def test_DC_13_a_lost_connection_is_gone_on_with_and_what_came_meanwhile_comes_once(
    discord_peer: DiscordPeer, how: str
) -> None:
    desk, gateway = Desk(), discord_peer.gateway
    async with running(discord_peer, desk):
        first = discord_peer.push_text("first")
        await has(desk, "first")
        await _lose(discord_peer, how)
        await discord_peer.wait_for(lambda: not gateway.online or gateway.opened > 1)
        discord_peer.push_text("meanwhile")
        await has(desk, "first", "meanwhile")
        discord_peer.push_again(first)
        discord_peer.push_text("first")  # the same words, another message
        await has(desk, "first", "meanwhile", "first")
    assert desk.duplicates == 1
    assert len(gateway.identifies) == 1
    assert len(gateway.resumes) == 1
    assert discord_peer.calls("GET messages") == []


async def _lose(peer: DiscordPeer, how: str) -> None:
    match how.split():
        case ["cut"]:
            peer.gateway.cut()
        case ["opcode", "7"]:
            peer.gateway.ask_to_reconnect()
        case ["opcode", *_]:
            peer.gateway.invalidate(resumable=True)
        case [_, code]:
            await peer.gateway.close(int(code))


async def test_a_connection_without_heartbeats_is_dead_and_made_anew(discord_peer: DiscordPeer) -> None:
    desk, gateway = Desk(), discord_peer.gateway
    gateway.interval = 100
    async with running(discord_peer, desk):
        await discord_peer.wait_for(lambda: gateway.received[1] >= 3)
        assert gateway.opened == 1
        before = desk.beats
        gateway.acks = False
        await discord_peer.wait_for(lambda: gateway.opened == 2)
        gateway.acks = True
        discord_peer.push_text("alive")
        await has(desk, "alive")
        assert desk.beats > before
    assert len(gateway.resumes) == 1


async def test_a_gateway_that_is_away_is_waited_for_and_said_so(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    discord_peer.faults.add("GET me", refusal(503, "away"))
    discord_peer.faults.add("gateway", Fault("status", 502))
    async with running(discord_peer, desk):
        discord_peer.push_text("late")
        await has(desk, "late")
    states = [state for state, _ in desk.states]
    assert states == ["connecting", "connecting", "connecting", "connected"]
    assert all(reason for _, reason in desk.states[1:3])


async def test_a_gateway_that_throws_us_out_is_asked_ever_more_slowly(discord_peer: DiscordPeer) -> None:
    desk, clock = Desk(), Hasty()
    discord_peer.gateway.refuses_with = [4000] * 9
    async with running(discord_peer, desk, clock):
        await discord_peer.wait_for(lambda: len(discord_peer.gateway.identifies) == 10)
        await discord_peer.wait_online()
    first, *later = clock.pauses
    assert 1 <= first <= 5
    assert sum(later) > 120  # 2, 4, 8 ... 60 s, at least half of each
    assert max(later) <= 60  # in steps, so that nobody takes the adapter for dead
    assert desk.beats > 9


async def test_what_makes_no_sense_ends_the_session_and_not_the_adapter(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk):
        discord_peer.push_raw("READY", {"no": "session"})
        await discord_peer.wait_for(lambda: len(discord_peer.gateway.identifies) == 2)
        await discord_peer.wait_online()
        discord_peer.push_text("still here")
        await has(desk, "still here")


# -- nobody listened ----------------------------------------------------------------------------------


async def test_a_new_session_reads_what_was_written_meanwhile(discord_peer: DiscordPeer) -> None:
    desk, world = Desk(), discord_peer.world
    discord_peer.add_channel("12", forbidden=True)
    discord_peer.add_channel("13", "thread", parent="11", joined=True)
    async with running(discord_peer, desk):
        discord_peer.push_text("known", "5")
        discord_peer.push_text(f"<@{BOT_ID}> known", "11")
        await has(desk, "known", "known")
    discord_peer.gateway.forget()
    ours = world.send("5", {"content": "what we said"})
    discord_peer.push_text("direct", "5")
    for n in range(150):
        discord_peer.push_text(f"<@{BOT_ID}> {n}", "11")
    discord_peer.push_text("in the thread", "13")
    discord_peer.push_text("nobody shows it to us", "12")
    async with running(discord_peer, desk):
        await desk.until(lambda: len(desk.events) == 2 + 1 + 150 + 1)
        discord_peer.push_text("and on")
        await desk.until(lambda: texts(desk)[-1] == "and on")
    assert desk.duplicates == 0
    assert [e.text for e in desk.events if e.chat == "11"] == ["known", *map(str, range(150))]
    assert [(e.text, e.thread, e.addressed) for e in desk.events if e.chat == "13"] == [
        ("in the thread", "13", True)
    ]
    assert [e.kind for e in desk.events if e.text == "direct"] == ["direct"]
    assert ours["id"] not in {e.message_id for e in desk.events}
    pages = [c.params["where"] for c in discord_peer.calls("GET messages")]
    assert pages.count("11") == 2


async def test_the_first_start_reads_nothing_old(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    discord_peer.push_text(f"<@{BOT_ID}> long ago", "11")
    async with running(discord_peer, desk):
        discord_peer.push_text("now")
        await has(desk, "now")
    assert discord_peer.calls("GET messages") == []


async def test_a_start_soon_after_the_end_goes_on_with_the_session(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk):
        discord_peer.push_text("first")
        await has(desk, "first")
    discord_peer.push_text("from somebody new", "7")  # no REST call lists a new direct chat
    async with running(discord_peer, desk):
        await has(desk, "first", "from somebody new")
    assert len(discord_peer.gateway.identifies) == 1
    assert 1000 not in discord_peer.gateway.close_codes


async def test_a_gap_that_cannot_be_read_at_once_is_read_later(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk):
        discord_peer.push_text("first")
        await has(desk, "first")
    discord_peer.gateway.forget()
    discord_peer.push_text("second")
    limited = Fault("status", 429, parameters={"seconds": 0.1})
    discord_peer.faults.add("GET messages", limited, Fault("cut"))
    async with running(discord_peer, desk):
        await has(desk, "first", "second")


async def test_a_process_that_ends_while_it_reads_a_gap_is_followed_by_one_that_reads_on(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk):
        for channel in ("5", "7"):
            discord_peer.push_text("before", channel)
        await has(desk, "before", "before")
    discord_peer.gateway.forget()
    for channel in ("5", "7"):
        discord_peer.push_text("meanwhile", channel)
    discord_peer.faults.add("GET messages", Fault("hang", match={"where": "5"}))
    async with running(discord_peer, desk):
        await desk.until(lambda: len(desk.events) == 3)
    async with running(discord_peer, desk):
        await desk.until(lambda: len(desk.events) == 4)
    assert [e.chat for e in desk.events] == ["5", "7", "7", "5"]
    assert desk.duplicates == 0


# -- refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ({"token": "another.bots.token"}, "token"),
        ({"refuses": 4004}, "token"),
        ({"refuses": 4014}, "Message Content Intent"),
        ({"refuses": 4011}, "too many servers"),
    ],
)
async def test_what_cannot_get_better_ends_the_adapter_with_a_sentence(
    discord_peer: DiscordPeer, prepare: dict[str, Any], words: str
) -> None:
    if "refuses" in prepare:
        discord_peer.gateway.refuses_with = [prepare["refuses"]]
    adapter = make_discord(discord_peer, token=prepare.get("token", discord_peer.token))
    try:
        with pytest.raises(Unauthorized, match=words):
            await asyncio.wait_for(adapter.run(Desk()), 10)
    finally:
        await adapter.aclose()
    assert discord_peer.gateway.opened <= 1


async def test_text_that_is_kept_back_is_said_once(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    with structlog.testing.capture_logs() as logs:
        async with running(discord_peer, desk, message_content=False):
            for n in range(3):
                discord_peer.push_text(f"secret {n}", "11")
            discord_peer.push_text(f"<@{BOT_ID}> for us", "11")
            await has(desk, "for us")
    assert desk.ignored == ["no content"] * 3
    assert [e["event"] for e in logs].count("discord.no_content") == 1
    assert "secret" not in str(logs)


# -- other bots ---------------------------------------------------------------------------------------


async def test_DC_08_two_bots_do_not_answer_each_other_for_ever(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk, allow_bots="mentions"):
        for _ in range(30):
            discord_peer.push_text(f"<@{BOT_ID}> and now?", "11", "77", bot=True)
        discord_peer.push_text(f"<@{BOT_ID}> a person", "11", "500")
        await desk.until(lambda: texts(desk)[-1:] == ["a person"])
    assert texts(desk).count("and now?") == 5
    assert desk.ignored == ["bot rate"] * 25


# -- places -------------------------------------------------------------------------------------------


async def test_DC_15_and_DC_16_threads_and_forum_posts(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    discord_peer.add_channel("9", "thread", parent="11")
    discord_peer.add_channel("60", "thread", parent="6")
    discord_peer.add_channel("61", "thread", parent="6")
    discord_peer.add_channel("12")
    async with running(discord_peer, desk, channels=[11, 6], free_channels=[6]) as adapter:
        discord_peer.push_text(f"<@{BOT_ID}> thread", "9")
        discord_peer.push_text("post", "60", id=60)
        discord_peer.push_text("another", "61", id=61)
        discord_peer.push_text(f"<@{BOT_ID}> elsewhere", "12")
        await has(desk, "thread", "channel-60\n\npost", "channel-61\n\nanother")  # with their titles
        for event in desk.events:
            (piece,) = adapter.render("answer", event.reply_to[0])
            await adapter.send(event.reply_to[0], piece, key=event.dedupe_key)
    assert [(e.chat, e.thread, e.addressed) for e in desk.events] == [(c, c, True) for c in ("9", "60", "61")]
    assert {c: discord_peer.texts(c) for c in ("9", "60", "61", "6", "11")} == {
        "9": ["answer"],
        "60": ["answer"],
        "61": ["answer"],
        "6": [],
        "11": [],
    }
    assert desk.ignored[0] == "another channel"


async def test_a_thread_that_we_joined_needs_no_mention(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    thread = discord_peer.add_channel("9", "thread", parent="11")
    async with running(discord_peer, desk):
        discord_peer.push_text("before", "9")
        await has(desk, "before")
        thread.joined = True
        discord_peer.push_raw("THREAD_MEMBERS_UPDATE", {"id": "9", "guild_id": GUILD, "member_count": 2})
        discord_peer.push_text("after", "9")
        await has(desk, "before", "after")
    assert [e.addressed for e in desk.events] == [False, True]


async def test_a_place_that_cannot_be_asked_for_now_is_asked_again(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    discord_peer.add_channel("9", "thread", parent="11")
    discord_peer.faults.add("GET channel", Fault("status", 429, parameters={"seconds": 0.05}), Fault("cut"))
    async with running(discord_peer, desk, channels=[11]):
        discord_peer.push_text(f"<@{BOT_ID}> hello", "9")
        await has(desk, "hello")
    assert desk.events[0].thread == "9"
