import json
from typing import Any

import pytest

from adapters.telegram.addressing import Account
from adapters.telegram.parse import parse_update
from adapters.telegram.reading import Reading
from hermes.events import Event, Ignored, Sender, Target, Unparsable, event_from_json, event_to_json

US = Account(42, "mybot")
READING = Reading("telegram", US)
GROUP = {"id": -1001, "type": "supergroup", "title": "Team"}
NOBODY: dict[str, Any] = {"from": "Bob"}
BOB = {"id": 9, "is_bot": False, "first_name": "Bob", "last_name": "B", "username": "bob"}


def message(text: object = "hi", *, chat: object = None, **fields: Any) -> dict[str, Any]:
    body = {
        "message_id": 70,
        "date": 1_700_000_000,
        "chat": chat or {"id": 9, "type": "private"},
        "from": BOB,
    }
    return {"update_id": 900, "message": {**body, **({"text": text} if text is not None else {}), **fields}}


def event(update: object, reading: Reading = READING) -> Event:
    parsed = parse_update(update, reading)
    assert isinstance(parsed, Event), parsed
    return parsed


def ignored(update: object, reading: Reading = READING) -> str:
    parsed = parse_update(update, reading)
    assert isinstance(parsed, Ignored), parsed
    return parsed.reason


def mention(text: str, name: str, kind: str = "mention", **fields: Any) -> dict[str, Any]:
    offset = len(text[: text.index(name)].encode("utf-16-le")) // 2
    return {"type": kind, "offset": offset, "length": len(name), **fields}


def in_group(text: str, *entities: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return message(text, chat=GROUP, entities=list(entities), **fields)


def test_what_is_passed_on_gives_no_command_and_addresses_nobody() -> None:
    origin = {"type": "user", "date": 1, "sender_user": {"id": 99, "is_bot": False, "first_name": "Eve"}}
    passed_on = event(message("/sethome", forward_origin=origin))
    assert (passed_on.text, passed_on.command_text, passed_on.addressed) == ("/sethome", False, True)
    assert event(message("/sethome")).command_text
    text = "@mybot look"
    said = [event(in_group(text, mention(text, "@mybot"), **f)) for f in ({}, {"forward_origin": origin})]
    assert [(e.text, e.addressed) for e in said] == [("look", True), ("@mybot look", False)]
    told = event(
        message("fwd /new @mybot", forward_origin=origin, entities=[mention("fwd /new @mybot", "@mybot")])
    )
    assert told.text == "fwd /new @mybot"


# -- a private chat ----------------------------------------------------------------------------------


def test_a_private_message_is_an_event_that_can_be_stored() -> None:
    found = event(message("hello"))
    assert found.sender == Sender("9", "Bob B", "bob")
    assert (found.kind, found.chat, found.account, found.text) == ("direct", "9", "42", "hello")
    assert found.reply_to == (Target("telegram", "9"),)
    assert (found.addressed, found.private_notice, found.sent_at) == (True, True, 1_700_000_000.0)
    assert event_from_json(event_to_json(found)) == found


def test_TG_26_the_same_message_in_another_update_has_the_same_key() -> None:
    again = {**message("hello"), "update_id": 901}
    assert event(message("hello")).dedupe_key == event(again).dedupe_key


def test_keys_tell_messages_chats_and_revisions_apart() -> None:
    others = [
        message("hi"),
        message("hi", message_id=71),
        message("hi", edit_date=5),
        message("hi", chat={"id": 97, "type": "private"}),
    ]
    assert len({event(update).dedupe_key for update in others}) == len(others)


def test_TG_15_a_chain_of_replies_is_no_topic() -> None:
    chained, plain = event(message("hi", message_thread_id=4411)), event(message("hi"))
    assert chained == plain  # and so the session is the same
    in_forum = event(in_group("/ask", message_thread_id=4411, is_topic_message=True))
    unmarked = event(in_group("/ask", message_thread_id=4411, is_topic_message=False))
    assert (in_forum.thread, unmarked.thread) == ("4411", None)


def test_a_topic_is_kept() -> None:
    found = event(in_group("/ask", message_thread_id=77, is_topic_message=True))
    assert (found.thread, found.reply_to[0].thread) == ("77", "77")


def test_TG_16a_general_is_no_topic() -> None:
    assert event(in_group("/ask", message_thread_id=1, is_topic_message=True)).thread is None


@pytest.mark.parametrize("kind", ["edited_message", "edited_channel_post"])
def test_TG_18_an_edit_is_no_new_message(kind: str) -> None:
    said = message("/stop")
    body = {**said["message"], "edit_date": 1_700_000_005}
    new, old = event({"update_id": 901, kind: body}), event(said)
    assert (new.edited, old.edited) == (True, False)
    assert new.message_id == old.message_id
    assert new.dedupe_key != old.dedupe_key


# -- no sender ---------------------------------------------------------------------------------------


def test_TG_17_a_channels_post_is_from_the_channel() -> None:
    post = {
        "message_id": 5, "date": 1, "text": "@mybot news",
        "chat": {"id": -100900, "type": "channel", "title": "N"},
        "entities": [{"type": "mention", "offset": 0, "length": 6}],
    }  # fmt: skip
    found = event({"update_id": 1, "channel_post": post})
    assert found.sender == Sender("-100900", "N")
    assert (found.kind, found.private_notice) == ("channel", False)
    assert event(message("after")).text == "after"


def test_TG_17_an_unasked_post_is_not_for_us() -> None:
    post = {"message_id": 5, "date": 1, "text": "news", "chat": {"id": -100900, "type": "channel"}}
    assert event({"update_id": 1, "channel_post": post}).addressed is False


def test_TG_17_a_chat_that_speaks_is_not_its_stand_in() -> None:
    stand_in = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    found = event(in_group("/ask", **{"from": stand_in, "sender_chat": GROUP}))
    assert found.sender == Sender("-1001", "Team")


def test_our_own_message_is_ignored_and_other_bots_are_told_apart() -> None:
    assert ignored(message("hi", **{"from": {"id": 42, "is_bot": True, "first_name": "me"}})) == "own message"
    assert event(message("hi", **{"from": {"id": 43, "is_bot": True, "first_name": "b"}})).sender.is_bot


# -- groups ------------------------------------------------------------------------------------------


def test_TG_23_a_mention_after_emoji_is_found_and_taken_out() -> None:
    text = "\U0001f680\U0001f680 @mybot status"
    found = event(in_group(text, {"type": "mention", "offset": 5, "length": 6}))
    assert found.addressed
    assert found.text == "\U0001f680\U0001f680 status"


def test_an_unasked_message_is_not_for_us() -> None:
    found = event(in_group("lunch?"))
    assert not found.addressed
    assert not found.private_notice


def test_without_mention_gating_everything_is_for_us() -> None:
    assert event(in_group("lunch?"), Reading("telegram", US, "off")).addressed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@mybot", "@mybot"),
        ("@MyBot hi", "hi"),
        ("hi @mybot", "hi"),
        ("hi @mybot, how are you", "hi , how are you"),
        ("a @mybot b", "a b"),
    ],
)
def test_our_name_leaves_the_text(text: str, expected: str) -> None:
    name = next(word for word in ("@mybot", "@MyBot") if word in text)
    found = event(in_group(text, mention(text, name)))
    assert (found.text, found.addressed) == (expected, True)


