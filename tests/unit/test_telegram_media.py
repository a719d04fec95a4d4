"""What messages hold besides text: files, places, polls, and what they answer."""

from typing import Any

import pytest

from adapters.telegram.parse import allowed_updates, parse_update
from adapters.telegram.reading import Reading
from hermes.events import Attachment, Event, Ignored, Sender, event_from_json, event_to_json
from tests.unit.test_telegram_parse import BOB, GROUP, US, event, ignored, in_group, mention, message

FILE = {"file_id": "F", "file_unique_id": "U", "file_size": 7}
STICKER = {**FILE, "type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}
STILL = {"file_id": "T", "file_unique_id": "V", "width": 128, "height": 128}
BERLIN = {"latitude": 52.5200066, "longitude": 13.404954}


def files(**fields: Any) -> tuple[Attachment, ...]:
    found = event(message(None, **fields))
    assert (found.text, found.unsupported) == ("", None)
    assert event_from_json(event_to_json(found)) == found
    return found.attachments


def words(**fields: Any) -> str:
    found = event(message(None, **fields))
    assert (found.attachments, found.unsupported) == ((), None)
    return found.text


# -- files -------------------------------------------------------------------------------------------


def test_the_largest_size_of_a_photo_is_taken() -> None:
    sizes = [
        {"file_id": "s", "width": 90, "height": 67, "file_size": 900},
        {"file_id": "l", "width": 1280, "height": 960, "file_size": 90_000},
        {"file_id": "m", "width": 320, "height": 240},
    ]
    assert files(photo=sizes) == (Attachment("image", "l", "", "image/jpeg", 90_000),)
    assert [f.ref for f in files(photo=sizes, live_photo=FILE)] == ["l"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"voice": {**FILE, "mime_type": "audio/ogg"}}, Attachment("voice", "F", "", "audio/ogg", 7)),
        ({"audio": {**FILE, "file_name": "a.mp3", "title": "T"}}, Attachment("audio", "F", "a.mp3", "", 7)),
        ({"audio": {**FILE, "title": "T"}}, Attachment("audio", "F", "T", "", 7)),
        ({"video": {**FILE, "mime_type": "video/mp4"}}, Attachment("video", "F", "", "video/mp4", 7)),
        ({"video_note": FILE}, Attachment("video", "F", "", "video/mp4", 7)),
        ({"document": {**FILE, "file_name": "a.pdf", "mime_type": "application/pdf"}},
         Attachment("document", "F", "a.pdf", "application/pdf", 7)),
        ({"document": {"file_id": "F", "file_size": -1}}, Attachment("document", "F")),
        ({"animation": {**FILE, "file_name": "a.mp4"}, "document": {"file_id": "other"}},
         Attachment("video", "F", "a.mp4", "", 7)),
        ({"sticker": {**STICKER, "emoji": "\U0001f600"}},
         Attachment("image", "F", "sticker \U0001f600", "image/webp", 7)),
        ({"sticker": {**STICKER, "is_video": True, "thumbnail": STILL}}, Attachment("image", "T", "sticker")),
        ({"sticker": {**STICKER, "is_animated": True, "thumbnail": STILL}}, Attachment("image", "T", "sticker")),
        ({"paid_media": {"star_count": 1, "paid_media": [{"type": "preview"}, {"type": "video", "video": FILE}]}},
         Attachment("video", "F", "", "", 7)),
    ],
)  # fmt: skip
def test_every_kind_of_file_is_attached(fields: dict[str, Any], expected: Attachment) -> None:
    assert files(**fields) == (expected,)


def test_a_caption_is_the_text_and_the_file_comes_along() -> None:
    text = "@mybot look"
    photo = [{"file_id": "l", "width": 9, "height": 9}]
    found = event(
        message(None, chat=GROUP, photo=photo, caption=text, caption_entities=[mention(text, "@mybot")])
    )
    assert (found.text, found.unsupported, found.addressed) == ("look", None, True)
    assert [f.ref for f in found.attachments] == ["l"]


