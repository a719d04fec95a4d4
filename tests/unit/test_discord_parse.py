import json
from dataclasses import replace
from typing import Any

import pytest

from adapters.discord.answers import Answers
from adapters.discord.attached import FilePlace
from adapters.discord.fetching import expires_at
from adapters.discord.interactions import ASK, parse_interaction
from adapters.discord.parse import NO_CONTENT, Reading, parse_message
from adapters.discord.places import Place, read_place
from hermes.events import (
    Attachment,
    Event,
    Ignored,
    Sender,
    Target,
    Unparsable,
    event_from_json,
    event_to_json,
)

US = "900"
READING = Reading("discord", US, allow_from=("*",))
DIRECT = Place(direct=True)
CHANNEL = Place()
THREAD = Place(thread=True, parent="5", joined=True)
ANA = {"id": "500", "username": "ana", "global_name": "Ana"}
BOT = {"id": "77", "username": "other", "bot": True}
OURS = {"id": "900", "username": "us", "bot": True}


def message(content: object = "hi", **fields: Any) -> dict[str, Any]:
    body = {"id": "1001", "channel_id": "5", "author": ANA, "content": content, "type": 0, "mentions": []}
    return {**body, **fields}


def event(found: object, place: Place = CHANNEL, reading: Reading = READING) -> Event:
    parsed = parse_message(found, reading, place)
    assert isinstance(parsed, Event), parsed
    return parsed


def ignored(found: object, place: Place = CHANNEL, reading: Reading = READING) -> str:
    parsed = parse_message(found, reading, place)
    assert isinstance(parsed, Ignored), parsed
    return parsed.reason


# -- a message ----------------------------------------------------------------------------------------


def test_a_direct_message_is_an_event_that_can_be_stored() -> None:
    found = event(message("hello"), DIRECT)
    assert found.sender == Sender("500", "Ana", "ana")
    assert (found.kind, found.chat, found.account, found.text) == ("direct", "5", "900", "hello")
    assert found.reply_to == (Target("discord", "5"),)
    assert (found.addressed, found.private_notice) == (True, True)
    assert event_from_json(event_to_json(found)) == found


def test_a_channel_is_called_by_its_name_and_a_direct_chat_by_its_persons() -> None:
    general = read_place({"type": 0, "name": "general"})
    assert event(message(f"<@{US}> hi"), general).chat_name == "#general"
    assert event(message("hello"), DIRECT).chat_name == "@ana"
    assert event(message(f"<@{US}> hi"), CHANNEL).chat_name == ""
    begun = event(message(f"<@{US}> hi"), general, replace(READING, auto_thread=True))
    assert begun.chat_name == ""  # the thread has another


def test_DC_13_the_same_message_again_has_the_same_key_and_another_one_has_not() -> None:
    first = event(message("again", id="1001"))
    assert event(message("again", id="1001", nonce="x", member={"roles": []})).dedupe_key == first.dedupe_key
    assert event(message("again", id="1001", edited_timestamp="2026-01-01")).dedupe_key == first.dedupe_key
    assert event(message("again", id="1003")).dedupe_key != first.dedupe_key


@pytest.mark.parametrize(
    "content", ["nobody", "@everyone look", "@here", "<@&900> role", "<@901> you", "900", "@us by name"]
)
def test_who_is_not_named_is_not_spoken_to(content: str) -> None:
    more = {"mention_everyone": True, "mention_roles": ["900"], "mentions": [OURS]}
    assert not event(message(content, **more)).addressed


@pytest.mark.parametrize("content", ["<@900> hi", "hi <@!900>", "a <@900> b"])
def test_a_mention_is_for_us_and_is_taken_out(content: str) -> None:
    found = event(message(content))
    assert found.addressed
    assert "900" not in found.text


def test_a_reply_to_us_is_for_us_and_one_to_another_is_not() -> None:
    ours = {"id": "7", "author": OURS, "content": "what we said"}
    found = event(message("and now?", type=19, referenced_message=ours))
    assert (found.addressed, found.quoted) == (True, "what we said")
    assert not event(message("no", type=19, referenced_message={**ours, "author": ANA})).addressed
    assert not event(message("gone", type=19, referenced_message=None)).addressed


def test_without_mentions_and_in_free_channels_everything_is_for_us() -> None:
    assert event(message("x"), CHANNEL, replace(READING, mention="off")).addressed
    free = replace(READING, free_channels=("5",))
    assert event(message("x"), CHANNEL, free).addressed
    assert event(message("x", channel_id="9"), Place(thread=True, parent="5"), free).addressed
    assert not event(message("x", channel_id="9"), CHANNEL, free).addressed


