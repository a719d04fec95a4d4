"""Small things beside the messages: reactions in and out, albums that speak to us in one of their parts."""

from pathlib import Path
from typing import Any

from hermes.testing import Answer, ScriptedModel
from tests.integration.telegram_desk import Desk, conversing, running
from tests.peers.telegram import TelegramPeer, refusal

GROUP = -1001


async def test_a_message_that_was_taken_gets_a_reaction_where_that_is_wanted(
    telegram_peer: TelegramPeer,
) -> None:
    desk = Desk()
    async with running(telegram_peer, desk):
        telegram_peer.push_text("quiet", 5)
        await desk.until(lambda: len(desk.events) == 1)
    telegram_peer.faults.add("setMessageReaction", refusal(400, "Bad Request: REACTION_INVALID", chat_id=6))
    async with running(telegram_peer, desk, reactions="ack"):
        for text in ("one", "two"):
            telegram_peer.push_text(text, 6)
        first = telegram_peer.push_text("three", 5)
        telegram_peer.push_edited(first["message"]["message_id"], "three!", 5)
        telegram_peer.push_raw({"message": {"broken": True}})
        telegram_peer.push_text("four", 5)
        await telegram_peer.wait_for(lambda: len(telegram_peer.calls("setMessageReaction", chat_id=5)) == 2)
    shown = {m.text: m.reactions for chat in (5, 6) for m in telegram_peer.chats[chat]}
    assert shown == {"quiet": [], "one": [], "two": [], "three!": ["\U0001f440"], "four": ["\U0001f440"]}
    assert len(telegram_peer.calls("setMessageReaction", chat_id=6)) == 1  # it is not asked for again there
    assert telegram_peer.violations == []


async def test_a_reaction_is_heard_where_that_is_wanted(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    message = telegram_peer.push_text("hi", 5)["message"]["message_id"]
    async with running(telegram_peer, desk):
        await desk.until(lambda: len(desk.events) == 1)
        telegram_peer.push_reaction(message, "\U0001f44e", 5)  # nobody asked for it, so it does not come
        telegram_peer.push_text("next", 5)
        await desk.until(lambda: len(desk.events) == 2)
    async with running(telegram_peer, desk, hear_reactions=True):
        await telegram_peer.wait_for(
            lambda: "message_reaction" in telegram_peer.calls("getUpdates")[-1].params["allowed_updates"]
        )
        telegram_peer.push_reaction(message, "\U0001f44d", 5)
        await desk.until(lambda: len(desk.events) == 3)
    assert [event.text for event in desk.events] == [
        "hi",
        "next",
        "[Reaction \U0001f44d to an earlier message]",
    ]


async def test_TG_19_all_of_an_album_is_for_us_if_its_caption_is(telegram_peer: TelegramPeer) -> None:
    desk = Desk()
    for number, caption in enumerate(("", "", "@peer_bot compare", "")):
        telegram_peer.push_photo(
            b"x" * 9,
            GROUP,
            caption=caption,
            user=7,
            media_group_id="a",
            **({"caption_entities": [{"type": "mention", "offset": 0, "length": 9}]} if caption else {}),
            message_id=31 + number,
        )
    telegram_peer.push_photo(b"x", GROUP, user=8, media_group_id="a")
    telegram_peer.push_photo(b"x", GROUP, user=7, media_group_id="b")
    async with running(telegram_peer, desk):
        await desk.until(lambda: len(desk.events) == 6)
        telegram_peer.push_photo(b"x", GROUP, user=7, media_group_id="a")
        await desk.until(lambda: len(desk.events) == 7)
    assert [event.addressed for event in desk.events] == [True] * 4 + [False] * 2 + [True]
    assert [event.album for event in desk.events] == ["a"] * 5 + ["b", "a"]
    assert [event.text for event in desk.events if event.text] == ["compare"]


async def test_TG_19_an_album_whose_caption_comes_last_is_one_message(
    tmp_path: Path, telegram_peer: TelegramPeer
) -> None:
    peer = telegram_peer
    named = [{"type": "mention", "offset": 0, "length": 9}]
    parts: list[dict[str, Any]] = [{}, {"caption": "@peer_bot compare", "caption_entities": named}]
    async with conversing(tmp_path / "home", peer, ScriptedModel([Answer("seen")])) as g:
        for fields in parts:
            peer.push_photo(b"x" * 9, GROUP, user=7, media_group_id="a", **fields)
            await peer.wait_for(lambda: not peer.updates.waiting)
        await peer.wait_text(GROUP, "seen")
        await g.quiet()
        rows = await g.rows("SELECT turn_id, json_array_length(event, '$.attachments') FROM inbox")
        assert [files for _, files in rows] == [1, 1]
        assert len({turn for turn, _ in rows}) == 1