@pytest.mark.parametrize(
    "fields",
    [
        {"photo": [None, 1, {"file_id": "l", "width": "x"}], "caption": "c"},
        {"document": {"file_id": "l", "file_name": 7, "mime_type": []}, "caption": "c"},
        {"sticker": {"file_id": "l", "emoji": 3}, "caption": "c"},
        {"paid_media": {"paid_media": [[], {"document": {"file_id": "l"}}]}, "caption": "c"},
    ],
)
def test_what_is_said_wrongly_of_a_file_does_not_cost_it(fields: dict[str, Any]) -> None:
    found = event(message(None, **fields))
    assert ([f.ref for f in found.attachments], found.text) == (["l"], "c")


def test_a_name_is_bounded_and_can_be_stored() -> None:
    (file,) = files(document={**FILE, "file_name": "\ud83d" + "x" * 5000})
    assert (file.name[0], len(file.name)) == ("\ufffd", 255)


# -- what words can say ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"location": BERLIN}, "[Location: 52.520007, 13.404954]"),
        ({"location": {**BERLIN, "live_period": 900}},
         "[Location where the sender is now: 52.520007, 13.404954]"),
        ({"venue": {"location": BERLIN, "title": "Tower", "address": "Square 1"}, "location": BERLIN},
         "[Place: Tower, Square 1 (52.520007, 13.404954)]"),
        ({"contact": {"phone_number": "+49301", "first_name": "Ann", "last_name": "B"}},
         "[Contact: Ann B, +49301]"),
        ({"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}},
         "[Poll: Tea?\n- yes\n- no]"),
        ({"checklist": {"title": "Buy", "tasks": [{"text": "milk", "completion_date": 1}, {"text": "tea"}]}},
         "[Checklist: Buy\n- done: milk\n- tea]"),
        ({"dice": {"emoji": "\U0001f3b2", "value": 5}}, "[Dice \U0001f3b2: 5]"),
        ({"sticker": {**STICKER, "is_animated": True, "emoji": "\U0001f600"}}, "[Sticker \U0001f600]"),
    ],
)  # fmt: skip
def test_places_contacts_and_polls_are_said_in_words(fields: dict[str, Any], expected: str) -> None:
    assert words(**fields) == expected


def test_somebody_who_moves_asks_nothing() -> None:
    moved = {**message(None, location=BERLIN)["message"], "edit_date": 1_700_000_009}
    assert ignored({"update_id": 1, "edited_message": moved}) == "live location"


# -- what is answered --------------------------------------------------------------------------------


def answered(author: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"message_id": 3, "date": 1, "chat": GROUP, "from": author, **fields}


def test_a_reply_to_a_file_brings_the_file() -> None:
    found = event(in_group("/what", reply_to_message=answered(BOB, document=FILE, caption="plan")))
    assert [f.ref for f in found.attachments] == ["F"]
    assert found.quoted == "plan"


def test_its_own_files_come_first() -> None:
    theirs = answered(BOB, voice={**FILE, "file_id": "theirs"})
    found = event(message(None, document=FILE, caption="c", reply_to_message=theirs))
    assert [f.ref for f in found.attachments] == ["F", "theirs"]


def test_what_somebody_else_spoke_is_a_recording() -> None:
    replied_to = event(in_group("/listen", reply_to_message=answered(BOB, voice=FILE)))
    origin = {"type": "hidden_user", "date": 1, "sender_user_name": "X"}
    passed_on = event(message(None, voice=FILE, forward_origin=origin))
    assert [[f.kind for f in found.attachments] for found in (replied_to, passed_on)] == [
        ["audio"],
        ["audio"],
    ]


def test_our_own_files_are_known_already() -> None:
    ours = answered({"id": 42, "is_bot": True, "first_name": "me"}, document=FILE)
    found = event(in_group("why?", reply_to_message=ours))
    assert (found.addressed, found.attachments) == (True, ())


