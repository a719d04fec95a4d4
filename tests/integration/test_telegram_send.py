"""Replies on their way out: the real SDK against the Bot API peer, which checks every call."""

import asyncio
import re
from typing import Any

import pytest

from adapters.telegram.adapter import Telegram
from hermes.adapter import Receipt
from hermes.errors import NotTaken, OutcomeUnknown, Rejected, Unauthorized, Unreachable
from hermes.events import Target
from tests.integration.telegram_desk import make_adapter, opened
from tests.peers.telegram import Fault, TelegramPeer, refusal, too_many

CHAT = Target("telegram", "5")


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


async def deliver(adapter: Telegram, markdown: str, target: Target = CHAT) -> list[Receipt]:
    pieces = adapter.render(markdown, target)
    return [await adapter.send(target, piece, key=f"k{i}") for i, piece in enumerate(pieces)]


@pytest.fixture
def peer(telegram_peer: TelegramPeer) -> TelegramPeer:
    telegram_peer.add_chat(5)
    return telegram_peer


def sends(peer: TelegramPeer) -> list[dict[str, Any]]:
    return [call.params for call in peer.calls("sendMessage")]


# -- what is shown -----------------------------------------------------------------------------------


async def test_TG_01_emoji_are_counted_in_utf16_units(peer: TelegramPeer) -> None:
    reply = "\U0001f3b2" * 2049
    async with opened(peer) as adapter:
        receipts = await deliver(adapter, reply)
    shown = peer.chats[5].texts()
    assert len(shown) == len(sends(peer)) >= 2
    assert all(utf16(text) <= 4096 for text in shown)
    assert "".join(shown) == reply
    assert [r.message_id for r in receipts] == [str(m.message_id) for m in peer.chats[5]]


@pytest.mark.parametrize("reply", ["!" * 4096, "." * 9000, "x=1-y!" * 1500, "(1.5)+{2}|3" * 900])
async def test_TG_03_nothing_is_escaped_so_no_cut_falls_into_an_escape(
    peer: TelegramPeer, reply: str
) -> None:
    async with opened(peer) as adapter:
        await deliver(adapter, reply)
    shown = peer.chats[5].texts()
    assert "".join(shown) == reply
    assert all(utf16(text) <= 4096 for text in shown)
    assert all("parse_mode" not in params and "\\" not in params["text"] for params in sends(peer))


@pytest.mark.parametrize(
    "reply",
    ["if a<b & c>d then " * 700, "&lt;b&gt; &amp;amp; " * 500, "<i>no &lt;tag&gt;</i> &copy; <b " * 400],
)
async def test_TG_04_prose_with_angle_brackets_arrives_as_it_is(peer: TelegramPeer, reply: str) -> None:
    async with opened(peer) as adapter:
        await deliver(adapter, reply)
    shown = peer.chats[5].texts()
    assert re.sub(r"\s", "", "".join(shown)) == re.sub(r"\s", "", reply)
    assert all(utf16(text) <= 4096 for text in shown)


async def test_TG_05_a_long_code_block_is_code_in_every_piece(peer: TelegramPeer) -> None:
    lines = ["print(123456789)"] * 300
    async with opened(peer) as adapter:
        await deliver(adapter, "Intro\n```python\n" + "\n".join(lines) + "\n```\nEnd")
    code: list[str] = []
    for message in peer.chats[5]:
        units = message.text.encode("utf-16-le")
        blocks = [e for e in message.entities if e["type"] == "pre"]
        assert len(blocks) == 1
        start, end = 2 * blocks[0]["offset"], 2 * (blocks[0]["offset"] + blocks[0]["length"])
        code += units[start:end].decode("utf-16-le").strip("\n").split("\n")
        assert "print" not in units[:start].decode("utf-16-le") + units[end:].decode("utf-16-le")
    assert code == lines
    assert "Intro" in peer.chats[5].texts()[0]
    assert "End" in peer.chats[5].texts()[-1]


async def test_TG_06_a_huge_info_line_is_not_repeated(peer: TelegramPeer) -> None:
    async with opened(peer) as adapter:
        await deliver(adapter, "```" + "a" * 5000 + "\nX\n" + "b" * 3000 + "\n```")
    shown = peer.chats[5].texts()
    assert len(shown) <= 6
    assert "".join(shown).count("b") == 3000
    assert "X" in "".join(shown)


