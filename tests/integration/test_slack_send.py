"""Replies on their way out: the real SDK against a workspace, which checks every call."""

import re
from typing import Any

import pytest

from adapters.slack.adapter import Slack
from hermes.adapter import Piece, Receipt
from hermes.errors import Gone, NotTaken, OutcomeUnknown, Rejected, Unauthorized, Unreachable
from hermes.events import Target
from tests.integration.slack_desk import make_adapter, opened
from tests.peers.slack import Fault, SlackPeer, refused, slower
from tests.peers.slack.mrkdwn import code_blocks, pings
from tests.peers.telegram import units

CHAT, THREAD = Target("slack", "C1"), Target("slack", "C1", "100.1")


@pytest.fixture
def peer(slack_peer: SlackPeer) -> SlackPeer:
    slack_peer.world.add_channel("C1")
    slack_peer.world.say("root", "C1", ts="100.1")
    return slack_peer


async def deliver(adapter: Slack, markdown: str, target: Target = CHAT) -> list[Receipt]:
    pieces = adapter.render(markdown, target)
    return [await adapter.send(target, piece, key=f"k{i}") for i, piece in enumerate(pieces)]


def sources(peer: SlackPeer) -> list[str]:
    return [call.params["text"] for call in peer.calls("chat.postMessage")]


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


# -- what is shown -----------------------------------------------------------------------------------------


async def test_SL_01_SL_02_SL_03_what_is_escaped_and_what_is_marked(peer: SlackPeer) -> None:
    async with opened(peer) as adapter:
        await deliver(adapter, "if a < b && c > d use <tag> &amp;")
        await deliver(adapter, "run `foo_bar` on x86_64, path C:\\tmp")
        await deliver(adapter, "**Hi** see [a&b](https://x.test/?p=1&q=2) and `**not bold** <x>`")
    assert sources(peer) == [
        "if a &lt; b &amp;&amp; c &gt; d use &lt;tag&gt; &amp;amp;",
        "run `foo_bar` on x86_64, path C:\\tmp",
        "*Hi* see <https://x.test/?p=1&amp;q=2|a&amp;b> and `**not bold** &lt;x&gt;`",
    ]
    assert peer.texts("C1") == [
        "if a < b && c > d use <tag> &amp;",
        "run foo_bar on x86_64, path C:\\tmp",
        "Hi see a&b and **not bold** <x>",
    ]


async def test_quotes_are_quotes_and_a_line_that_begins_with_their_mark_is_none(peer: SlackPeer) -> None:
    async with opened(peer) as adapter:
        await deliver(adapter, "> said\n> twice\n\nso\n\n\\> 5\n>6")
    assert sources(peer) == ["> said\n> twice\n\nso\n\n\u200b&gt; 5\n\u200b&gt;6"]


async def test_SL_06_a_long_paragraph_breaks_no_block(peer: SlackPeer) -> None:
    paragraph = "word " * 608 + "x" * 2
    async with opened(peer) as adapter:
        await deliver(adapter, paragraph)
    assert "".join(peer.texts("C1")) == paragraph
    assert all("blocks" not in call.params for call in peer.calls("chat.postMessage"))


@pytest.mark.parametrize("reply", ["word " * 1800, "<&>" * 3000, "\U0001f3b2" * 4500])
async def test_SL_08_a_long_reply_is_several_messages_in_one_thread(peer: SlackPeer, reply: str) -> None:
    peer.methods.longest = 4000
    async with opened(peer) as adapter:
        receipts = await deliver(adapter, reply, THREAD)
    shown = peer.texts("C1", "100.1")
    assert len(shown) >= 3
    assert squeezed("".join(shown)) == squeezed(reply)
    assert len({r.message_id for r in receipts}) == len(shown) == len(sources(peer))
    assert all(units(source) <= 4000 for source in sources(peer))


async def test_SL_09_a_long_code_block_is_code_in_every_message(peer: SlackPeer) -> None:
    async with opened(peer) as adapter:
        await deliver(adapter, "```python\n" + "x = 1\n" * 1500 + "```")
    assert len(sources(peer)) >= 3
    assert all(source.count("```") == 2 for source in sources(peer))
    lines = [line for source in sources(peer) for block in code_blocks(source) for line in block.split("\n")]
    assert lines == ["x = 1"] * 1500


LOUD = "<!here> <!channel> <!everyone> <@U1> <!subteam^S1> @here <!here|x> &lt;!here&gt; [x](https://a.test) `<!here>`"