def test_every_mention_of_us_leaves_the_text() -> None:
    text = "@mybot and @mybot too"
    first, second = mention(text, "@mybot"), {"type": "mention", "offset": 11, "length": 6}
    assert event(in_group(text, second, first)).text == "and too"


def test_a_mention_by_name_counts() -> None:
    entity = mention(
        "My Bot: hi", "My Bot", "text_mention", user={"id": 42, "is_bot": True, "first_name": "My"}
    )
    assert event(in_group("My Bot: hi", entity)).addressed


@pytest.mark.parametrize(
    "entity",
    [
        {"type": "mention", "offset": 0, "length": 8},  # @mybot_2
        {"type": "mention", "offset": 3, "length": 600},
        {"type": "mention", "offset": -1, "length": 6},
        {"type": "mention", "offset": "0", "length": 6},
        {"type": "text_mention", "offset": 0, "length": 6, "user": {"id": 43}},
        {"type": "code", "offset": 0, "length": 6},
        {},
    ],
)
def test_what_only_looks_like_a_mention_is_none(entity: dict[str, Any]) -> None:
    found = event(in_group("@mybot_2 hi", entity))
    assert (found.addressed, found.text) == (False, "@mybot_2 hi")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/status", "/status"), ("/status@mybot", "/status"), ("/ask@MYBOT why  so", "/ask why  so")],
)
def test_a_command_for_us_loses_our_name(text: str, expected: str) -> None:
    found = event(in_group(text))
    assert (found.text, found.addressed) == (expected, True)


def test_a_command_for_another_bot_is_not_ours() -> None:
    assert ignored(in_group("/status@otherbot")) == "command for another bot"
    code = parse_update(in_group("/link@otherbot AB-CD"), READING)
    assert code == Ignored("command for another bot", "/link AB-CD")


def test_a_path_is_no_command() -> None:
    assert not event(in_group("/etc/passwd is readable")).addressed


