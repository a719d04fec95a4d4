"""Conversations on Telegram through the installed daemon, and nothing that nobody asked for."""

from tests.acceptance.house import HOOK_CHAT, House
from tests.peers.model.script import ToolCall, calls, says

GROUP, FORUM = -100500, -100600
TOPIC = 77


def _sent(house: House) -> list[tuple[int, int | None]]:
    """Chat and thread of each message that was sent."""
    calls = house.telegram.calls("sendMessage")
    return [(c.params["chat_id"], c.params.get("message_thread_id")) for c in calls]


async def test_conversations_over_two_lives(house: House) -> None:
    telegram, model = house.telegram, house.model
    await house.start()

    telegram.push_text("first", chat=1)
    await telegram.wait_text(1, "echo: first")
    telegram.push_text("second", chat=1)
    await telegram.wait_text(1, "echo: second")
    assert [m["role"] for m in house.asked()][-3:] == ["user", "assistant", "user"]

    telegram.push_text("/new", chat=1)
    await telegram.wait_text(1, "fresh conversation")
    telegram.push_text("third", chat=1)
    await telegram.wait_text(1, "echo: third")
    assert "first" not in str(house.asked()[1:])

    model.script.add(calls(ToolCall("offer_choices", {"choices": ["Yes", "/new"]})), says("Shall I?"))
    telegram.push_text("ask me", chat=6)
    await telegram.wait_text(6, "Shall I?")
    for _ in range(2):
        telegram.push_press("/new", chat=6)
    await telegram.wait_text(6, "/new")
    await telegram.wait_for(lambda: len(telegram.world.callback_answers) == 2)

    telegram.push_text("nobody was spoken to", chat=GROUP, user=8)
    telegram.push_text("@peer_bot in the group", chat=GROUP, user=7)
    await telegram.wait_text(GROUP, "in the group")

    model.script.add(says("never", first=30))
    telegram.push_text("long", chat=2)
    await house.model_busy()
    telegram.push_text("/stop", chat=2)
    await telegram.wait_text(2, "Stopped.")
    await house.model_idle()
    assert model.requests[-1].outcome == "client-gone"

    await house.stop()
    for chat in (1, 2, 3):
        telegram.push_text(f"while it was away {chat}", chat=chat)
    await house.start()
    for chat in (1, 2, 3):
        await telegram.wait_text(chat, f"while it was away {chat}", 20)
    telegram.push_text("fourth", chat=1)
    await telegram.wait_text(1, "echo: fourth")
    assert "third" in str(house.asked())
    await house.stop()

    wanted = {1: 6, 2: 2, 3: 1, 6: 2, GROUP: 1}
    assert {chat: len(house.texts(chat)) for chat in wanted} == wanted
    assert {chat for chat, _ in _sent(house)} == set(wanted)  # nobody else was written to
    assert len(_sent(house)) == sum(wanted.values())
    assert house.texts(HOOK_CHAT) == []
    assert telegram.refusals == []


async def test_TG_23_a_mention_after_emoji_is_found(house: House) -> None:
    await house.start()
    house.telegram.push_text("\U0001f680\U0001f680 @peer_bot status", chat=GROUP, user=7)
    await house.telegram.wait_text(GROUP, "status")
    text = house.model.requests[-1].last_text
    assert "status" in text
    assert "@peer_bot" not in text


async def test_TG_14_and_TG_15_answers_stay_in_their_topic(house: House) -> None:
    telegram = house.telegram
    telegram.add_chat(FORUM, kind="supergroup", topics=(TOPIC,))
    await house.start()
    long = "word " * 1800
    telegram.push_text(f"@peer_bot {long}[[delay=2500]]", chat=FORUM, user=7, thread=TOPIC)
    await telegram.wait_for(lambda: len(telegram.calls("sendMessage", chat_id=FORUM)) == 3)
    actions = telegram.calls("sendChatAction", chat_id=FORUM)
    assert actions
    calls = telegram.calls("sendMessage", chat_id=FORUM) + actions
    assert {c.params.get("message_thread_id") for c in calls} == {TOPIC}

    # TG-15: a reply chain's id in a chat without topics is no thread
    telegram.push_text("one", chat=5)
    await telegram.wait_text(5, "echo: one")
    telegram.push_text("two", chat=5, message_thread_id=4411)
    await telegram.wait_text(5, "echo: two")
    calls = telegram.calls("sendMessage", chat_id=5) + telegram.calls("sendChatAction", chat_id=5)
    assert all("message_thread_id" not in c.params for c in calls)
    assert len(house.rows("SELECT DISTINCT session_key FROM inbox WHERE session_key LIKE '%:5'")) == 1
    assert telegram.refusals == []
    await house.stop()


async def test_TG_16_general_has_no_number_and_a_lost_topic_loses_no_text(house: House) -> None:
    telegram = house.telegram
    telegram.add_chat(FORUM, kind="supergroup", topics=(TOPIC,))
    build = house.config["platforms"]["webhook"]["routes"]["build"]
    house.config["platforms"]["webhook"]["routes"] = {
        "general": {**build, "deliver": f"telegram:{FORUM}:1"},
        "lost": {**build, "deliver": f"telegram:{FORUM}:88"},
    }
    house.write()
    await house.start()
    assert (await house.hook({"text": "for general"}, route="general")).status_code == 202
    await telegram.wait_text(FORUM, "for general")
    assert telegram.refusals == []
    assert (await house.hook({"text": "for the lost"}, route="lost")).status_code == 202
    await telegram.wait_text(FORUM, "for the lost")
    assert [t for _, t in _sent(house)] == [None, 88, None]
    assert sum("for the lost" in t for t in house.texts(FORUM)) == 1
    await house.said("delivery.note")
    await house.stop()


async def test_what_is_no_text_gets_one_sentence_or_nothing(house: House) -> None:
    telegram = house.telegram
    await house.start()
    telegram.push_content({"story": {"chat": {"id": 1, "type": "private"}, "id": 7}}, chat=1)
    assert "story" in await telegram.wait_text(1, "text")
    asked = telegram.push_text("as I wrote it", chat=2)
    await telegram.wait_text(2, "echo: as I wrote it")
    telegram.push_edited(asked["message"]["message_id"], "as I meant it", chat=2)
    telegram.push_channel_post("for nobody")
    telegram.push_photo(b"not for us", chat=GROUP, user=9)
    telegram.push_raw({"message": {"broken": True}})
    telegram.push_raw({"a_kind_of_later": {}})
    telegram.push_text("the last", chat=3)
    await telegram.wait_text(3, "echo: the last")
    assert {chat: len(house.texts(chat)) for chat in telegram.chats if house.texts(chat)} == {
        1: 1,
        2: 1,
        3: 1,
    }
    await house.stop()
    assert len(_sent(house)) == 3
    assert telegram.refusals == []
