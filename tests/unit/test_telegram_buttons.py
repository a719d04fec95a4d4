"""Buttons: what is put under a message, and what a press of one says."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.telegram.addressing import Account
from adapters.telegram.buttons import keyboard, labels
from adapters.telegram.failures import Refused
from adapters.telegram.parse import allowed_updates, parse_update, query_id
from adapters.telegram.reading import Reading
from adapters.telegram.render import LIMIT
from adapters.telegram.sending import Call, remedy
from hermes.events import Event, Ignored, Sender, Target, Unparsable
from tests.peers.telegram.keyboards import keyboard_faults

US = Account(42, "mybot")
READING = Reading("telegram", US)
GROUP = {"id": -1001, "type": "supergroup", "title": "Team", "is_forum": True}
BOB = {"id": 9, "is_bot": False, "first_name": "Bob", "last_name": "B", "username": "bob"}


def pressed(
    *,
    data: object = "choice:0",
    message: object = None,
    choices: tuple[str, ...] = ("Yes", "No"),
    **fields: Any,
) -> dict[str, Any]:
    """A press under one of our messages; `fields` go into the message."""
    body = {
        "message_id": 70,
        "date": 1_700_000_000,
        "chat": {"id": 9, "type": "private", "username": "bob"},
        "from": {"id": 42, "is_bot": True, "first_name": "me"},
        "text": "Shall I?",
        "reply_markup": keyboard(choices),
        **fields,
    }
    query = {"id": "4711", "from": BOB, "chat_instance": "1", "data": data, "message": message or body}
    return {"update_id": 900, "callback_query": query}


def event(update: object, reading: Reading = READING) -> Event:
    parsed = parse_update(update, reading)
    assert isinstance(parsed, Event), parsed
    return parsed


# -- out ---------------------------------------------------------------------------------------------


def rows(*choices: str) -> list[int]:
    return [len(row) for row in keyboard(choices)["inline_keyboard"]]


def test_short_labels_stand_side_by_side_and_long_ones_below_each_other() -> None:
    assert rows("Yes", "No") == [2]
    assert rows(*"abcdefgh") == [4, 4]
    assert rows("Tomorrow morning", "Next week", "Never") == [2, 1]
    assert rows("A sentence of many words, say", "No") == [1, 1]
    assert rows("\u6f22" * 10, "No") == [1, 1]


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        ("a\x00b\x1b[1m", "a b [1m"),
        ("a\u202eb\u2066c", "a b c"),
        ("a\ud83d", "a\ufffd"),
        ("\u200b\u2060", "1"),
        ("\x00", "1"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
        ("/reset", "/reset"),
    ],
)
def test_what_no_client_shows_leaves_a_label_and_a_blank_one_is_a_number(choice: str, shown: str) -> None:
    markup = keyboard([choice])
    assert labels(markup) == [shown]
    json.dumps(markup, ensure_ascii=False).encode()
    assert keyboard_faults(markup) == []


def test_eight_labels_of_sixty_wide_characters_are_within_the_limits() -> None:
    markup = keyboard([f"{n}" + "\U0001f3b2" * 59 for n in range(8)])
    assert len(labels(markup)) == 8
    assert keyboard_faults(markup) == []


# -- refused -----------------------------------------------------------------------------------------


def offering(text: str = "Shall I?") -> Call:
    return Call(5, text, (), buttons=keyboard(["Yes", "No"]))


@pytest.mark.parametrize(
    "description",
    [
        "Bad Request: BUTTON_DATA_INVALID",
        "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
        "Bad Request: REPLY_MARKUP_INVALID",
    ],
)
def test_refused_buttons_become_a_list_once(description: str) -> None:
    refused = Refused("sendMessage", 400, description)
    found = remedy(offering(), refused)
    assert found is not None
    call, note = found
    assert (call.text, note) == ("Shall I?\n\n1. Yes\n2. No", "sent without buttons")
    assert "reply_markup" not in call.params()
    assert "entities" in call.params()
    again = remedy(call, refused)
    assert again is None or "entities" not in again[0].params()


def test_a_list_for_which_there_is_no_room_is_left_out() -> None:
    found = remedy(
        offering("x" * (LIMIT - 5)), Refused("sendMessage", 400, "Bad Request: BUTTON_DATA_INVALID")
    )
    assert found is not None
    assert found[0].text == "x" * (LIMIT - 5)


def test_other_refusals_leave_the_buttons() -> None:
    refused = Refused("sendMessage", 400, "Bad Request: can't parse entities: x")
    found = remedy(offering(), refused)
    assert found is not None
    assert found[0].buttons == offering().buttons


# -- in ----------------------------------------------------------------------------------------------


def test_a_press_is_what_the_button_says_and_no_command() -> None:
    found = event(pressed(data="choice:1", choices=("Yes", "/reset")))
    assert (found.text, found.command_text, found.addressed) == ("/reset", False, True)
    assert (found.kind, found.chat, found.sender) == ("direct", "9", Sender("9", "Bob B", "bob"))
    assert (found.reply_to, found.message_id) == ((Target("telegram", "9"),), None)
    assert (found.quoted, found.private_notice, found.chat_name) == ("Shall I?", True, "@bob")


def test_in_a_topic_it_is_of_who_presses_and_of_the_topic() -> None:
    where: dict[str, Any] = {"chat": GROUP, "message_thread_id": 77, "is_topic_message": True}
    found = event(pressed(**where))
    assert (found.kind, found.chat, found.thread, found.sender.id) == ("group", "-1001", "77", "9")
    assert found.reply_to == (Target("telegram", "-1001", "77", answers="70"),)
    assert not found.private_notice
    unmarked = event(pressed(chat=GROUP, message_thread_id=4411))  # a chain of replies
    assert (unmarked.thread, unmarked.reply_to[0].thread) == (None, None)


def test_keys_tell_messages_pressers_choices_and_revisions_apart() -> None:
    again = {**pressed(), "update_id": 901}
    again["callback_query"] = {**again["callback_query"], "id": "4712"}
    assert event(again).replay_key == event(pressed()).replay_key
    assert event(again).dedupe_key != event(pressed()).dedupe_key
    assert event({**pressed(), "update_id": 902}).dedupe_key == event(pressed()).dedupe_key  # told again
    other = pressed()
    other["callback_query"]["from"] = {**BOB, "id": 10}
    others = [
        pressed(),
        other,
        pressed(data="choice:1"),
        pressed(message_id=71),
        pressed(edit_date=5),
        pressed(choices=("Maybe",)),
    ]
    assert len({event(update).replay_key for update in others}) == len(others)


def test_what_is_quoted_is_the_beginning() -> None:
    assert event(pressed(text="x" * 900)).quoted == "x" * 500 + "…"
    assert event(pressed(text=None, caption="a picture")).quoted == "a picture"


@pytest.mark.parametrize(
    "update",
    [
        pressed(data="approve:1"),
        pressed(data="choice:2"),
        pressed(data=None),
        pressed(reply_markup=None),
        pressed(reply_markup={"inline_keyboard": 5}),
        pressed(reply_markup={"inline_keyboard": [5, [7, {"text": "x"}]]}),
        pressed(message={"message_id": 70, "date": 0, "chat": GROUP}),  # too old to be seen
        {
            "update_id": 1,
            "callback_query": {"id": "1", "from": BOB, "inline_message_id": "1", "data": "choice:0"},
        },
    ],
)
def test_a_button_that_is_none_of_ours_is_passed_over_and_can_be_answered(update: Mapping[str, Any]) -> None:
    assert parse_update(update, READING) == Ignored("unknown button")
    assert query_id(update) == update["callback_query"]["id"]


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 1, "callback_query": 7},
        {"update_id": 1, "callback_query": {"id": "1", "data": 5, "message": {}}},
        pressed(message_id="x"),
        pressed(chat=None),
        pressed(edit_date=[1]),
    ],
)
def test_malformed_presses_are_kept_as_they_are(update: Mapping[str, Any]) -> None:
    parsed = parse_update(update, READING)
    assert isinstance(parsed, Unparsable)
    assert json.loads(parsed.raw) == update


def test_other_updates_are_no_presses() -> None:
    shapes: list[object] = [
        None,
        [],
        {"update_id": 1, "message": {}},
        {"callback_query": 7},
        {"callback_query": {"id": 5}},
    ]
    assert [query_id(shape) for shape in shapes] == [None] * len(shapes)


def test_presses_are_asked_for() -> None:
    assert "callback_query" in allowed_updates(READING)


# -- what is quoted ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quotes", "quoted"), [("groups", [None, "7"]), ("always", ["7", "7"]), ("off", [None, None])]
)
def test_answers_quote_where_that_is_wanted(quotes: Any, quoted: list[str | None]) -> None:
    reading = Reading("telegram", US, quotes=quotes)
    found = [reading.target("direct", "9", None, 7), reading.target("group", "-1", "3", 7)]
    assert [target.answers for target in found] == quoted
    assert [target.thread for target in found] == [None, "3"]


def test_a_moved_groups_messages_have_other_numbers() -> None:
    call = Call(-500, "x", (), answers=7)
    assert call.params()["reply_parameters"] == {"message_id": 7, "allow_sending_without_reply": True}
    found = remedy(call, Refused("sendMessage", 400, "upgraded", -100777))
    assert found is not None
    assert "reply_parameters" not in found[0].params()