def test_names_stand_in_place_of_the_marks_of_others_and_emoji_read_as_words() -> None:
    found = event(message("<@900> ask <@500> and <@1> <:wave:123>", mentions=[ANA]))
    assert found.text == "ask @Ana and @1 :wave:"


def test_what_is_passed_on_is_read_as_the_words_of_another() -> None:
    file = {"id": "7", "url": "https://cdn/b.png", "filename": "b.png", "content_type": "image/png"}
    said = {"content": "/stop <@500>\nat once", "mentions": [ANA], "attachments": [file]}
    found = event(message("", message_snapshots=[{"message": said}]), DIRECT)
    assert found.text == "[Forwarded message]\n> /stop @Ana\n> at once"
    assert [a.ref for a in found.attachments] == ["5/1001/7 https://cdn/b.png"]
    alone = event(message("", message_snapshots=[{"message": {**said, "content": ""}}]), DIRECT)
    assert (alone.text, len(alone.attachments)) == ("", 1)
    to_us = event(message("", message_snapshots=[{"message": {"content": "<@900> hi"}}]))
    assert (to_us.text, to_us.addressed) == ("[Forwarded message]\n> @900 hi", False)
    assert event(message("look", message_snapshots=[{"message": said}]), DIRECT).text.startswith("look\n\n[F")


def test_an_address_of_a_message_stays_an_address() -> None:
    link = "https://discord.com/channels/10/11/1001"
    assert event(message(f"see {link}"), DIRECT).text == f"see {link}"


# -- bots ---------------------------------------------------------------------------------------------


def test_DC_06_own_messages_and_other_bots_are_never_answered_and_people_in_our_thread_are() -> None:
    assert ignored(message(author=OURS), THREAD) == "own message"
    assert ignored(message(author=BOT), THREAD) == "sender is a bot"
    assert ignored(message(webhook_id="5"), THREAD) == "sender is a bot"
    assert event(message(), THREAD).addressed


@pytest.mark.parametrize("allowed", ["mentions", "all"])
def test_DC_06_own_messages_are_not_answered_whatever_is_allowed(allowed: Any) -> None:
    reading = replace(READING, allow_bots=allowed, mention="off")
    assert ignored(message("<@900> me", author=OURS), DIRECT, reading) == "own message"


def test_DC_07_a_reply_ping_of_a_bot_is_no_mention_and_a_mark_is_one() -> None:
    reading = replace(READING, allow_bots="mentions")
    ours = {"id": "7", "author": OURS, "content": "x"}
    pinged = message("ok, done", author=BOT, mentions=[OURS], type=19, referenced_message=ours)
    assert ignored(pinged, CHANNEL, reading) == "sender is a bot"
    found = event({**pinged, "content": "<@900> ok, done"}, CHANNEL, reading)
    assert (found.addressed, found.sender.is_bot, found.admitted) == (True, True, "anyone")


def test_a_bot_needs_to_be_listed_too() -> None:
    reading = replace(READING, allow_bots="all", allow_from=("500",))
    assert event(message(author=BOT), DIRECT, reading).admitted is None  # the door turns bots away
    assert event(message(author=BOT), DIRECT, replace(reading, allow_from=("77",))).admitted == "listed"
    assert event(message(author=BOT), DIRECT, replace(reading, allow_from=None)).admitted is None


# -- places -------------------------------------------------------------------------------------------


def test_DC_15_a_thread_counts_as_its_channel_and_has_its_own_session_and_target() -> None:
    reading = replace(READING, channels=("5",))
    found = event(message("<@900> x", channel_id="9"), Place(thread=True, parent="5"), reading)
    assert (found.chat, found.thread) == ("9", "9")
    assert [t.chat for t in found.reply_to] == ["9"]
    assert event(message("<@900> x"), CHANNEL, reading).thread is None
    other = Place(thread=True, parent="6")
    assert ignored(message("<@900> x", channel_id="9"), other, reading) == "another channel"
    said = message("<@900> /link ABCDE-FGHIJ", channel_id="9")
    assert parse_message(said, reading, other) == Ignored("another channel", "/link ABCDE-FGHIJ")
    assert event(message(channel_id="8"), DIRECT, reading).addressed  # direct chats are no channels


def test_DC_16_posts_of_a_forum_are_threads_of_their_own() -> None:
    place = read_place({"id": "60", "type": 11, "parent_id": "6", "member": {"id": "60"}})
    reading = replace(READING, channels=("6",), free_channels=("6",))
    first = event(message("a post", id="60", channel_id="60"), place, reading)
    second = event(message("another", id="61", channel_id="61"), place, reading)
    assert [(e.chat, e.thread, e.reply_to[0].chat) for e in (first, second)] == [
        ("60", "60", "60"),
        ("61", "61", "61"),
    ]