async def test_TG_08_refused_formatting_is_sent_once_more_without(peer: TelegramPeer) -> None:
    reply = "Sure! Step 1 - done (v1.2_beta)."
    peer.faults.add("sendMessage", refusal(400, "Bad Request: can't parse entities: byte 3"))
    async with opened(peer) as adapter:
        (receipt,) = await deliver(adapter, reply)
    first, second = sends(peer)
    assert first != second
    assert second == {"chat_id": 5, "text": reply}
    assert peer.chats[5].texts() == [reply]
    assert receipt.note == "sent without formatting"


async def test_TG_08_without_formatting_no_mark_or_backslash_is_shown(peer: TelegramPeer) -> None:
    peer.faults.add("sendMessage", refusal(400, "Bad Request: can't parse entities: byte 3"))
    async with opened(peer) as adapter:
        await deliver(adapter, "**Sure!** `v1.2_beta` - [docs](https://example.com)")
    first, second = sends(peer)
    assert first["text"] == second["text"] == "Sure! v1.2_beta - docs"
    assert set(second) == {"chat_id", "text"}


async def test_TG_09_star_bullets_cost_at_most_two_calls(peer: TelegramPeer) -> None:
    reply = "*   **Total**: 3_000\n*   **Rate**: 5 * 4\nopen [bracket"
    async with opened(peer) as adapter:
        await deliver(adapter, reply)
        peer.faults.add("sendMessage", refusal(400, "Bad Request: can't parse entities", times=9))
        with pytest.raises(Rejected, match="can't parse"):
            await deliver(adapter, reply)
    assert len(sends(peer)) == 3
    assert sends(peer)[1] != sends(peer)[2]
    shown = peer.chats[5].texts()[0]
    assert all(word in shown for word in ("Total", "3_000", "Rate", "5 * 4", "open [bracket"))


async def test_a_repeat_is_marked(peer: TelegramPeer) -> None:
    async with opened(peer) as adapter:
        (piece,) = adapter.render("**done**", CHAT)
        await adapter.send(CHAT, piece, key="k", again=True)
        (full, *_) = adapter.render("x" * 9000, CHAT)
        await adapter.send(CHAT, full, key="k", again=True)
    short, long = peer.chats[5]
    assert (short.text, short.entities) == ("↻ done", [{"type": "bold", "offset": 2, "length": 4}])
    assert utf16(long.text) <= 4096


# -- where it goes -----------------------------------------------------------------------------------


async def test_TG_16a_general_is_sent_to_without_its_id(peer: TelegramPeer) -> None:
    peer.add_chat(-100500, topics=[88])
    async with opened(peer) as adapter:
        (receipt,) = await deliver(adapter, "hi", Target("telegram", "-100500", "1"))
    assert "message_thread_id" not in sends(peer)[0]
    assert receipt.note is None


async def test_TG_16b_a_deleted_topic_loses_nothing(peer: TelegramPeer) -> None:
    peer.add_chat(-100500, topics=[77])
    async with opened(peer) as adapter:
        (receipt,) = await deliver(adapter, "hi", Target("telegram", "-100500", "88"))
    assert [params.get("message_thread_id") for params in sends(peer)] == [88, None]
    assert peer.chats[-100500].texts() == ["hi"]
    assert "topic 88" in (receipt.note or "")


async def test_TG_14_every_piece_and_typing_keep_the_topic(peer: TelegramPeer) -> None:
    peer.add_chat(-100500, topics=[77])
    target = Target("telegram", "-100500", "77")
    async with opened(peer) as adapter:
        await adapter.typing(target)
        await deliver(adapter, "x" * 9000, target)
    assert {params["message_thread_id"] for params in sends(peer)} == {77}
    assert [(a, t) for _, a, t in peer.chats[-100500].actions] == [("typing", 77)]


async def test_a_group_that_became_a_supergroup_is_followed(peer: TelegramPeer) -> None:
    peer.add_chat(-500)
    peer.migrate(-500, -100777)
    async with opened(peer) as adapter:
        (receipt,) = await deliver(adapter, "hi", Target("telegram", "-500"))
    assert peer.chats[-100777].texts() == ["hi"]
    assert "-100777" in (receipt.note or "")