@pytest.mark.parametrize(
    ("allowed", "wanted"),
    [
        ("none", []),
        ("users", ["@U1"]),
        ("all", ["!here", "!channel", "!everyone", "@U1", "!subteam^S1"]),
    ],
)
async def test_nobody_is_notified_unless_that_is_allowed(
    peer: SlackPeer, allowed: str, wanted: list[str]
) -> None:
    async with opened(peer, pings=allowed) as adapter:
        await deliver(adapter, LOUD)
    (source,) = sources(peer)
    assert pings(source) == wanted
    if allowed == "none":
        assert peer.texts("C1") == [LOUD.replace("[x](https://a.test)", "x").replace("`", "")]
    assert all(not call.params.get("link_names") for call in peer.calls("chat.postMessage"))


# -- outcomes ----------------------------------------------------------------------------------------------


def once() -> Piece:
    return Piece("once", {"text": "once"})


@pytest.mark.parametrize("target", [CHAT, THREAD], ids=["channel", "thread"])
@pytest.mark.parametrize("fault", ["lost", "malformed"])
async def test_after_a_lost_answer_the_message_is_found_and_not_sent_again(
    peer: SlackPeer, target: Target, fault: str
) -> None:
    peer.methods.page = 2  # it is found on a later page too
    peer.faults.add("chat.postMessage", Fault("lost") if fault == "lost" else Fault("malformed"))
    async with opened(peer) as adapter:
        with pytest.raises(OutcomeUnknown):
            await adapter.send(target, once(), key="a")
        for n in range(3):
            peer.world.say(f"meanwhile {n}", "C1", thread=target.thread)
        receipt = await adapter.send(target, once(), key="a", again=True)
        await adapter.send(target, once(), key="b", again=True)
    assert peer.texts("C1") == ["once", "once"]
    assert peer.channels["C1"].messages[1].ts == receipt.message_id


@pytest.mark.parametrize("fault", [Fault("status", 502), Fault("cut"), refused("fatal_error")], ids=str)
async def test_what_did_not_arrive_is_sent_again_and_not_marked(peer: SlackPeer, fault: Fault) -> None:
    peer.faults.add("chat.postMessage", fault)
    async with opened(peer) as adapter:
        with pytest.raises(OutcomeUnknown):
            await adapter.send(CHAT, once(), key="a")
        await adapter.send(CHAT, once(), key="a", again=True)
    assert peer.texts("C1") == ["once"]


async def test_what_cannot_be_looked_up_is_marked(peer: SlackPeer) -> None:
    peer.methods.has_history = False
    async with opened(peer) as adapter:
        await adapter.send(CHAT, once(), key="a", again=True)
        peer.methods.has_history, peer.methods.page = True, 1
        for n in range(6):
            peer.world.say(f"much {n}", "C1")
        await adapter.send(CHAT, once(), key="b", again=True)
    assert peer.texts("C1") == ["↻ once", "↻ once"]


@pytest.mark.parametrize("status", [429, 200])
async def test_a_pause_is_kept_as_long_as_slack_says(peer: SlackPeer, status: int) -> None:
    peer.faults.add("chat.postMessage", slower(7, status=status))
    async with opened(peer) as adapter:
        with pytest.raises(NotTaken) as told:
            await adapter.send(CHAT, once(), key="a")
    assert told.value.retry_after == 7.0
    assert peer.texts("C1") == []


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ("invalid_auth", Unauthorized, "bot token"),
        ("account_inactive", Unauthorized, "removed"),
        ("token_revoked", Unauthorized, "revoked"),
        ("token_expired", Unauthorized, "expired"),
        ("channel_not_found", Rejected, "no such channel"),
        ("not_in_channel", Rejected, "/invite"),
        ("is_archived", Rejected, "archived"),
        ("msg_too_long", Rejected, "too long"),
        ("a_later_error", Rejected, "a_later_error"),
        ("service_unavailable", NotTaken, "at the moment"),
        ("internal_error", OutcomeUnknown, "internal_error"),
    ],
)
async def test_errors_have_a_kind_and_a_sentence(
    peer: SlackPeer, error: str, kind: type[Exception], words: str
) -> None:
    peer.faults.add("chat.postMessage", refused(error))
    async with opened(peer) as adapter:
        with pytest.raises(kind, match=error) as told:
            await adapter.send(CHAT, once(), key="a")
    assert words in str(told.value)
    assert "xoxb-" not in str(told.value)