def test_DC_16_the_first_message_of_a_post_says_its_title() -> None:
    place = read_place({"id": "60", "type": 11, "parent_id": "6", "name": "It does not start"})
    assert event(message("a log", id="60", channel_id="60"), place).text == "It does not start\n\na log"
    assert event(message("more", id="1002", channel_id="60"), place).text == "more"
    assert (
        event(message(f"<@{US}> hi", id="5"), read_place({"id": "5", "type": 0, "name": "general"})).text
        == "hi"
    )


def test_a_mention_may_begin_a_thread_that_has_its_id() -> None:
    reading = replace(READING, auto_thread=True)
    found = event(message("<@900> what is\n this?"), CHANNEL, reading)
    assert (found.chat, found.thread, found.reply_to[0].chat) == ("1001", "1001", "1001")
    answers = Answers.from_text(found.reply_to[0].answers)
    assert (answers.parent, answers.message, answers.name) == ("5", "1001", "what is this?")
    assert event(message("<@900> x"), THREAD, reading).chat == "5"  # a thread has none
    assert event(message("x"), DIRECT, reading).chat == "5"
    assert event(message("not for us"), CHANNEL, reading).chat == "5"


# -- what is no text ----------------------------------------------------------------------------------


def test_DC_05_a_message_with_only_a_picture_is_kept_with_it() -> None:
    file = {
        "id": "1",
        "url": "https://cdn/a.png",
        "filename": "a.png",
        "content_type": "image/png",
        "size": 2000,
    }
    found = event(message("", attachments=[file]), DIRECT)
    assert (found.text, found.unsupported) == ("", None)
    (attached,) = found.attachments
    assert attached == Attachment("image", "5/1001/1 https://cdn/a.png", "a.png", "image/png", 2000)
    named = event(message("<@900>", attachments=[file]))
    assert (named.text, named.addressed, len(named.attachments)) == ("", True, 1)
    told = event(message("look", attachments=[file]), DIRECT)
    assert (told.text, told.unsupported, len(told.attachments)) == ("look", None, 1)
    assert event_from_json(event_to_json(told)) == told


@pytest.mark.parametrize(
    ("file", "flags", "kind"),
    [
        ({"content_type": "audio/ogg"}, 8192, "voice"),
        ({"content_type": "audio/ogg"}, 0, "audio"),
        ({"content_type": "video/mp4"}, 0, "video"),
        ({"content_type": "application/pdf"}, None, "document"),
        ({}, 0, "document"),
    ],
)
def test_each_file_has_its_kind(file: dict[str, Any], flags: Any, kind: str) -> None:
    found = event(message("", attachments=[{"id": "1", "url": "u", **file}], flags=flags), DIRECT)
    assert [a.kind for a in found.attachments] == [kind]


def test_what_somebody_else_spoke_is_a_recording() -> None:
    spoken = {"attachments": [{"id": "1", "url": "u", "content_type": "audio/ogg"}], "flags": 8192}
    passed_on = event(message("", message_snapshots=[{"message": spoken}]), DIRECT)
    assert [a.kind for a in passed_on.attachments] == ["audio"]
    replied_to = event(message("<@900> listen", referenced_message=message("", **spoken)))
    assert [a.kind for a in replied_to.attachments] == ["audio"]


def test_a_reply_to_a_file_brings_the_file_and_ours_are_known_already() -> None:
    file = {"id": "7", "url": "https://cdn/a", "filename": "a.pdf"}
    theirs = message("the plan", id="1000", attachments=[file])
    found = event(message("<@900> what is it?", attachments=[{**file, "id": "8"}], referenced_message=theirs))
    assert [FilePlace.from_text(a.ref).message for a in found.attachments] == ["1001", "1000"]
    assert found.quoted == "the plan"
    ours = {**theirs, "author": {"id": "900"}}
    assert event(message("why?", referenced_message=ours)).attachments == ()


def test_a_place_of_a_file_is_read_as_it_was_written_and_an_older_one_is_an_address() -> None:
    place = FilePlace("https://cdn/a?ex=1&", "5", "1001", "7")
    assert FilePlace.from_text(place.to_text()) == place
    for text in ("https://cdn/a.png", "stickers/1.png", "", "5/1001 x", "a/b/c https://cdn/a"):
        assert FilePlace.from_text(text) == FilePlace(text)
    assert FilePlace("u", "5", "1001", "None").to_text() == "u"  # a file without an id
    assert expires_at("https://cdn/a?ex=65d903de&is=1&hm=2&") == 0x65D903DE
    assert expires_at("https://cdn/a") == expires_at("https://cdn/a?ex=zz") == float("inf")