async def test_a_blocked_bot_is_refused_for_good(peer: TelegramPeer) -> None:
    peer.chats[5].blocked = True
    async with opened(peer) as adapter:
        with pytest.raises(Rejected, match="blocked"):
            await deliver(adapter, "hi")
        with pytest.raises(Rejected):
            await adapter.typing(CHAT)
        with pytest.raises(Rejected, match="chat not found"):
            await deliver(adapter, "hi", Target("telegram", "6"))


# -- what goes wrong ---------------------------------------------------------------------------------


async def test_TG_12_a_flood_answer_names_its_seconds_and_delays_no_other_chat(peer: TelegramPeer) -> None:
    peer.add_chat(6)
    peer.faults.add("sendMessage", too_many(37, chat_id=5))
    async with opened(peer) as adapter:
        with pytest.raises(NotTaken) as caught:
            await deliver(adapter, "to A")
        await deliver(adapter, "to B", Target("telegram", "6"))
    assert caught.value.retry_after == 37.0
    assert (peer.chats[5].texts(), peer.chats[6].texts()) == ([], ["to B"])
    assert len(sends(peer)) == 2


@pytest.mark.parametrize("kind", ["cut", "lost", "malformed"])
async def test_a_lost_answer_is_an_unknown_outcome(peer: TelegramPeer, kind: Any) -> None:
    peer.faults.add("sendMessage", Fault(kind))
    async with opened(peer) as adapter:
        with pytest.raises(OutcomeUnknown):
            await deliver(adapter, "hi")
    assert len(peer.chats[5].texts()) == (0 if kind == "cut" else 1)


async def test_an_answer_of_not_done_can_be_tried_again(peer: TelegramPeer) -> None:
    peer.faults.add("sendMessage", refusal(500, "Internal Server Error"))
    async with opened(peer) as adapter:
        with pytest.raises(NotTaken):
            await deliver(adapter, "hi")


async def test_what_cannot_be_reached_was_not_sent(peer: TelegramPeer) -> None:
    await peer.stop()
    async with opened(peer) as adapter:
        with pytest.raises(Unreachable):
            await deliver(adapter, "hi")
    await peer.start()


async def test_a_wrong_token_is_unauthorized(peer: TelegramPeer) -> None:
    async with opened(peer, token="1:wrong") as adapter:
        with pytest.raises(Unauthorized, match="BotFather"):
            await deliver(adapter, "hi")


async def test_a_closed_adapter_sends_nothing(peer: TelegramPeer) -> None:
    adapter = make_adapter(peer)
    await deliver(adapter, "one")
    await adapter.aclose()
    with pytest.raises(Unreachable, match="closed"):
        await deliver(adapter, "two")
    assert peer.chats[5].texts() == ["one"]


async def test_a_hundred_chats_are_sent_to_at_once(peer: TelegramPeer) -> None:
    for chat in range(1000, 1100):
        peer.add_chat(chat)
    peer.faults.add("sendMessage", Fault("delay", seconds=4.0, times=100))
    async with opened(peer) as adapter, asyncio.timeout(30):
        await asyncio.gather(
            *(deliver(adapter, "hi", Target("telegram", str(chat))) for chat in range(1000, 1100))
        )
    calls = peer.calls("sendMessage")
    assert max(call.began for call in calls) < min(call.ended for call in calls)


async def test_PR_11_the_token_is_in_no_log_and_no_error(
    peer: TelegramPeer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    errors: list[BaseException] = []
    async with opened(peer, token="424242:peer-token") as adapter:
        await deliver(adapter, "fine")
        peer.faults.add("sendMessage", refusal(404, "Not Found"), Fault("cut"), refusal(502, "Bad Gateway"))
        for _ in range(3):
            with pytest.raises((Rejected, OutcomeUnknown, NotTaken)) as caught:
                await deliver(adapter, "hi")
            errors.append(caught.value)
        await peer.stop()
        with pytest.raises(Unreachable) as unreachable:
            await deliver(adapter, "hi")
        errors.append(unreachable.value)
        await peer.start()
    texts = [record.getMessage() + str(record.exc_text) for record in caplog.records]
    for error in errors:
        chain: BaseException | None = error
        while chain is not None:
            texts.append(f"{chain!s} {chain!r}")
            chain = chain.__cause__ or chain.__context__
    assert any("HTTP Request: POST" in text for text in texts)
    assert [text for text in texts if "peer-token" in text] == []
