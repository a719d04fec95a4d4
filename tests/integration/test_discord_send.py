"""What is sent to Discord is shown once, to those who shall see it, whatever the server answers."""

import asyncio
import time
from typing import Any

import pytest

from adapters.discord.adapter import Discord
from hermes.adapter import Piece
from hermes.errors import AdapterError, Gone, NotTaken, OutcomeUnknown, Rejected
from hermes.events import Event, Target
from tests.integration.discord_desk import make_discord, opened, running
from tests.integration.telegram_desk import Desk
from tests.peers.discord import BOT_ID, DiscordPeer, Fault, Interaction, refusal, units

DIRECT = Target("discord", "5")
CHANNEL = Target("discord", "11")


async def say(
    adapter: Discord, target: Target, markdown: str, key: str = "k", *, again: bool = False
) -> list[str]:
    """Send a whole reply; the ids of its messages."""
    pieces = adapter.render(markdown, target)
    receipts = [await adapter.send(target, p, key=f"{key}:{i}", again=again) for i, p in enumerate(pieces)]
    return [receipt.message_id for receipt in receipts]


def bodies(peer: DiscordPeer, call: str = "POST message") -> list[dict[str, Any]]:
    return [c.params for c in peer.calls(call)]


# -- a reply ------------------------------------------------------------------------------------------


