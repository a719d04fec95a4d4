"""The real python-telegram-bot against the Bot API peer: what it accepts, refuses, and how it misbehaves."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, InputMediaPhoto, Message, MessageEntity
from telegram.constants import ParseMode
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TimedOut,
)
from telegram.request import HTTPXRequest

from tests.peers.programs import peer_program
from tests.peers.telegram import Fault, TelegramPeer, TelegramPeerControl, refusal, too_many, units
from tests.peers.telegram.chats import Refused
from tests.peers.telegram.entities import entity_faults
from tests.peers.telegram.html import parse_html
from tests.peers.telegram.markdown import parse_markdown_v2
from tests.peers.telegram.rate import FloodGate

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*do_api_request.*:UserWarning"),
    # The library announces a change of its attribute's type whenever it raises RetryAfter.
    pytest.mark.filterwarnings("ignore:.*retry_after.*:telegram.warnings.PTBDeprecationWarning"),
]
CHAT = 5
DIE = "\U0001f3b2"


def make_bot(peer: TelegramPeer, *, token: str = "") -> Bot:
    return Bot(
        token or peer.token,
        base_url=peer.base_url,
        base_file_url=peer.file_url,
        request=HTTPXRequest(connection_pool_size=300, read_timeout=20, connect_timeout=20, pool_timeout=20),
    )


@pytest.fixture
async def bot(telegram_peer: TelegramPeer) -> AsyncIterator[Bot]:
    telegram_peer.add_chat(CHAT)
    async with make_bot(telegram_peer) as made:
        yield made


async def poll(bot: Bot, **params: Any) -> list[dict[str, Any]]:
    return list(await bot.do_api_request("getUpdates", api_kwargs=params, read_timeout=30))


# -- updates ---------------------------------------------------------------------------------------


async def test_updates_stay_until_a_higher_offset_confirms_them(
    bot: Bot, telegram_peer: TelegramPeer
) -> None:
    first = telegram_peer.push_text("one", CHAT)["update_id"]
    telegram_peer.push_text("two", CHAT)
    assert [u["update_id"] for u in await poll(bot)] == [first, first + 1]
    assert len(await poll(bot)) == 2
    assert [u["message"]["text"] for u in await poll(bot, offset=first + 1)] == ["two"]
    assert await poll(bot, offset=first + 2) == []
    assert await poll(bot) == []


async def test_a_long_poll_ends_when_an_update_comes(bot: Bot, telegram_peer: TelegramPeer) -> None:
    waiting = asyncio.create_task(poll(bot, timeout=20))
    await telegram_peer.wait_for(lambda: telegram_peer.updates.polls == 1)
    telegram_peer.push_text("now", CHAT)
    assert (await waiting)[0]["message"]["text"] == "now"


async def test_a_new_poll_ends_the_old_one_with_409(bot: Bot, telegram_peer: TelegramPeer) -> None:
    old = asyncio.create_task(poll(bot, timeout=20))
    await telegram_peer.wait_for(lambda: telegram_peer.updates.polls == 1)
    async with make_bot(telegram_peer) as other:
        new = asyncio.create_task(poll(other, timeout=20))
        with pytest.raises(Conflict):
            await old
        telegram_peer.push_text("for the new one", CHAT)
        assert len(await new) == 1


async def test_a_poll_that_its_client_left_causes_no_conflict(bot: Bot, telegram_peer: TelegramPeer) -> None:
    left = asyncio.create_task(poll(bot, timeout=20))
    await telegram_peer.wait_for(lambda: telegram_peer.updates.polls == 1)
    left.cancel()
    await telegram_peer.wait_for(lambda: telegram_peer.calls("getUpdates")[0].outcome == "client-gone")
    telegram_peer.push_text("still here", CHAT)
    assert len(await poll(bot, timeout=5)) == 1


async def test_limit_and_allowed_updates_are_kept(bot: Bot, telegram_peer: TelegramPeer) -> None:
    assert await poll(bot, allowed_updates=["message"]) == []
    telegram_peer.push_channel_post("nobody asked")
    for text in ("a", "b", "c"):
        telegram_peer.push_text(text, CHAT)
    assert [u["message"]["text"] for u in await poll(bot, limit=2)] == ["a", "b"]
    assert telegram_peer.updates.dropped == 1


async def test_an_update_can_come_twice(bot: Bot, telegram_peer: TelegramPeer) -> None:
    update = telegram_peer.push_text("once", CHAT)
    await poll(bot, offset=update["update_id"] + 1)
    telegram_peer.push_again(update["update_id"])
    telegram_peer.push_again(update["update_id"], new_id=True)
    again = await poll(bot)
    assert [u["message"]["message_id"] for u in again] == [update["message"]["message_id"]] * 2
    assert again[0]["update_id"] != again[1]["update_id"]


async def test_malformed_updates_go_out_as_they_are(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.push_raw({"message": {"message_id": "x", "chat": None}})
    assert (await poll(bot))[0]["message"] == {"message_id": "x", "chat": None}


async def test_entities_of_people_count_utf16_units(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.push_text("\U0001f680\U0001f680 @mybot status", -1001)
    message = Message.de_json((await poll(bot))[0]["message"], bot)
    assert message.parse_entities() == {message.entities[0]: "@mybot"}
    assert (message.entities[0].offset, message.chat.type) == (5, "supergroup")


async def test_what_people_do_is_valid_for_the_sdk(bot: Bot, telegram_peer: TelegramPeer) -> None:
    text = telegram_peer.push_text("first", -1001, user=9, thread=77)
    telegram_peer.push_text("reply", -1001, user=9, reply_to=text["message"]["message_id"])
    telegram_peer.push_edited(text["message"]["message_id"], "second", -1001)
    telegram_peer.push_photo(b"jpeg", CHAT, caption="look", media_group_id="7")
    telegram_peer.push_voice(b"opus", CHAT)
    telegram_peer.push_document(b"text", CHAT)
    telegram_peer.push_channel_post("news")
    telegram_peer.migrate(-500, -100777)
    updates = await bot.get_updates()
    assert updates[0].message is not None
    assert updates[0].message.is_topic_message
    assert updates[1].message is not None
    assert updates[1].message.reply_to_message is not None
    assert updates[2].edited_message is not None
    assert updates[2].edited_message.text == "second"
    assert updates[6].channel_post is not None
    assert updates[6].channel_post.from_user is None
    assert updates[7].message is not None
    assert updates[7].message.migrate_to_chat_id == -100777
    assert updates[3].message is not None
    file = await bot.get_file(updates[3].message.photo[-1].file_id)
    assert bytes(await file.download_as_bytearray()) == b"jpeg"


# -- sending ---------------------------------------------------------------------------------------


async def test_the_chat_shows_what_was_sent_edited_and_deleted(bot: Bot, telegram_peer: TelegramPeer) -> None:
    sent = await bot.send_message(CHAT, "one *two*")
    gone = await bot.send_message(CHAT, "three")
    await bot.edit_message_text("uno", CHAT, sent.message_id)
    await bot.delete_message(CHAT, gone.message_id)
    await bot.send_chat_action(CHAT, "typing")
    chat = telegram_peer.chats[CHAT]
    assert chat.texts() == ["uno"]
    assert chat[0].versions == ["one *two*"]
    assert [action for _, action, _ in chat.actions] == ["typing"]
    times = [call.began for call in telegram_peer.calls()]
    assert times == sorted(times)


async def test_the_same_edit_twice_is_not_modified(bot: Bot, telegram_peer: TelegramPeer) -> None:
    sent = await bot.send_message(CHAT, "x")
    with pytest.raises(BadRequest, match=r"(?i)not modified"):
        await bot.edit_message_text("x", CHAT, sent.message_id)
    await bot.delete_message(CHAT, sent.message_id)
    with pytest.raises(BadRequest, match=r"(?i)message to edit not found"):
        await bot.edit_message_text("y", CHAT, sent.message_id)
    with pytest.raises(BadRequest, match=r"(?i)message to delete not found"):
        await bot.delete_message(CHAT, sent.message_id)
    assert telegram_peer.violations == []
    assert len(telegram_peer.refusals) == 3


async def test_length_is_counted_in_utf16_units_after_parsing(bot: Bot, telegram_peer: TelegramPeer) -> None:
    await bot.send_message(CHAT, DIE * 2048)
    await bot.send_message(CHAT, "\\!" * 4096, parse_mode=ParseMode.MARKDOWN_V2)
    with pytest.raises(BadRequest, match="too long"):
        await bot.send_message(CHAT, DIE * 2049)
    with pytest.raises(BadRequest, match="empty"):
        await bot.send_message(CHAT, " \n ")
    with pytest.raises(BadRequest, match="caption is too long"):
        await bot.send_document(CHAT, b"x", caption=DIE * 513)
    assert [units(text) for text in telegram_peer.chats[CHAT].texts()] == [4096, 4096]
    assert len(telegram_peer.violations) == 3
    telegram_peer.violations.clear()


async def test_formatting_is_parsed_into_entities(bot: Bot) -> None:
    markdown = await bot.send_message(CHAT, f"{DIE} *b _i_*\\. [l](http://a.b/c)", ParseMode.MARKDOWN_V2)
    assert markdown.text == f"{DIE} b i. l"
    kinds = [(e.type, e.offset, e.length) for e in markdown.entities]
    assert kinds == [("bold", 3, 3), ("italic", 5, 1), ("text_link", 8, 1)]
    html = await bot.send_message(CHAT, '<pre><code class="language-py">a&lt;b</code></pre>', ParseMode.HTML)
    assert (html.text, html.entities[0].language) == ("a<b", "py")


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (ParseMode.MARKDOWN_V2, "a."),
        (ParseMode.MARKDOWN_V2, "*open"),
        (ParseMode.MARKDOWN_V2, "```py\nopen``"),
        (ParseMode.MARKDOWN_V2, "[a](http://x"),
        (ParseMode.HTML, "<b>open"),
        (ParseMode.HTML, "<b><i>x</b></i>"),
        (ParseMode.HTML, "<font>x</font>"),
        (ParseMode.HTML, "a < b"),
        (ParseMode.HTML, "cut &l"),
    ],
)
async def test_broken_markup_is_refused(bot: Bot, telegram_peer: TelegramPeer, mode: str, text: str) -> None:
    with pytest.raises(BadRequest, match=r"[Cc]an't parse entities"):
        await bot.send_message(CHAT, text, mode)
    assert len(telegram_peer.refusals) == 1


async def test_given_entities_are_checked(bot: Bot, telegram_peer: TelegramPeer) -> None:
    good = [MessageEntity("bold", 0, 2), MessageEntity("italic", 3, 1)]
    assert (await bot.send_message(CHAT, f"{DIE} x", entities=good)).entities == tuple(good)
    for bad in ([MessageEntity("bold", 1, 1)], [MessageEntity("bold", 0, 9)]):
        with pytest.raises(BadRequest, match=r"(?i)entity 0"):
            await bot.send_message(CHAT, f"{DIE} x", entities=bad)
    assert len(telegram_peer.violations) == 2
    telegram_peer.violations.clear()
    crossing: list[dict[str, Any]] = [
        {"type": "bold", "offset": 0, "length": 3},
        {"type": "code", "offset": 2, "length": 3},
    ]
    assert "overlaps" in entity_faults("abcdef", crossing)[0]


def test_markdown_quotes_and_code() -> None:
    quoted = parse_markdown_v2(">a\n>b||\nafter `\\`` ||s||")
    assert quoted.text == "a\nb\nafter ` s"
    assert [e["type"] for e in quoted.entities] == ["expandable_blockquote", "code", "spoiler"]
    two = parse_markdown_v2(">a\n**>b")
    assert [(e["type"], e["offset"]) for e in two.entities] == [("blockquote", 0), ("blockquote", 2)]
    assert parse_html("<blockquote expandable>q</blockquote>").entities[0]["type"] == "expandable_blockquote"


async def test_topics_replies_and_unknown_places(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.add_chat(-1001, topics=[77])
    await bot.send_message(-1001, "in the topic", message_thread_id=77)
    for thread in (1, 88):
        with pytest.raises(BadRequest, match="thread not found"):
            await bot.send_message(-1001, "lost", message_thread_id=thread)
    await bot.send_chat_action(-1001, "typing", message_thread_id=1)
    with pytest.raises(BadRequest, match=r"(?i)chat not found"):
        await bot.send_message(404, "x")
    with pytest.raises(BadRequest, match="replied not found"):
        await bot.send_message(CHAT, "x", reply_to_message_id=99999, allow_sending_without_reply=False)
    telegram_peer.chats[CHAT].blocked = True
    with pytest.raises(Forbidden):
        await bot.send_message(CHAT, "x")


async def test_files_buttons_and_albums(bot: Bot, telegram_peer: TelegramPeer) -> None:
    await bot.send_document(CHAT, b"abc", filename="a.txt", caption="the file")
    await bot.send_media_group(CHAT, [InputMediaPhoto(b"1", caption="two"), InputMediaPhoto(b"2")])
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("yes", callback_data="y")]])
    asked = await bot.send_message(CHAT, "sure?", reply_markup=markup)
    telegram_peer.push_callback("y", asked.message_id, CHAT)
    query = (await bot.get_updates())[0].callback_query
    assert query is not None
    await query.answer("ok")
    await query.edit_message_reply_markup(None)
    shown = list(telegram_peer.chats[CHAT])
    assert [m.media for m in shown] == ["document", "photo", "photo", None]
    assert (shown[0].file_name, shown[0].file_data) == ("a.txt", b"abc")
    assert shown[3].markup is None
    assert telegram_peer.world.callback_answers[0]["text"] == "ok"


async def test_startup_calls_of_the_sdk(bot: Bot, telegram_peer: TelegramPeer) -> None:
    assert (await bot.get_me()).username == "peer_bot"
    await bot.set_my_commands([("stop", "Stop the turn")])
    assert [c.command for c in await bot.get_my_commands()] == ["stop"]
    await bot.set_webhook("https://example.org/hook")
    with pytest.raises(Conflict):
        await poll(bot)
    telegram_peer.push_text("old", CHAT)
    await bot.delete_webhook(drop_pending_updates=True)
    assert (await bot.get_webhook_info()).pending_update_count == 0
    assert (await bot.get_chat(CHAT)).type == "private"


# -- the description as an oracle ------------------------------------------------------------------


async def test_calls_outside_of_the_description_are_violations(telegram_peer: TelegramPeer) -> None:
    telegram_peer.add_chat(CHAT)
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("sendMessage", {"chat_id": CHAT, "text": "x", "disable_web_page_preview": True}),
        ("sendMessage", {"chat_id": CHAT}),
        ("sendMessage", {"chat_id": CHAT, "text": 5}),
        ("sendMessage", {"chat_id": CHAT, "text": "x", "reply_parameters": {"id": 1}}),
        ("sendMessage", {"chat_id": CHAT, "text": "x", "entities": [{"type": "bold", "offset": 0}]}),
        ("sendMesage", {}),
    ]
    async with httpx.AsyncClient(base_url=telegram_peer.base) as client:
        for method, body in wrong:
            answer = await client.post(f"/bot{telegram_peer.token}/{method}", json=body)
            assert answer.status_code in (400, 404), method
    assert len(telegram_peer.violations) == len(wrong)
    assert telegram_peer.chats[CHAT].texts() == []
    telegram_peer.violations.clear()


async def test_a_wrong_token_is_unauthorized(telegram_peer: TelegramPeer) -> None:
    bot = make_bot(telegram_peer, token="1:wrong")
    with pytest.raises(InvalidToken):
        await bot.initialize()
    await bot.shutdown()


# -- faults ----------------------------------------------------------------------------------------


async def test_a_429_for_one_chat_leaves_the_others_alone(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.add_chat(6)
    telegram_peer.faults.add(
        "sendMessage", too_many(37, chat_id=CHAT), refusal(403, "Forbidden: no", chat_id=6)
    )
    with pytest.raises(RetryAfter) as caught:
        await bot.send_message(CHAT, "x")
    assert caught.value._retry_after.total_seconds() == 37
    with pytest.raises(Forbidden):
        await bot.send_message(6, "x")
    await bot.send_message(CHAT, "x")
    assert telegram_peer.faults.pending() == 0


async def test_cut_does_nothing_and_lost_has_done_it(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.faults.add("sendMessage", Fault("cut"), Fault("lost"), Fault("malformed"))
    for text in ("cut", "lost", "malformed"):
        with pytest.raises((NetworkError, Exception)) as caught:
            await bot.send_message(CHAT, text)
        assert not isinstance(caught.value, TimedOut)
    assert telegram_peer.chats[CHAT].texts() == ["lost", "malformed"]
    assert [c.outcome for c in telegram_peer.calls("sendMessage")] == [
        "fault:cut",
        "fault:lost",
        "fault:malformed",
    ]


async def test_hang_and_delay(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.faults.add("sendMessage", Fault("hang"), Fault("delay", seconds=0.2))
    with pytest.raises(TimedOut):
        await bot.send_message(CHAT, "x", read_timeout=0.1)
    began = time.monotonic()
    await bot.send_message(CHAT, "y")
    assert time.monotonic() - began >= 0.2
    assert telegram_peer.chats[CHAT].texts() == ["y"]


async def test_the_server_can_go_away_and_come_back(bot: Bot, telegram_peer: TelegramPeer) -> None:
    await bot.send_message(CHAT, "before")
    telegram_peer.push_text("kept", CHAT)
    await telegram_peer.server.go_away()
    with pytest.raises(NetworkError):
        await bot.send_message(CHAT, "refused")
    await telegram_peer.server.come_back()
    assert len(await poll(bot)) == 1
    assert telegram_peer.chats[CHAT].texts() == ["before"]


async def test_connections_are_refused_for_a_while(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.faults.add("sendMessage", Fault("refuse", seconds=0.3))
    for _ in range(2):
        with pytest.raises(NetworkError):
            await bot.send_message(CHAT, "refused")
    await telegram_peer.wait_until_back()
    await bot.send_message(CHAT, "back")
    assert telegram_peer.chats[CHAT].texts() == ["back"]


async def test_a_group_that_moved_says_where(bot: Bot, telegram_peer: TelegramPeer) -> None:
    telegram_peer.migrate(-500, -100777)
    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(-500, "x")
    await bot.send_message(moved.value.new_chat_id, "x")
    assert telegram_peer.chats[-100777].texts() == ["x"]


def test_flood_limits_are_those_of_the_platform() -> None:
    now = 0.0
    gate = FloodGate(lambda: now)
    for _ in range(3):
        gate.enter(1)
    with pytest.raises(Refused) as refused:
        gate.enter(1)
    assert (refused.value.code, refused.value.parameters) == (429, {"retry_after": 1})
    now = 1.0
    gate.enter(1)
    for second in range(20):
        now = 10.0 + second
        gate.enter(-5)
    now = 30.5
    with pytest.raises(Refused) as refused:
        gate.enter(-5)
    assert refused.value.parameters["retry_after"] == 40
    now = 200.0
    for chat in range(10, 42):
        gate.enter(chat)
    with pytest.raises(Refused):
        gate.enter(42)


async def test_an_enforcing_peer_answers_429() -> None:
    async with TelegramPeer(enforce_rate=True) as peer, make_bot(peer) as bot:
        peer.add_chat(CHAT)
        sends = (bot.send_message(CHAT, str(number)) for number in range(10))
        answers = await asyncio.gather(*sends, return_exceptions=True)
        refused = [a for a in answers if isinstance(a, RetryAfter)]
        assert 5 <= len(refused) <= 7
        assert len(peer.chats[CHAT].texts()) == 10 - len(refused)


# -- as a program, and many at once ----------------------------------------------------------------


async def test_many_chats_at_once(bot: Bot, telegram_peer: TelegramPeer) -> None:
    for chat in range(1000, 1200):
        telegram_peer.push_text("hi", chat)
    began = time.monotonic()
    await asyncio.gather(*(bot.send_message(chat, f"answer {chat}") for chat in range(1000, 1200)))
    assert time.monotonic() - began < 10
    assert all(telegram_peer.chats[c].texts() == [f"answer {c}"] for c in range(1000, 1200))


async def test_the_peer_runs_as_a_program(tmp_path: Any) -> None:
    journal = tmp_path / "journal.jsonl"
    with peer_program("telegram", "--token", "7:x", "--journal", str(journal)) as base:
        control = TelegramPeerControl(base)
        await control.apush("text", text="/hi", chat=CHAT)
        await control.apush("photo", data_b64=base64.b64encode(b"png").decode(), chat=CHAT)
        await control.afault("sendMessage", "status", status=500, times=1)
        async with Bot("7:x", base_url=f"{base}/bot") as bot:
            assert len(await bot.get_updates()) == 2
            with pytest.raises(NetworkError):
                await bot.send_message(CHAT, "x")
            await bot.send_message(CHAT, "an answer")
        assert await control.await_text(CHAT, "answer") == ["an answer"]
        with pytest.raises(TimeoutError):
            await control.await_text(CHAT, "never", timeout=0.05)
        assert await control.aviolations() == []
        assert len(await control.ajournal("sendMessage")) == 2
        assert [m["text"] for m in (await control.achats())[str(CHAT)]] == ["/hi", "", "an answer"]
    calls = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    outcomes = [(c["outcome"], c["status"]) for c in calls if c["method"] == "sendMessage"]
    assert outcomes == [("fault:status", 500), ("ok", 200)]