async def test_a_missing_scope_is_named(peer: SlackPeer) -> None:
    more: dict[str, Any] = {"needed": "chat:write", "provided": "im:history"}
    peer.faults.add("chat.postMessage", Fault("status", 200, "missing_scope", parameters=more))
    async with opened(peer) as adapter:
        with pytest.raises(Rejected, match="chat:write"):
            await adapter.send(CHAT, once(), key="a")


async def test_what_answers_in_slacks_place_is_no_verdict_of_slack(peer: SlackPeer) -> None:
    async with opened(peer, base_url=f"{peer.base}/nowhere/") as adapter:
        with pytest.raises(NotTaken, match="base_url"):
            await adapter.send(CHAT, once(), key="a")


async def test_a_closed_adapter_reaches_nobody(peer: SlackPeer) -> None:
    adapter = make_adapter(peer)
    await adapter.aclose()
    with pytest.raises(Unreachable):
        await adapter.send(CHAT, once(), key="a")


# -- places ------------------------------------------------------------------------------------------------


async def test_a_thread_that_is_gone_loses_no_text(peer: SlackPeer) -> None:
    async with opened(peer) as adapter:
        (receipt,) = await deliver(adapter, "kept", Target("slack", "C1", "55.5"))
    assert peer.texts("C1") == ["kept"]
    assert receipt.note is not None
    assert "55.5" in receipt.note


async def test_a_person_is_written_to_in_our_direct_conversation(peer: SlackPeer) -> None:
    person = Target("slack", "U7")
    async with opened(peer) as adapter:
        (receipt,) = await deliver(adapter, "hello", person)
        await adapter.edit(person, receipt.message_id, Piece("hello you", {"text": "hello you"}))
        await adapter.send(person, once(), key="b")
    assert peer.texts("D7") == ["hello you", "once"]
    assert len(peer.calls("conversations.open")) == 1


async def test_a_command_where_we_are_no_member_is_answered_to_who_asked(peer: SlackPeer) -> None:
    peer.world.add_channel("C2", is_member=False)
    asked = Target("slack", "C2", None, f"{peer.base}/commands/T1/1")
    async with opened(peer) as adapter:
        assert adapter.render_live("grows", asked) is None
        (receipt,) = await deliver(adapter, "**yes**", asked)
        assert peer.responses == [{"text": "*yes*", "response_type": "ephemeral"}]
        assert receipt.note is not None
        peer.answers_responses = 0
        with pytest.raises(Rejected, match="/invite"):
            await deliver(adapter, "too late", asked)
        strange = Target("slack", "C2", None, "https://elsewhere.test/commands")
        with pytest.raises(Rejected, match="/invite"):
            await deliver(adapter, "not there", strange)


# -- growing, status ---------------------------------------------------------------------------------------


async def test_a_message_grows_and_a_lost_one_is_gone(peer: SlackPeer) -> None:
    async with opened(peer) as adapter:
        first = adapter.render_live("**one** and `tw", CHAT)
        assert first is not None
        receipt = await adapter.send(CHAT, first, key="a")
        (last,) = adapter.render("**one** and `two`", CHAT)
        for _ in range(2):
            assert (await adapter.edit(CHAT, receipt.message_id, last)).message_id == receipt.message_id
        with pytest.raises(Gone):
            await adapter.edit(CHAT, "1.000001", last)
        peer.faults.add("chat.update", slower(3), refused("edit_window_closed"))
        with pytest.raises(NotTaken):
            await adapter.edit(CHAT, receipt.message_id, last)
        with pytest.raises(Gone):
            await adapter.edit(CHAT, receipt.message_id, last)
    (message,) = [m for m in peer.channels["C1"].messages if m.user == "UBOT"]
    assert message.versions[0] == "*one* and"
    assert message.source == "*one* and `two`"


async def test_a_status_shows_in_threads_and_is_not_asked_for_where_there_is_none(peer: SlackPeer) -> None:
    async with opened(peer) as adapter:
        await adapter.typing(THREAD)
        await adapter.typing(CHAT)
        peer.faults.add("assistant.threads.setStatus", refused("missing_scope"))
        await adapter.typing(THREAD)
        await adapter.typing(THREAD)
    calls = peer.calls("assistant.threads.setStatus")
    assert [call.outcome for call in calls] == ["ok", "fault:status"]
    assert calls[0].params["thread_ts"] == "100.1"