def test_what_was_said_elsewhere_is_quoted() -> None:
    origin = {"type": "hidden_user", "date": 1, "sender_user_name": "X"}
    found = event(
        in_group(
            "/ask", external_reply={"origin": origin, "photo": [{"file_id": "e"}]}, quote={"text": "that"}
        )
    )
    assert (found.quoted, [f.ref for f in found.attachments]) == ("that", ["e"])
    place = event(in_group("/ask", external_reply={"origin": origin, "location": BERLIN}))
    assert place.quoted == "[Location: 52.520007, 13.404954]"


# -- channels ----------------------------------------------------------------------------------------


def test_a_signed_post_names_who_signed_it() -> None:
    channel = {"id": -100900, "type": "channel", "title": "News", "username": "news"}
    post = {"message_id": 5, "date": 1, "text": "hi", "chat": channel, "author_signature": "Ann"}
    assert event({"update_id": 1, "channel_post": post}).sender == Sender("-100900", "News (Ann)", "news")


def test_a_post_in_the_group_where_it_is_discussed_is_answered_only_by_name() -> None:
    channel = {"id": -100900, "type": "channel", "title": "News"}
    copy = {"sender_chat": channel, "is_automatic_forward": True}
    free = Reading("telegram", US, "off")
    assert not event(in_group("news", **copy), free).addressed
    assert event(in_group("@mybot news", mention("@mybot news", "@mybot"), **copy), free).addressed
    assert event(in_group("news"), free).addressed


@pytest.mark.parametrize(
    ("chat", "name"),
    [
        ({"id": 9, "type": "private", "first_name": "Bob"}, ""),
        ({"id": 9, "type": "private", "first_name": "Bob", "username": "bob"}, "@bob"),
        ({"id": -1001, "type": "supergroup", "title": "Our team"}, "#Our team"),
        ({"id": -1001, "type": "channel", "title": "News", "username": "news"}, "@news"),
    ],
)
def test_a_chat_is_called_by_its_name(chat: dict[str, Any], name: str) -> None:
    assert event(message("/x", chat=chat)).chat_name == name


# -- reactions ---------------------------------------------------------------------------------------


def reacted(new: list[dict[str, Any]], chat: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    body = {
        "chat": chat or {"id": 9, "type": "private"},
        "message_id": 70,
        "date": 5,
        "user": BOB,
        "old_reaction": [],
        "new_reaction": new,
        **more,
    }
    return {"update_id": 1, "message_reaction": body}


THUMB = {"type": "emoji", "emoji": "\U0001f44d"}
HEARING = Reading("telegram", US, reactions=True)


def test_reactions_are_neither_asked_for_nor_taken_by_default() -> None:
    assert "message_reaction" not in allowed_updates(Reading("telegram", US))
    assert ignored(reacted([THUMB])) == "no message"


def test_where_they_count_a_reaction_is_a_short_message() -> None:
    assert "message_reaction" in allowed_updates(HEARING)
    found = event(reacted([THUMB]), HEARING)
    assert found.text == "[Reaction \U0001f44d to an earlier message]"
    assert (found.sender.id, found.kind, found.message_id) == ("9", "direct", None)
    assert found.dedupe_key != event(message("hi")).dedupe_key
    heart = event(reacted([THUMB, {"type": "emoji", "emoji": "❤"}], old_reaction=[THUMB]), HEARING)
    assert "❤" in heart.text
    assert "\U0001f44d" not in heart.text


@pytest.mark.parametrize(
    "update", [reacted([]), reacted([THUMB], GROUP), reacted([THUMB], old_reaction=[THUMB])]
)
def test_reactions_that_say_nothing_to_us_are_passed_over(update: dict[str, Any]) -> None:
    parsed = parse_update(update, HEARING)
    assert isinstance(parsed, Ignored)
    assert parsed.reason == "reaction"


def test_a_reaction_without_a_name_is_one_too() -> None:
    custom = {"type": "custom_emoji", "custom_emoji_id": "1"}
    parsed = parse_update(reacted([custom, {"type": "paid"}]), HEARING)
    assert isinstance(parsed, Event)
    assert "(a picture) ⭐" in parsed.text
