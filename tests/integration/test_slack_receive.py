"""What people write in Slack on its way in: real connections against a workspace, deliveries as Slack makes them."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from hermes.errors import Unauthorized
from hermes.events import Event, Parsed, Target, Verdict, Watermark
from hermes.testing import FakeClock
from tests.integration.slack_desk import make_adapter, running
from tests.integration.telegram_desk import Desk, pass_time
from tests.peers.slack import BOT, USER, Fault, SlackPeer, refused, slower

US = f"<@{USER}>"


def texts(desk: Desk) -> list[str]:
    return [event.text for event in desk.events]


async def taken(peer: SlackPeer, desk: Desk, *wanted: str) -> list[Event]:
    await desk.until(lambda: len(desk.events) >= len(wanted))
    await peer.acknowledged()
    assert texts(desk) == list(wanted)
    return desk.events


# -- commit before acknowledgement ---------------------------------------------------------------------


async def test_nothing_is_acknowledged_before_it_is_stored(slack_peer: SlackPeer) -> None:
    desk = Desk(gate=asyncio.Event())
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.push("one")
        await desk.taking.wait()
        await slack_peer.links.say({"type": "a later thing"})
        assert len(slack_peer.links.unacknowledged) == 1
        assert desk.gate is not None
        desk.gate.set()
        await taken(slack_peer, desk, "one")
    assert slack_peer.links.strays == []


async def test_FT_14_what_cannot_be_stored_is_not_acknowledged_until_it_is(slack_peer: SlackPeer) -> None:
    clock, desk = FakeClock(), Desk(is_full=True)
    async with running(slack_peer, desk, clock):
        await slack_peer.connected()
        await slack_peer.push("kept")
        await pass_time(clock, 600, lambda: desk.refusals >= 3)
        assert len(slack_peer.links.unacknowledged) == 1
        desk.is_full = False
        await pass_time(clock, 600, lambda: bool(desk.events))
        await taken(slack_peer, desk, "kept")
    assert desk.duplicates == 0


async def test_SL_10_a_delivery_that_is_repeated_is_acknowledged_and_taken_once(
    slack_peer: SlackPeer,
) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        first = await slack_peer.push("slow")
        await slack_peer.acknowledged()
        second = await slack_peer.links.deliver(first.kind, first.payload, attempt=1)
        await slack_peer.acknowledged()
        assert len(set(first.ids + second.ids)) == 2
        for envelope in (first, second):
            assert envelope.acked_at is not None
            assert envelope.acked_at - envelope.sent_at < 3
    assert (texts(desk), desk.duplicates) == (["slow"], 1)


async def test_SL_11_a_repeat_that_is_the_first_one_that_arrives_is_taken(slack_peer: SlackPeer) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        payload = slack_peer.world.say("only this")
        await slack_peer.links.deliver("events_api", payload, attempt=1)
        await taken(slack_peer, desk, "only this")


async def test_SL_13_a_post_and_its_mention_are_one_message_in_either_order(slack_peer: SlackPeer) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        for ts, first in (("100.1", False), ("100.2", True)):
            for is_mention in (first, not first):
                await slack_peer.push(f"{US} hi {ts}", "C1", ts=ts, is_mention=is_mention)
        await slack_peer.acknowledged()
    assert (texts(desk), desk.duplicates) == (["hi 100.1", "hi 100.2"], 2)
    assert {event.kind for event in desk.events} == {"group"}


async def test_SL_14_and_SL_18_edits_deletions_joins_and_own_words_are_no_messages(
    slack_peer: SlackPeer,
) -> None:
    own = {"type": "message", "channel": "D1", "ts": "9.1", "text": "mine", "user": USER, "bot_id": BOT}
    edited = {"edited": {"user": "U1", "ts": "9.9"}}
    changed = {"type": "message", "subtype": "message_changed", "channel": "D1", "ts": "9.2", "hidden": True}
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        for event in (
            {**changed, "message": {**own, **edited}},
            {**changed, "message": {**own, "user": "U1", "bot_id": None}},
            changed,
            {
                "type": "message",
                "subtype": "message_deleted",
                "channel": "D1",
                "ts": "9.3",
                "deleted_ts": "9.1",
            },
            {"type": "message", "subtype": "channel_join", "channel": "C1", "ts": "9.4", "user": "U1"},
            own,
            {**own, "user": "U7", "bot_id": "B7", "subtype": "bot_message", "text": f"{US} hello"},
            {**own, "bot_id": None},
        ):
            await slack_peer.push_raw(event)
        await slack_peer.acknowledged()
    assert (desk.events, desk.unparsable) == ([], [])
    assert [(d.chat, d.message_id) for d in desk.deleted] == [("D1", "9.1")]
    assert desk.ignored == [
        "own message", "edited", "edited", "service message", "own message", "bot message", "own message",
    ]  # fmt: skip


async def test_SL_15_an_upload_and_a_me_message_are_messages(slack_peer: SlackPeer) -> None:
    files = [{"id": "F1", "name": "a.txt", "mimetype": "text/plain", "size": 3}]
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.push("", subtype="file_share", files=files)
        await slack_peer.push("waves", subtype="me_message")
        await slack_peer.push("see", subtype="file_share", files=files)
        await taken(slack_peer, desk, "", "waves", "see")
    upload, _, both = desk.events
    assert [(a.kind, a.ref, a.name, a.mime, a.size) for a in upload.attachments] == [
        ("document", "F1", "a.txt", "text/plain", 3)
    ]
    assert (upload.unsupported, both.unsupported, len(both.attachments)) == (None, None, 1)


# -- threads --------------------------------------------------------------------------------------------


async def test_SL_17_a_reply_belongs_to_its_threads_first_message(slack_peer: SlackPeer) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.push(f"{US} root", "C1", ts="100.1")
        await slack_peer.push(f"{US} more", "C1", ts="105.2", thread="100.1")
        root, more = await taken(slack_peer, desk, "root", "more")
    assert root.thread == more.thread == "100.1"
    assert root.reply_to == more.reply_to == (Target("slack", "C1", "100.1"),)


async def test_in_a_thread_where_we_take_part_nobody_mentions_us_again_also_after_a_restart(
    slack_peer: SlackPeer,
) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.push("not for us", "C1", ts="99.1")
        await slack_peer.push(f"{US} root", "C1", ts="100.1")
        await slack_peer.push("more", "C1", "U2", ts="101.1", thread="100.1")
        await slack_peer.push("elsewhere", "C1", "U2", ts="102.1", thread="99.1")
        await slack_peer.push("<@U3> what do you think?", "C1", "U2", ts="102.2", thread="100.1")
        await slack_peer.acknowledged()
    async with running(slack_peer, desk):
        await slack_peer.connected(2)
        await slack_peer.push("still", "C1", ts="103.1", thread="100.1")
        await slack_peer.acknowledged()
    async with running(slack_peer, desk, thread_mention="required"):
        await slack_peer.connected(3)
        await slack_peer.push("strictly", "C1", ts="104.1", thread="100.1")
        await slack_peer.acknowledged()
    assert [e.text for e in desk.events if e.addressed] == ["root", "more", "still"]
    assert [e.text for e in desk.events if not e.addressed] == [
        "not for us", "elsewhere", "@U3 what do you think?", "strictly",
    ]  # fmt: skip


async def test_a_thread_below_a_message_of_ours_begins_with_what_it_answers(slack_peer: SlackPeer) -> None:
    desk = Desk()
    slack_peer.world.add_channel("C1")
    adapter = make_adapter(slack_peer)
    async with running(slack_peer, desk):
        await slack_peer.connected()
        (piece,) = adapter.render("Shall I *order* tea & coffee?", Target("slack", "C1"))
        receipt = await adapter.send(Target("slack", "C1"), piece, key="k")
        await slack_peer.push("yes do it", "C1", thread=receipt.message_id)
        await slack_peer.push("and sugar", "C1", thread=receipt.message_id)
        first, second = await taken(slack_peer, desk, "yes do it", "and sugar")
        slack_peer.methods.has_history = False
        receipt = await adapter.send(Target("slack", "C1"), piece, key="k2")
        await slack_peer.push("no", "C1", thread=receipt.message_id)
        third = (await taken(slack_peer, desk, "yes do it", "and sugar", "no"))[-1]
    await adapter.aclose()
    assert (first.addressed, first.quoted) == (True, "Shall I _order_ tea & coffee?")
    assert (second.addressed, second.quoted, third.addressed, third.quoted) == (True, None, True, None)


@dataclass
class Strict(Desk):
    """A desk whose door lets in everybody but U2."""

    async def take(self, items: Sequence[Parsed], watermark: Watermark | None = None) -> Sequence[Verdict]:
        verdicts = await super().take(items, watermark)
        refused_ = Verdict("refused", reason="not allowed")
        return [
            refused_ if isinstance(item, Event) and item.sender.id == "U2" else verdict
            for item, verdict in zip(items, verdicts, strict=True)
        ]


async def test_whoever_is_not_let_in_does_not_make_us_take_part(slack_peer: SlackPeer) -> None:
    desk = Strict()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        for ts, user in (("100.1", "U2"), ("200.1", "U1")):
            await slack_peer.push(f"{US} root", "C1", user, ts=ts)
            await slack_peer.acknowledged()
            await slack_peer.push("more", "C1", ts=f"{ts}1", thread=ts)
            await slack_peer.acknowledged()
    assert [(e.thread, e.addressed) for e in desk.events if e.text == "more"] == [
        ("100.1", False), ("200.1", True),
    ]  # fmt: skip


async def test_a_thread_that_could_not_be_noted_at_first_is_noted_later(slack_peer: SlackPeer) -> None:
    clock, desk = FakeClock(), Desk(is_full=True)
    async with running(slack_peer, desk, clock):
        await slack_peer.connected()
        await slack_peer.push(f"{US} root", "C1", ts="100.1")
        await pass_time(clock, 60, lambda: desk.refusals >= 1)
        desk.is_full = False
        await pass_time(clock, 60, lambda: bool(desk.events))
        await slack_peer.acknowledged()
    async with running(slack_peer, desk):
        await slack_peer.connected(2)
        await slack_peer.push("more", "C1", ts="101.1", thread="100.1")
        await taken(slack_peer, desk, "root", "more")
    assert desk.events[-1].addressed


# -- names -----------------------------------------------------------------------------------------------


async def test_people_have_names_which_are_asked_for_once_and_never_waited_for(slack_peer: SlackPeer) -> None:
    desk = Desk()
    slack_peer.faults.add("users.info", Fault("hang", match={"user": "U2"}))
    async with running(slack_peer, desk):
        await slack_peer.connected()
        for user in ("U1", "U1", "U2", "U2", "U3"):
            await slack_peer.push("hi", user=user)
        await slack_peer.acknowledged()
    assert [event.sender.name for event in desk.events] == ["Ana", "Ana", "", "", ""]
    assert sorted(call.params["user"] for call in slack_peer.calls("users.info")) == ["U1", "U2", "U3"]
    assert [event.chat_name for event in desk.events] == ["@Ana", "@Ana", "", "", ""]


async def test_channels_have_names_which_are_asked_for_once_and_group_messages_have_none(
    slack_peer: SlackPeer,
) -> None:
    desk = Desk()
    slack_peer.faults.add("conversations.info", refused("missing_scope", channel="C2"))
    async with running(slack_peer, desk):
        await slack_peer.connected()
        for channel in ("C1", "C1", "C2", "G1"):
            await slack_peer.push(f"{US} hi", channel)
        await slack_peer.push_command("hi", "C3")
        await slack_peer.push_command("hi", "D1")
        await desk.until(lambda: len(desk.events) == 6)
    assert [event.chat_name for event in desk.events] == ["#room-c1", "#room-c1", "", "", "#room-c3", ""]
    asked = [call.params["channel"] for call in slack_peer.calls("conversations.info")]
    assert sorted(asked) == ["C1", "C2", "G1"]


# -- what nobody heard -----------------------------------------------------------------------------------


async def test_what_slack_no_longer_repeats_is_read_at_the_next_start(slack_peer: SlackPeer) -> None:
    desk, world = Desk(), slack_peer.world
    root = world.next_ts()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.push(f"{US} root", "C1", ts=root)
        await slack_peer.push("before")
        await slack_peer.acknowledged()
    assert slack_peer.calls("users.conversations") == []  # the first start goes back to nowhere
    missed = [world.say("missed"), world.say("in the thread", "C1", "U2", thread=root), world.say("no", "C1")]
    own = world.say("mine", "D1", USER)
    assert own["event"]["user"] == USER
    async with running(slack_peer, desk):
        await desk.until(lambda: len(desk.events) == 5)
        for payload in missed:
            await slack_peer.links.deliver("events_api", payload, attempt=3)
        await slack_peer.acknowledged()
    assert [(e.text, e.thread, e.addressed) for e in desk.events[2:]] == [
        ("missed", None, True), ("in the thread", root, True), ("no", missed[2]["event"]["ts"], False),
    ]  # fmt: skip
    assert [e.dedupe_key for e in desk.events[2:]] == [
        f"T1:{m['event']['channel']}:{m['event']['ts']}:" for m in missed
    ]
    assert desk.duplicates == 3
    assert set(desk.ignored) <= {"own message"}


async def test_after_a_long_interruption_the_gap_is_read_and_after_a_short_one_not(
    slack_peer: SlackPeer,
) -> None:
    clock, desk = FakeClock(), Desk()
    async with running(slack_peer, desk, clock):
        await slack_peer.connected()
        await slack_peer.push("before")
        await slack_peer.acknowledged()
        slack_peer.links.cut()
        await pass_time(clock, 60, lambda: slack_peer.links.opened == 2)
        await slack_peer.connected(2)
        await slack_peer.server.go_away()
        await pass_time(clock, 100, lambda: False)
        assert slack_peer.calls("users.conversations") == []
        slack_peer.world.say("missed")
        await slack_peer.server.come_back()
        await pass_time(clock, 100, lambda: len(desk.events) == 2)
    assert texts(desk) == ["before", "missed"]


async def test_without_the_scope_for_it_the_gap_is_let_be(slack_peer: SlackPeer) -> None:
    desk = Desk()
    for number in (1, 2):
        async with running(slack_peer, desk):
            await slack_peer.connected(number)
            await slack_peer.push(f"hello {number}")
            await slack_peer.acknowledged()
        slack_peer.methods.has_history = False
        slack_peer.world.say("missed")
    assert texts(desk) == ["hello 1", "hello 2"]
    assert len(slack_peer.calls("users.conversations")) == 1


# -- commands, nonsense ---------------------------------------------------------------------------------


async def test_the_command_is_a_message_and_its_words_may_be_a_command_of_ours(slack_peer: SlackPeer) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        for text in ("what is &lt;this&gt;", "stop", "/new", "stop it", ""):
            await slack_peer.push_command(text)
        events = await taken(slack_peer, desk, "what is <this>", "/stop", "/new", "stop it", "/help")
    assert {(e.chat, e.kind, e.thread, e.addressed, e.private_notice) for e in events} == {
        ("C1", "group", None, True, False)
    }
    assert all(str(e.reply_to[0].answers).startswith(slack_peer.base) for e in events)
    assert len({e.dedupe_key for e in events}) == 5


async def test_what_no_program_can_read_stands_in_nobodys_way(slack_peer: SlackPeer) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.links.say("no JSON")
        await slack_peer.links.say("[]")
        await slack_peer.push_raw(7)
        await slack_peer.push_raw(
            {"type": "message", "channel": ["C1"], "user": "U1", "text": "x", "ts": "1.1"}
        )
        await slack_peer.push_raw({"type": "message", "channel": "C1", "user": "U1", "text": "x", "ts": 1.1})
        await slack_peer.push_raw({"type": "reaction_added"})
        await slack_peer.push_raw({"type": "assistant_thread_started", "assistant_thread": {}})
        await slack_peer.push_raw({"type": "block_actions"}, "interactive")
        await slack_peer.push("good")
        await taken(slack_peer, desk, "good")
    assert len(desk.unparsable) == 3
    assert desk.ignored == ["no message", "assistant thread", "no message"]


# -- the connection -------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_connection_that_slack_replaces_loses_nothing(slack_peer: SlackPeer, reason: str) -> None:
    desk = Desk()
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.push("one")
        await slack_peer.links.say({"type": "disconnect", "reason": reason, "debug_info": {}})
        await slack_peer.connected(2)
        await slack_peer.push("two")
        await taken(slack_peer, desk, "one", "two")
    assert desk.duplicates == 0
    assert [state for state, _ in desk.states] == ["connecting", "connected"]


async def test_a_cut_connection_is_made_anew_and_what_was_not_acknowledged_comes_again(
    slack_peer: SlackPeer,
) -> None:
    desk = Desk(gate=asyncio.Event())
    async with running(slack_peer, desk):
        await slack_peer.connected()
        await slack_peer.push("under way")
        await desk.taking.wait()
        slack_peer.links.cut()
        await slack_peer.connected(2)
        assert desk.gate is not None
        desk.gate.set()
        await slack_peer.acknowledged()
        await slack_peer.push("after")
        await taken(slack_peer, desk, "under way", "after")
    assert desk.duplicates == 1
    assert [state for state, _ in desk.states] == ["connecting", "connected", "connecting", "connected"]


async def test_a_connection_that_answers_no_ping_is_dead(slack_peer: SlackPeer) -> None:
    desk = Desk()
    slack_peer.links.answers_pings = False
    async with running(slack_peer, desk, ping_every=0.1):
        await slack_peer.connected(2)
        slack_peer.links.answers_pings = True
        await slack_peer.push("heard")
        await taken(slack_peer, desk, "heard")


async def test_pings_keep_a_silent_connection_alive(slack_peer: SlackPeer) -> None:
    desk = Desk()
    async with running(slack_peer, desk, ping_every=0.05):
        await slack_peer.connected()
        before, began = desk.beats, time.monotonic()
        while desk.beats < before + 5:
            assert time.monotonic() - began < 10
            await asyncio.sleep(0)
    assert slack_peer.links.opened == 1


async def test_D5_a_revoked_token_ends_only_this_adapter_and_says_what_to_do(slack_peer: SlackPeer) -> None:
    for method, error, words in (
        ("auth.test", "account_inactive", "OAuth & Permissions"),
        ("apps.connections.open", "invalid_auth", "App-Level Tokens"),
        ("apps.connections.open", "not_allowed_token_type", "connections:write"),
    ):
        slack_peer.faults.add(method, refused(error))
        async with running(slack_peer, Desk()) as task:
            with pytest.raises(Unauthorized, match=error) as told:
                await task
        assert words in str(told.value)
    assert slack_peer.links.opened == 0


async def test_troubles_that_pass_are_waited_out_as_slack_says(slack_peer: SlackPeer) -> None:
    clock, desk = FakeClock(), Desk()
    slack_peer.faults.add("auth.test", slower(17), Fault("status", 502), Fault("malformed"))
    slack_peer.faults.add("apps.connections.open", slower(20, status=200), Fault("cut"), Fault("lost"))
    async with running(slack_peer, desk, clock):
        waited = await pass_time(clock, 600, lambda: slack_peer.links.opened == 1)
        await slack_peer.connected()
        await slack_peer.push("at last")
        await taken(slack_peer, desk, "at last")
    assert 37 <= waited <= 200
    assert slack_peer.faults.pending() == 0


async def test_a_server_that_ends_each_connection_is_not_asked_in_a_circle(slack_peer: SlackPeer) -> None:
    clock, desk = FakeClock(), Desk()
    async with running(slack_peer, desk, clock):
        for number in range(1, 4):
            await slack_peer.connected(number)
            await slack_peer.links.say({"type": "disconnect", "reason": "link_disabled"})
        await desk_says(desk, "at once (link_disabled)")
        await pass_time(clock, 60, lambda: slack_peer.links.opened == 4)
        await slack_peer.push("well again")
        await taken(slack_peer, desk, "well again")


async def desk_says(desk: Desk, words: str) -> None:
    async with asyncio.timeout(10):
        while not any(words in (reason or "") for _, reason in desk.states):
            await asyncio.sleep(0)


# -- small signs ---------------------------------------------------------------------------------------


async def test_what_was_taken_shows_a_reaction_and_what_is_refused_is_not_asked_for_again(
    slack_peer: SlackPeer,
) -> None:
    desk = Desk()
    async with running(slack_peer, desk, reactions="ack", prompts=["What is new?"]):
        await slack_peer.connected()
        slack_peer.faults.add("reactions.add", slower(0), Fault("lost"))
        for text in ("one", "two", "three"):
            await slack_peer.push(text)
        await taken(slack_peer, desk, "one", "two", "three")
        third = slack_peer.channels["D1"].messages[2]
        await slack_peer.wait_for(lambda: third.reactions == ["eyes"])
        thread = {"user_id": "U1", "channel_id": "D1", "thread_ts": third.ts, "context": {}}
        await slack_peer.push_raw({"type": "assistant_thread_started", "assistant_thread": thread})
        await slack_peer.wait_for(lambda: bool(slack_peer.calls("assistant.threads.setSuggestedPrompts")))
        slack_peer.scopes = slack_peer.scopes.replace("reactions:write,", "")
        await slack_peer.push("four")
        await slack_peer.wait_for(lambda: len(slack_peer.calls("reactions.add")) == 4)
        await slack_peer.push("five")
        await slack_peer.acknowledged()
        await slack_peer.push_raw({"type": "assistant_thread_started", "assistant_thread": thread})
        await slack_peer.wait_for(lambda: len(slack_peer.calls("assistant.threads.setSuggestedPrompts")) == 2)
    (asked, _) = slack_peer.calls("assistant.threads.setSuggestedPrompts")
    assert asked.params["prompts"] == [{"title": "What is new?", "message": "What is new?"}]
    assert [call.outcome for call in slack_peer.calls("reactions.add")] == [
        "fault:status", "fault:lost", "ok", "refused",
    ]  # fmt: skip
