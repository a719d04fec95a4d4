"""Buttons under a message and presses of them, without a server."""

import json
from dataclasses import replace
from typing import Any

import pytest

from adapters.discord.answers import Answers
from adapters.discord.buttons import with_buttons
from adapters.discord.interactions import UNKNOWN_BUTTON, parse_interaction
from adapters.discord.parse import Reading
from adapters.discord.places import Place
from adapters.discord.render import render
from adapters.discord.sending import changed_body, shown_body
from adapters.markdown.split import utf16_len
from hermes.adapter import Piece
from hermes.events import Event, Ignored, Sender, Target, Unparsable, event_from_json, event_to_json

READING = Reading("discord", "900", allow_from=("*",))
CHANNEL, DIRECT, THREAD = Place(name="general"), Place(direct=True), Place(thread=True, parent="5")
ANA = {"id": "500", "username": "ana", "global_name": "Ana"}


def rows(*choices: str) -> Any:
    return with_buttons(Piece("Shall I?"), choices).format["components"]


def labels(found: Any) -> list[str]:
    return [button["label"] for row in found for button in row["components"]]


def press(number: int = 0, *choices: str, **fields: Any) -> dict[str, Any]:
    """What Discord sends for a press of the button with that number."""
    shown = rows(*(choices or ("Yes", "No")))
    buttons = [button for row in shown for button in row["components"]]
    message = {
        "id": "1001",
        "channel_id": "5",
        "content": "**Shall I?**",
        "edited_timestamp": None,
        "components": shown,
    }
    body = {
        "id": "2001",
        "type": 3,
        "token": "secret",
        "channel_id": "5",
        "application_id": "900",
        "message": message,
    }
    data = {"component_type": 2, "custom_id": buttons[number]["custom_id"]}
    return {**body, "data": data, "member": {"user": ANA, "nick": "Annie"}, "guild_id": "10", **fields}


def event(found: object, place: Place = CHANNEL, reading: Reading = READING) -> Event:
    parsed = parse_interaction(found, reading, place)
    assert isinstance(parsed, Event), parsed
    return parsed


# -- under a message ----------------------------------------------------------------------------------


def test_eight_choices_are_two_rows_and_survive_the_store() -> None:
    piece = with_buttons(Piece("Which?", {"message": "7"}), [f"number {n}" for n in range(8)])
    assert [len(row["components"]) for row in piece.format["components"]] == [5, 3]
    assert json.loads(json.dumps(piece.format)) == piece.format
    assert piece.format["message"] == "7"
    assert shown_body(piece)["components"] == changed_body(piece)["components"] == piece.format["components"]


def test_a_message_without_buttons_loses_those_it_had() -> None:
    assert changed_body(Piece("words"))["components"] == []
    assert "components" not in shown_body(Piece("words"))


def test_labels_that_are_too_wide_are_cut_between_characters() -> None:
    wide = [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 12,
        *("\U0001f600" * 59 + str(n) for n in range(7)),
    ]
    found = rows(*wide)
    assert all(utf16_len(label) <= 80 and label.endswith("…") for label in labels(found))
    assert set(labels(found)[0]) <= {*wide[0], "…"}
    assert labels(found)[0].removesuffix("…").endswith("\U0001f467")  # no half of a family
    ids = [button["custom_id"] for row in found for button in row["components"]]
    assert len(set(ids)) == 8
    assert max(map(len, ids)) <= 100


@pytest.mark.parametrize(
    ("choice", "label"),
    [
        ("a\x00b\x1b[31m", "a b [31m"),
        ("one\u2028two", "one two"),
        ("half \ud83d", "half \ufffd"),
        ("\u200b", "1"),
        ("**bold** <@500> /reset", "**bold** <@500> /reset"),
    ],
)
def test_hostile_labels_are_shown_as_plain_words(choice: str, label: str) -> None:
    assert labels(rows(choice)) == [label]
    assert event(press(0, choice)).text == label


# -- a press ------------------------------------------------------------------------------------------