def test_stickers_are_pictures_where_they_are_and_names_where_not() -> None:
    items = [{"id": "8", "name": "Wave", "format_type": form} for form in (1, 2, 4, 3)]
    found = event(message("", sticker_items=[*items, {"id": "../x", "format_type": 1}]), DIRECT)
    assert [(a.kind, a.ref, a.mime) for a in found.attachments] == [
        ("sticker", "stickers/8.png", "image/png"),
        ("sticker", "stickers/8.png", "image/apng"),
        ("sticker", "stickers/8.gif", "image/gif"),
    ]
    assert found.text == "[Sticker: Wave]"


def test_polls_and_cards_are_told_in_words() -> None:
    answers = [{"poll_media": {"text": "red"}}, {"poll_media": {"text": "blue"}}, {}]
    poll = {"question": {"text": "Which?"}, "answers": answers}
    assert event(message("", poll=poll), DIRECT).text == "[Poll] Which?\n- red\n- blue"
    card = {"title": "Build", "description": "failed\ntwice", "fields": [{"name": "on", "value": "main"}]}
    told = event(message("", embeds=[card, {"type": "image"}]), DIRECT).text
    assert told == "[Embed]\n> Build\n> failed\n> twice\n> on: main"
    assert event(message("see https://x.org", embeds=[card]), DIRECT).text == "see https://x.org"


def test_a_message_without_text_in_a_server_says_that_it_was_kept_back() -> None:
    assert ignored(message("")) == NO_CONTENT
    assert ignored(message(""), DIRECT) == "empty"
    assert ignored(message("x joined", type=7)) == "service message"


# -- slash commands -----------------------------------------------------------------------------------


def command(name: str = "new", *values: str, **fields: Any) -> dict[str, Any]:
    options = [{"type": 3, "name": "text", "value": v} for v in values]
    data = {"id": "1", "name": name, "type": 1, "options": options}
    body = {
        "id": "2001",
        "application_id": "900",
        "type": 2,
        "token": "secret",
        "channel_id": "5",
        "data": data,
    }
    return {**body, "member": {"user": ANA, "nick": "Annie"}, "guild_id": "10", **fields}


def slash(found: object, place: Place = CHANNEL) -> Event:
    parsed = parse_interaction(found, READING, place)
    assert isinstance(parsed, Event), parsed
    return parsed


def test_a_slash_command_reads_as_it_would_be_typed() -> None:
    found = slash(command("queue", "buy milk"))
    assert (found.text, found.addressed, found.dedupe_key) == ("/queue buy milk", True, "2001")
    assert found.sender == Sender("500", "Annie", "ana")
    answers = Answers.from_text(found.reply_to[0].answers)
    assert (answers.application, answers.token) == ("900", "secret")
    assert slash(command()).text == "/new"
    direct = {k: v for k, v in command(ASK, "hello").items() if k not in ("member", "guild_id")}
    assert slash({**direct, "user": ANA}, DIRECT).text == "hello"
    assert slash(command(ASK, "/skill x")).text == "/skill x"


def test_among_others_no_command_is_private_though_there_is_no_server() -> None:
    direct = {k: v for k, v in command("link").items() if k not in ("member", "guild_id")} | {"user": ANA}
    for context, kind in ((1, "direct"), (None, "direct"), (2, "group")):
        found = slash({**direct, "context": context}, DIRECT)
        assert (found.kind, found.private_notice) == (kind, kind == "direct"), context
    assert read_place({"id": "5", "type": 1}).direct
    assert not read_place({"id": "5", "type": 3}).direct, "a group of persons"


def test_other_interactions_are_left_alone_and_where_we_may_not_answer_too() -> None:
    assert parse_interaction(command(type=5), READING, CHANNEL) == Ignored("no slash command")
    elsewhere = replace(READING, channels=("8",))
    assert parse_interaction(command(), elsewhere, CHANNEL) == Ignored("another channel", "/new")


def test_an_unreadable_slash_command_is_kept_without_its_secret() -> None:
    parsed = parse_interaction(command(channel_id="x"), READING, CHANNEL)
    assert isinstance(parsed, Unparsable)
    assert "secret" not in parsed.raw


# -- nonsense -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "found",
    [
        None,
        "text",
        {},
        message(author="ana"),
        message(author={"id": True}),
        message(author={"id": "5/../x"}),
        message(channel_id="../../users"),
        message(id=-1),
        message(content={"a": 1}),
    ],
)
def test_what_cannot_be_read_is_kept(found: object) -> None:
    parsed = parse_message(found, READING, CHANNEL)
    assert isinstance(parsed, Unparsable)
    assert json.loads(parsed.raw) == found


def test_halves_of_characters_are_replaced() -> None:
    assert event(message("a\ud800b"), DIRECT).text == "a\ufffdb"
