"""A whole message of each platform with any one part of it, however deep, gone wrong: no reading is surprised by it."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.discord.interactions import parse_interaction
from adapters.discord.parse import parse_message
from adapters.discord.places import Place
from adapters.foreseen import UNFORESEEN
from adapters.slack.parse import parse_delivery
from adapters.telegram.parse import parse_update
from hermes.events import Event, Parsed, Unparsable
from tests.property.test_discord_properties import READING as DISCORD
from tests.property.test_slack_properties import READING as SLACK
from tests.property.test_telegram_properties import ANYTHING
from tests.property.test_telegram_properties import READING as TELEGRAM

Read = Callable[[Any], Parsed]
BOB = {"id": "500", "username": "bob", "global_name": "Bob", "bot": False}
FILE = {
    "id": "7",
    "filename": "a.txt",
    "title": "a",
    "url": "https://cdn/a.txt?ex=66aa",
    "size": 3,
    "content_type": "audio/ogg",
}
SAID: dict[str, Any] = {
    "id": "1001",
    "channel_id": "5",
    "type": 0,
    "author": BOB,
    "member": {"nick": "B", "roles": ["1"]},
    "content": "<@900> hi <@500> <#5>",
    "flags": 1 << 13,
    "mentions": [BOB, {"id": "900", "username": "bot", "member": {"nick": "b"}}],
    "attachments": [FILE],
    "sticker_items": [{"id": "9", "name": "g", "format_type": 1}],
    "embeds": [
        {"title": "t", "description": "d", "fields": [{"name": "n", "value": "v"}], "author": {"name": "x"}}
    ],
    "poll": {"question": {"text": "q"}, "answers": [{"poll_media": {"text": "a"}}]},
    "components": [{"components": [{"type": 2, "label": "Yes", "custom_id": "choice:0"}]}],
}
MESSAGE = {
    **SAID,
    "message_snapshots": [{"message": SAID}],
    "referenced_message": {**SAID, "id": "1000"},
    "message_reference": {"message_id": "1000", "channel_id": "5", "type": 0},
}
PRESS = {
    "id": "1002",
    "application_id": "900",
    "token": "t",
    "type": 3,
    "channel_id": "5",
    "data": {"custom_id": "choice:0", "component_type": 2},
    "member": {"user": BOB, "nick": "B"},
    "message": MESSAGE,
}
COMMAND = {
    **PRESS,
    "type": 2,
    "data": {"name": "ask", "type": 1, "options": [{"name": "text", "type": 3, "value": "hi"}]},
}

HUMAN = {"id": 9, "is_bot": False, "first_name": "Bob", "last_name": "B", "username": "bob"}
CHAT = {"id": -1001, "type": "supergroup", "title": "Team", "is_forum": True}
MEDIA = {
    "file_id": "F", "file_unique_id": "u", "file_size": 3, "mime_type": "audio/ogg", "file_name": "a", "emoji": ":)",
    "is_animated": True, "is_video": False, "thumbnail": {"file_id": "T", "file_size": 2},
}  # fmt: skip
WRITTEN: dict[str, Any] = {
    "message_id": 70,
    "date": 1_700_000_000,
    "edit_date": 5,
    "chat": CHAT,
    "from": HUMAN,
    "text": "@mybot hi",
    "caption": "c",
    "entities": [
        {"type": "mention", "offset": 0, "length": 6},
        {"type": "text_mention", "offset": 7, "length": 2, "user": HUMAN},
    ],
    "caption_entities": [{"type": "url", "offset": 0, "length": 1}],
    "message_thread_id": 77,
    "is_topic_message": True,
    "media_group_id": "1",
    "quote": {"text": "why", "position": 0},
    "forward_origin": {"type": "user", "sender_user": HUMAN, "date": 1},
    "location": {"latitude": 1.5, "longitude": 2.5},
    "venue": {"title": "t", "address": "a", "location": {"latitude": 1.5, "longitude": 2.5}},
    "contact": {"phone_number": "1", "first_name": "Bob", "vcard": "v"},
    "poll": {"question": "q", "options": [{"text": "a"}]},
    "dice": {"emoji": "x", "value": 3},
}
KINDS = ("photo", "voice", "video_note", "document", "sticker", "paid_media")
TELEGRAM_MEDIA = {
    **dict.fromkeys(KINDS, MEDIA),
    "photo": [{**MEDIA, "width": 2, "height": 3}, {**MEDIA, "width": 1, "height": 1}],
    "paid_media": {"paid_media": [{"photo": [{**MEDIA, "width": 2, "height": 3}]}]},
}
ANSWERED = {**WRITTEN, "message_id": 3}


def _update(kind: str) -> dict[str, Any]:
    file = {kind: TELEGRAM_MEDIA[kind]}
    answered = {**ANSWERED, **file}
    return {
        "update_id": 1,
        "message": {**WRITTEN, **file, "reply_to_message": answered, "external_reply": answered},
    }


QUERY = {
    "update_id": 1,
    "callback_query": {
        "id": "1",
        "from": HUMAN,
        "data": "choice:0",
        "chat_instance": "1",
        "message": {
            **WRITTEN,
            "reply_markup": {"inline_keyboard": [[{"text": "Yes", "callback_data": "choice:0"}]]},
        },
    },
}
HELD = {
    "id": "F1", "name": "a", "title": "a", "mimetype": "audio/ogg", "size": 3, "subtype": "slack_audio", "mode": "hosted",
    "is_external": False, "url_private": "https://files.slack.com/a", "shares": {"public": {"C1": [{"ts": "1.2"}]}},
}  # fmt: skip
POST: dict[str, Any] = {
    "type": "message",
    "subtype": "file_share",
    "user": "U1",
    "channel": "C1",
    "channel_type": "channel",
    "ts": "1700000000.000100",
    "thread_ts": "1700000000.000000",
    "text": "<@UBOT> hi <#C1|x> <http://a|b>",
    "files": [HELD],
    "edited": {"user": "U1", "ts": "1700000001.000100"},
    "attachments": [
        {"is_share": True, "text": "t", "fallback": "f", "author_name": "n", "title": "x", "files": [HELD]}
    ],
    "blocks": [
        {
            "type": "rich_text",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "hi"}]}],
        }
    ],
}
DELIVERY = {"team_id": "T1", "api_app_id": "A1", "event_id": "E1", "event": POST}
CHANGED = {
    **DELIVERY,
    "event": {"type": "message", "subtype": "message_changed", "channel": "C1", "channel_type": "im", "ts": "1.2",
              "message": POST, "previous_message": {**POST, "text": "before"}},
}  # fmt: skip
ACTIONS = {
    "type": "block_actions",
    "team": {"id": "T1"},
    "user": {"id": "U1", "name": "bob", "team_id": "T1"},
    "channel": {"id": "C1", "name": "general"},
    "container": {"type": "message", "channel_id": "C1", "message_ts": "1.2", "is_ephemeral": True, "thread_ts": "1.1"},
    "message": {**POST, "blocks": [{"type": "actions", "block_id": "b", "elements": [{"type": "button"}]}]},
    "actions": [{"action_id": "hermes.choice.0", "value": "Yes", "block_id": "b", "text": {"type": "plain_text", "text": "Yes"},
                 "action_ts": "1.3", "type": "button"}],
    "response_url": "https://hooks.slack.com/x",
}  # fmt: skip
SLASH = {"command": "/hermes", "text": "hi", "user_id": "U1", "user_name": "bob", "channel_id": "C1", "channel_name": "general",
         "team_id": "T1", "trigger_id": "1.2.x", "response_url": "https://hooks.slack.com/x"}  # fmt: skip


def _discord(read: Callable[..., Parsed], place: Place) -> Read:
    return lambda found: read(found, DISCORD, place)


def _slack(kind: str) -> Read:
    return lambda found: parse_delivery(kind, found, SLACK)


WHOLE: dict[str, tuple[Any, Read]] = {
    "discord message": (MESSAGE, _discord(parse_message, Place())),
    "discord direct": (MESSAGE, _discord(parse_message, Place(direct=True))),
    "discord press": (PRESS, _discord(parse_interaction, Place())),
    "discord command": (COMMAND, _discord(parse_interaction, Place())),
    **{f"telegram {kind}": (_update(kind), lambda found: parse_update(found, TELEGRAM)) for kind in KINDS},
    "telegram press": (QUERY, lambda found: parse_update(found, TELEGRAM)),
    "slack post": (DELIVERY, _slack("events_api")),
    "slack edit": (CHANGED, _slack("events_api")),
    "slack press": (ACTIONS, _slack("interactive")),
    "slack command": (SLASH, _slack("slash_commands")),
}


WRONG: list[Any] = [
    *(None, True, -1, 1 << 70, 1.5, float("inf")),
    *("", "\ud800", "9" * 5000),
    *([], [1], [[]], {}, {"id": []}),
]


def places(found: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in it, as the keys that lead there."""
    yield above
    keys = found if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
    for key in keys:
        yield from places(found[key], (*above, key))


def replaced(found: Any, place: tuple[Any, ...], by: Any) -> Any:
    """A copy with something else in one place."""
    if not place:
        return by
    changed = copy.copy(found)
    changed[place[0]] = replaced(found[place[0]], place[1:], by)
    return changed


def surprises(read: Read, found: Any) -> str:
    parsed = read(found)
    return parsed.error if isinstance(parsed, Unparsable) and parsed.error.startswith(UNFORESEEN) else ""


@pytest.mark.parametrize("kind", WHOLE)
def test_every_part_of_any_wrong_kind(kind: str) -> None:
    whole, read = WHOLE[kind]
    assert isinstance(read(whole), Event), read(whole)
    for place in places(whole):
        for wrong in WRONG:
            assert surprises(read, replaced(whole, place, wrong)) == "", (place, wrong)


@pytest.mark.parametrize("kind", WHOLE)
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_several_parts_of_any_kind(kind: str, data: st.DataObject) -> None:
    found, read = WHOLE[kind]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(list(places(found))))
        found = replaced(found, place, data.draw(ANYTHING))
    assert surprises(read, found) == ""