async def test_DC_01_a_long_reply_is_three_messages_within_the_limit(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        await say(adapter, DIRECT, "a" * 4500)
    shown = discord_peer.texts("5")
    assert "".join(shown) == "a" * 4500
    assert [units(t) <= 2000 for t in shown] == [True] * 3


async def test_DC_02_a_fence_with_an_endless_info_line_is_sent_balanced(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        await say(adapter, DIRECT, "```" + "k" * 1990 + "\n" + "line\n" * 900 + "```")
    shown = discord_peer.texts("5")
    assert all(units(t) <= 2000 and t.count("```") == 2 for t in shown)
    assert "".join(shown).count("line") == 900


async def test_DC_04_what_shows_nothing_is_not_sent(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        assert await say(adapter, DIRECT, "\n \u200b\n") == []
        assert adapter.render_live("\n", DIRECT) is None
    assert discord_peer.calls() == []


async def test_DC_09_nobody_is_pinged_by_what_a_model_writes(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        (sent,) = await say(adapter, CHANNEL, "@everyone see <@&555> and <@42>")
        await adapter.edit(CHANNEL, sent, Piece("@here too"))
    (body,), (edit,) = bodies(discord_peer), bodies(discord_peer, "PATCH message")
    assert body["content"] == "@everyone see <@&555> and <@42>"
    assert body["allowed_mentions"] == edit["allowed_mentions"] == {"parse": [], "replied_user": False}


async def test_an_answer_refers_to_its_question_once_and_also_when_that_is_gone(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        asked = discord_peer.push_text(f"<@{BOT_ID}> tell me", "11")
        await desk.until(lambda: len(desk.events) == 1)
        target = desk.events[0].reply_to[0]
        await say(adapter, target, "word " * 700)
        del discord_peer.world.channels["11"].messages[asked["id"]]
        await say(adapter, target, "late", "l")
        no_history = Fault("status", 400, "Cannot reply", parameters={"code": 160002})
        discord_peer.faults.add("POST message", no_history)
        await say(adapter, target, "without", "w")
    references = [b.get("message_reference", {}).get("message_id") for b in bodies(discord_peer)]
    assert references == [asked["id"], None, asked["id"], asked["id"], None]
    assert discord_peer.texts("11")[-2:] == ["late", "without"]


async def test_a_channel_in_the_place_of_a_thread_is_not_written_to(discord_peer: DiscordPeer) -> None:
    """Who may write to a chat may write to its threads; on Discord that part named any channel."""
    async with opened(discord_peer) as adapter:
        for target in (Target("discord", "5", "11"), Target("discord", "@500", "11")):
            with pytest.raises(Rejected, match="discord:11"):
                await say(adapter, target, "elsewhere")
        await say(adapter, Target("discord", "11", "11"), "itself")
    assert discord_peer.texts("11") == ["itself"]
    assert discord_peer.texts("5") == []


async def test_a_person_can_be_written_to_first(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        discord_peer.faults.add("POST direct channel", Fault("lost"))
        with pytest.raises(NotTaken):
            await say(adapter, Target("discord", "@500"), "hello")
        for n in range(2):
            await say(adapter, Target("discord", "@500"), f"hello {n}", str(n))
        with pytest.raises(Rejected):
            await say(adapter, Target("discord", "@ana"), "hello")
    assert discord_peer.texts("1500") == ["hello 0", "hello 1"]
    assert len(discord_peer.calls("POST direct channel")) == 2


async def test_an_answer_that_grew_in_a_thread_that_was_archived_is_sent_anew(
    discord_peer: DiscordPeer,
) -> None:
    async with opened(discord_peer) as adapter:
        (sent,) = await say(adapter, CHANNEL, "half")
        archived = Fault("status", 400, "Thread is archived", parameters={"code": 50083})
        discord_peer.faults.add("PATCH message", archived)
        with pytest.raises(Gone):
            await adapter.edit(CHANNEL, sent, Piece("whole"))


# -- lost answers and pauses --------------------------------------------------------------------------


async def test_a_lost_answer_is_found_again_by_its_nonce(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        discord_peer.faults.add("POST message", Fault("lost"), Fault("status", 502), Fault("malformed"))
        for again in (False, True, True):
            with pytest.raises(OutcomeUnknown):
                await say(adapter, DIRECT, "once", again=again)
        await say(adapter, DIRECT, "once", again=True)
    fresh = make_discord(discord_peer)  # a new process does not know when the first try was
    try:
        await say(fresh, DIRECT, "once", again=True)
        await say(fresh, DIRECT, "lost before", "other", again=True)
    finally:
        await fresh.aclose()
    assert discord_peer.texts("5") == ["once", "↻ lost before"]
    nonces = {b["nonce"] for b in bodies(discord_peer) if b["content"].endswith("once")}
    assert len(nonces) == 1
    assert all(len(n) == 25 for n in nonces)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("status", 500), OutcomeUnknown),
        (Fault("hang"), OutcomeUnknown),
        (refusal(403, "Missing Permissions"), Rejected),
        (refusal(400, "Invalid Form Body"), Rejected),
    ],
)
async def test_each_failure_says_whether_it_was_sent(
    discord_peer: DiscordPeer, fault: Fault, kind: type[AdapterError]
) -> None:
    async with opened(discord_peer) as adapter:
        discord_peer.faults.add("POST message", fault)
        sending = asyncio.create_task(say(adapter, DIRECT, "x"))
        await discord_peer.wait_for(lambda: bool(discord_peer.calls("POST message")))
        if fault.kind == "hang":
            discord_peer.gateway.cut()
            await discord_peer.server.go_away()
        with pytest.raises(kind):
            await sending
    assert discord_peer.texts("5") == []


async def test_a_429_parks_its_channel_and_a_global_one_everything(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        discord_peer.faults.add("POST message", Fault("status", 429, parameters={"seconds": 0.3}))
        with pytest.raises(NotTaken) as told:
            await say(adapter, DIRECT, "x")
        assert told.value.retry_after == 0.3
        before = len(discord_peer.calls())
        with pytest.raises(NotTaken):
            await say(adapter, DIRECT, "x")
        assert len(discord_peer.calls()) == before  # nothing was asked while the pause holds
        await say(adapter, CHANNEL, "another channel")

        everything = Fault("status", 429, parameters={"seconds": 0.3, "global": True})
        discord_peer.faults.add("POST message", everything)
        for target in (CHANNEL, DIRECT):
            with pytest.raises(NotTaken):
                await say(adapter, target, "y", "y")
    assert discord_peer.texts("11") == ["another channel"]


async def test_a_ban_by_the_server_before_discord_keeps_us_still(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        ban = Fault("status", 429, parameters={"seconds": 40, "via": False})
        discord_peer.faults.add("POST message", ban)
        for target in (DIRECT, CHANNEL):
            with pytest.raises(NotTaken) as told:
                await say(adapter, target, "x")
            assert 39 < (told.value.retry_after or 0) <= 40
    assert len(discord_peer.calls()) == 1


async def test_typing_goes_where_the_answer_goes(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        await adapter.typing(CHANNEL)
        with pytest.raises(Rejected):
            await adapter.typing(Target("discord", "404"))
        await discord_peer.stop()
        with pytest.raises(AdapterError):
            await adapter.typing(CHANNEL)
    assert [c.params["where"] for c in discord_peer.calls("POST typing")] == ["11", "404"]


# -- edits --------------------------------------------------------------------------------------------


async def test_a_message_can_be_changed_and_one_that_is_gone_says_so(discord_peer: DiscordPeer) -> None:
    async with opened(discord_peer) as adapter:
        (sent,) = await say(adapter, DIRECT, "half")
        (piece,) = adapter.render("whole", DIRECT)
        for _ in range(2):
            assert (await adapter.edit(DIRECT, sent, piece)).message_id == sent
        assert discord_peer.texts("5") == ["whole"]
        del discord_peer.world.channels["5"].messages[sent]
        with pytest.raises(Gone):
            await adapter.edit(DIRECT, sent, piece)
        discord_peer.faults.add("PATCH message", Fault("status", 429, parameters={"seconds": 0.1}))
        with pytest.raises(NotTaken):
            await adapter.edit(DIRECT, sent, piece)
        live = adapter.render_live("done **half", DIRECT)
        assert live is not None
        assert live.text == "done"


# -- slash commands -----------------------------------------------------------------------------------


async def asked(peer: DiscordPeer, desk: Desk, name: str, text: str) -> tuple[Interaction, Event]:
    """Somebody uses a slash command: the interaction, and the event that it became."""
    before = len(desk.events)
    interaction = peer.push_command(name, text)
    await desk.until(lambda: len(desk.events) == before + 1)
    return interaction, desk.events[-1]


async def test_DC_11_a_slow_command_is_deferred_at_once_and_answered_once(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        began = time.monotonic()
        interaction, event = await asked(discord_peer, desk, "ask", "a hard question")
        await discord_peer.wait_for(lambda: interaction.state == "deferred")
        assert time.monotonic() - began < 1.0
        target = event.reply_to[0]
        await adapter.typing(target)  # it shows "is thinking" by itself
        (sent,) = await say(adapter, target, "half of it")
        (piece,) = adapter.render("the answer", target)
        await adapter.edit(target, sent, piece)
        discord_peer.faults.add("PATCH interaction", Fault("lost"))
        with pytest.raises(OutcomeUnknown):
            await say(adapter, target, "the answer")
        await say(adapter, target, "the answer", again=True)
    assert event.text == "a hard question"
    assert discord_peer.texts("11") == ["the answer"]
    assert discord_peer.calls("POST message") == discord_peer.calls("POST typing") == []


async def test_DC_11_the_deferral_comes_after_the_commit_and_the_answer_after_the_deferral(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk(gate=asyncio.Event())
    async with running(discord_peer, desk) as adapter:
        assert desk.gate is not None
        desk.gate.set()
        await desk.until(lambda: bool(desk.watermarks))
        desk.gate.clear()
        desk.taking.clear()
        discord_peer.faults.add("POST interaction", Fault("delay", seconds=0.3))
        interaction = discord_peer.push_command("help", channel="11")
        await desk.taking.wait()
        assert discord_peer.calls("POST interaction") == []
        desk.gate.set()
        await desk.until(lambda: len(desk.events) == 1)
        await say(adapter, desk.events[0].reply_to[0], "quicker than the deferral")
        assert interaction.state == "replied"
    assert discord_peer.texts("11") == ["quicker than the deferral"]
    assert discord_peer.refusals == []


async def test_DC_12_an_answer_that_comes_too_late_for_its_command_is_a_message(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk) as adapter:
        interaction, event = await asked(discord_peer, desk, "ask", "long")
        await discord_peer.wait_for(lambda: interaction.state == "deferred")
        target = event.reply_to[0]
        (sent,) = await say(adapter, target, "it grows")
        interaction.state = "expired"
        (piece,) = adapter.render("the end", target)
        await adapter.edit(target, sent, piece)  # as any other message of ours
        assert discord_peer.texts("11") == ["the end"]
        await say(adapter, target, "once more", "m")

        late = Fault("status", 404, "Unknown interaction", parameters={"code": 10062})
        discord_peer.faults.add("POST interaction", late)
        interaction, event = await asked(discord_peer, desk, "ask", "late")
        await say(adapter, event.reply_to[0], "the turn runs all the same", "n")
    assert discord_peer.texts("11") == ["the end", "once more", "the turn runs all the same"]


async def test_a_command_that_may_not_be_answered_is_told_so_to_its_sender_alone(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk, channels=[12]):
        interaction = discord_peer.push_command("help", channel="11")
        await discord_peer.wait_for(lambda: interaction.state == "replied")
    assert interaction.ephemeral
    assert desk.ignored == ["another channel"]


# -- threads ------------------------------------------------------------------------------------------


async def mentioned(peer: DiscordPeer, desk: Desk, text: str = "what is this?") -> Event:
    before = len(desk.events)
    peer.push_text(f"<@{BOT_ID}> {text}", "11")
    await desk.until(lambda: len(desk.events) == before + 1)
    return desk.events[-1]


async def test_an_answer_may_begin_a_thread_and_what_follows_stays_in_it(discord_peer: DiscordPeer) -> None:
    desk = Desk()
    async with running(discord_peer, desk, auto_thread=True) as adapter:
        event = await mentioned(discord_peer, desk)
        target = event.reply_to[0]
        await adapter.typing(target)
        (sent, *_) = await say(adapter, target, "word " * 700)
        (piece,) = adapter.render("changed", target)
        await adapter.edit(target, sent, piece)
        discord_peer.push_text("and then?", event.chat)
        await desk.until(lambda: len(desk.events) == 2)
    follow_up = desk.events[1]
    assert (follow_up.chat, follow_up.thread, follow_up.addressed) == (event.chat, event.chat, True)
    assert len(discord_peer.texts(event.chat)) == 2
    assert discord_peer.texts("11") == []
    (made,) = discord_peer.calls("POST thread")
    assert made.params["name"] == "what is this?"


async def test_a_thread_that_may_not_be_made_loses_nothing_and_one_that_is_there_is_used(
    discord_peer: DiscordPeer,
) -> None:
    desk = Desk()
    async with running(discord_peer, desk, auto_thread=True) as adapter:
        discord_peer.world.thread_refusals = True
        event = await mentioned(discord_peer, desk)
        await say(adapter, event.reply_to[0], "word " * 700)
        assert len(discord_peer.texts("11")) == 2
        assert len(discord_peer.calls("POST thread")) == 1
        discord_peer.world.thread_refusals = False
        event = await mentioned(discord_peer, desk)
        discord_peer.faults.add("POST thread", Fault("lost"))
        with pytest.raises(NotTaken):
            await say(adapter, event.reply_to[0], "here", "b")
        await say(adapter, event.reply_to[0], "here", "b")
    assert discord_peer.texts(event.chat) == ["here"]