def test_a_press_is_a_message_of_who_pressed_that_is_never_a_command() -> None:
    found = event(press(1, "Yes", "/reset"))
    assert (found.text, found.command_text, found.addressed) == ("/reset", False, True)
    assert found.sender == Sender("500", "Annie", "ana")
    assert (found.kind, found.chat, found.thread, found.chat_name) == ("group", "5", None, "#general")
    assert (found.quoted, found.message_id) == ("**Shall I?**", None)
    assert found.reply_to == (Target("discord", "5", answers=Answers("1001").to_text()),)
    assert not found.private_notice
    assert event_from_json(event_to_json(found)) == found
    assert "secret" not in event_to_json(found)


def test_a_press_in_a_direct_chat_and_in_a_thread_is_where_its_message_is() -> None:
    alone = {k: v for k, v in press().items() if k not in ("member", "guild_id")}
    found = event({**alone, "user": ANA}, DIRECT)
    assert (found.kind, found.chat, found.reply_to, found.private_notice) == (
        "direct",
        "5",
        (Target("discord", "5"),),
        True,
    )
    found = event(press(channel_id="9"), THREAD)
    assert (found.chat, found.thread, found.reply_to[0].chat) == ("9", "9", "9")


def test_two_taps_have_one_key_and_everything_else_another() -> None:
    first = press()
    message: dict[str, Any] = first["message"]
    key = event(first).replay_key
    assert event({**first, "id": "2002", "token": "another"}).replay_key == key
    assert event({**first, "id": "2002"}).dedupe_key != event(first).dedupe_key == event({**first}).dedupe_key
    others = [
        event(press(1)).replay_key,
        event({**first, "member": {"user": {**ANA, "id": "501"}}}).replay_key,
        event({**first, "message": {**message, "id": "1002"}}).replay_key,
        event({**first, "message": {**message, "edited_timestamp": "2026-01-01"}}).replay_key,
        event(press(0, "Maybe", "No")).replay_key,
    ]
    assert len({key, *others}) == 6


def test_a_press_where_no_thread_could_be_made_stays_in_its_conversation() -> None:
    begun = Target("discord", "1001", answers=Answers("1001", parent="5", name="what?").to_text())
    (piece,) = render("Shall I?", begun)
    shown = with_buttons(piece, ["Yes"]).format["components"]
    custom = shown[0]["components"][0]["custom_id"]
    asked = press(
        message={"id": "1005", "content": "Shall I?", "components": shown}, data={"custom_id": custom}
    )
    in_channel, in_thread = event(asked), event({**asked, "channel_id": "1001"}, THREAD)
    assert {(e.chat, e.thread) for e in (in_channel, in_thread)} == {("1001", "1001")}
    assert Answers.from_text(in_channel.reply_to[0].answers) == Answers("1001", parent="5")
    assert Answers.from_text(in_thread.reply_to[0].answers) == Answers("1005")


@pytest.mark.parametrize(
    "custom", ["another bot's", "choice:x", "choice:1:x", "choice:7", "", None, 7, ["choice:0"]]
)
def test_an_unknown_button_is_passed_over(custom: Any) -> None:
    found = press(data={"component_type": 2, "custom_id": custom})
    assert parse_interaction(found, READING, CHANNEL) == Ignored(UNKNOWN_BUTTON)


@pytest.mark.parametrize(
    "message", [None, "x", {}, {"components": "x"}, {"components": [{"components": [7]}]}]
)
def test_a_press_under_what_cannot_be_read_is_passed_over(message: Any) -> None:
    assert parse_interaction(press(message=message), READING, CHANNEL) == Ignored(UNKNOWN_BUTTON)


def test_a_press_where_we_may_not_answer_and_one_of_nobody_are_no_messages() -> None:
    elsewhere = replace(READING, channels=("8",))
    assert parse_interaction(press(), elsewhere, CHANNEL) == Ignored("another channel")
    parsed = parse_interaction(press(member={"user": {}}), READING, CHANNEL)
    assert isinstance(parsed, Unparsable)
    assert "secret" not in parsed.raw