def test_a_reply_to_us_is_for_us_and_quotes() -> None:
    ours = {"message_id": 3, "date": 1, "chat": GROUP, "from": {"id": 42, "is_bot": True, "first_name": "me"}}
    found = event(in_group("why?", reply_to_message={**ours, "text": "because"}))
    assert (found.addressed, found.quoted) == (True, "because")


def test_a_topic_that_we_opened_does_not_make_everything_a_reply_to_us() -> None:
    root = {
        "message_id": 77, "date": 1, "chat": GROUP, "from": {"id": 42, "is_bot": True, "first_name": "me"},
        "forum_topic_created": {"name": "t", "icon_color": 1},
    }  # fmt: skip
    found = event(in_group("lunch?", reply_to_message=root, message_thread_id=77, is_topic_message=True))
    assert (found.addressed, found.quoted) == (False, None)


def test_a_chosen_quote_wins_and_long_ones_are_cut() -> None:
    theirs = {"message_id": 3, "date": 1, "chat": GROUP, "from": BOB, "text": "x" * 900}
    assert event(in_group("/ask", reply_to_message=theirs)).quoted == "x" * 500 + "…"
    assert (
        event(in_group("/ask", reply_to_message=theirs, quote={"text": "xx", "position": 0})).quoted == "xx"
    )


# -- what is no text ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"game": {"title": "g"}}, "game"),
        ({"story": {"id": 1}}, "story"),
        ({"rich_message": {"blocks": []}}, "formatted message"),
        ({"paid_media": {"star_count": 5, "paid_media": [{"type": "preview"}]}}, "paid media"),
        ({"photo": []}, "photo"),
        ({"voice": {"file_id": 7}}, "voice message"),
        ({"animation": {}, "document": {}}, "animation"),
        ({"venue": {}, "location": {}}, "place"),
        ({"location": {"latitude": "north", "longitude": 1}}, "location"),
        ({"sticker": {}}, "sticker"),
    ],
)
def test_what_neither_files_nor_words_can_be_had_of_is_named(fields: dict[str, Any], what: str) -> None:
    found = event(message(None, **fields))
    assert (found.text, found.attachments, found.unsupported) == ("", (), what)


def test_a_caption_is_the_text() -> None:
    text = "@mybot look"
    found = event(
        message(None, chat=GROUP, photo=[], caption=text, caption_entities=[mention(text, "@mybot")])
    )
    assert (found.text, found.unsupported, found.addressed) == ("look", None, True)


@pytest.mark.parametrize(
    "fields", [{"new_chat_members": [BOB]}, {"migrate_to_chat_id": -100777}, {"pinned_message": {}}, {}]
)
def test_service_messages_are_ignored(fields: dict[str, Any]) -> None:
    assert ignored(message(None, chat=GROUP, **fields)) == "service message"


def test_updates_of_other_kinds_are_ignored() -> None:
    assert ignored({"update_id": 1, "inline_query": {"id": "1"}}) == "no message"


# -- malformed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "update",
    [
        None,
        [],
        "update",
        {},
        {"update_id": "7"},
        {"update_id": True, "message": {}},
        {"update_id": 1, "message": None},
        {"update_id": 1, "message": {"message_id": "x", "chat": None}},
        message("hi", message_id="x"),
        message("hi", date=None),
        message("hi", date=10**400),
        message("hi", chat={"id": "9", "type": "private"}),
        message("hi", chat={"id": 9, "type": "wormhole"}),
        message("hi", chat={"id": 9}),
        in_group("hi", **NOBODY),
        message("hi", **{"from": {"id": None}}),
        message("hi", **{"from": {"id": 9, "first_name": 1}}),
        message("hi", edit_date=[1]),
        message(None, caption=5, photo=[]),
        message(["a"]),
    ],
)
def test_malformed_updates_are_kept_as_they_are(update: object) -> None:
    parsed = parse_update(update, READING)
    assert isinstance(parsed, Unparsable)
    assert parsed.error
    assert json.loads(parsed.raw) == update


def test_raw_text_is_bounded() -> None:
    parsed = parse_update({"update_id": 1, "message": "x" * 1_000_000}, READING)
    assert isinstance(parsed, Unparsable)
    assert len(parsed.raw) <= 65536


def test_halves_of_surrogate_pairs_can_be_stored() -> None:
    found = event(message("a\ud83d b", **{"from": {**BOB, "first_name": "\udc00"}}))
    event_to_json(found).encode("utf-8")
    assert found.text == "a\ufffd b"


def test_entities_of_any_shape_do_no_harm() -> None:
    shapes: tuple[object, ...] = (None, 5, {"a": 1}, [None, 1, "x"], [[]])
    for entities in shapes:
        assert event(message("hi", entities=entities)).text == "hi"
