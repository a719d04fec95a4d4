"""What holds for any Markdown and any message on Discord."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.discord.buttons import pressed, with_buttons
from adapters.discord.interactions import parse_interaction
from adapters.discord.parse import Reading, parse_message
from adapters.discord.places import Place
from adapters.markdown.cuts import is_blank
from adapters.markdown.discord import escape, render_discord
from adapters.markdown.flat import flatten
from adapters.markdown.split import utf16_len
from hermes.adapter import Piece
from hermes.events import Event, event_from_json, event_to_json
from tests.property.test_markdown_properties import bare, markdown_texts

READING = Reading("discord", "900", allow_from=("*",), allow_bots="all", auto_thread=True)
_ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just("<@900> x") | st.just("900"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("id", "channel_id", "author", "content", "type", "mentions", "attachments", "referenced_message", "member",
        "flags", "webhook_id", "message_snapshots", "application_id", "token", "data", "user", "guild_id")  # fmt: skip
GOOD = {
    "id": "1001",
    "channel_id": "5",
    "author": {"id": "500", "username": "a"},
    "content": "hi",
    "type": 0,
    "application_id": "900",
    "token": "t",
    "data": {"name": "new", "type": 1},
    "user": {"id": "500", "username": "a"},
}
BUTTON = {"type": 2, "label": "Yes", "custom_id": "choice:0"}
PRESSED = {"message": {"id": "1000", "content": "Shall I?", "components": [{"components": [BUTTON]}]}}
GOOD_DATA = st.sampled_from([{"name": "new", "type": 1}, {"custom_id": "choice:0", "component_type": 2}])
messages = st.dictionaries(st.sampled_from(KEYS), json_values, max_size=6).map(lambda more: {**GOOD, **more})
places = st.sampled_from([Place(), Place(direct=True), Place(thread=True, parent="5", joined=True)])
actions = st.tuples(messages, st.sampled_from([2, 3])).map(
    lambda found: {**PRESSED, **found[0], "type": found[1]}
)
labels = st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=8, unique=True)


@given(markdown_texts, st.integers(1000, 2000))
@settings(max_examples=60, deadline=None)
def test_pieces_are_within_the_limit_and_none_is_blank(markdown: str, limit: int) -> None:
    for piece in render_discord(markdown * 8, limit):
        assert 0 < utf16_len(piece) <= limit
        assert not is_blank(piece)
        assert piece.count("```") % 2 == 0


@given(st.text(alphabet="ab *_~|`\\#>-[](). \n", max_size=80))
@settings(max_examples=150, deadline=None)
def test_literal_text_is_the_same_text_once_escapes_are_read(text: str) -> None:
    assert _ESCAPED.sub(r"\1", escape(text)) == text
    for mark in ("**", "__", "~~", "||", "`"):
        assert mark not in re.sub(r"\\[^0-9A-Za-z\s]", ".", escape(text))


@given(
    st.lists(st.sampled_from(["word ", "two words ", "x_y ", "2*3 ", "\n", "**b** ", "a|b "]), max_size=400)
)
@settings(max_examples=60, deadline=None)
def test_the_pieces_say_what_the_text_says(parts: list[str]) -> None:
    markdown = "".join(parts)
    shown = "".join(render_discord(markdown, 1000))
    marks = str.maketrans("", "", "*\\")
    assert bare(shown).translate(marks) == bare(flatten(markdown).text).translate(marks)


@given(messages, places)
@settings(max_examples=150, deadline=None)
def test_whatever_comes_in_is_one_item_that_can_be_stored(found: dict[str, Any], place: Place) -> None:
    for parsed in (parse_message(found, READING, place), parse_interaction(found, READING, place)):
        if isinstance(parsed, Event):
            assert event_from_json(event_to_json(parsed)) == parsed
            assert json.loads(event_to_json(parsed))


@given(actions, GOOD_DATA, places)
@settings(max_examples=100, deadline=None)
def test_whatever_somebody_does_is_one_item_that_can_be_stored(
    found: dict[str, Any], data: dict[str, Any], place: Place
) -> None:
    for action in (found, {**found, "data": data}):
        parsed = parse_interaction(action, READING, place)
        if isinstance(parsed, Event):
            assert event_from_json(event_to_json(parsed)) == parsed
            assert parsed.text


@given(labels)
@settings(max_examples=100, deadline=None)
def test_any_labels_are_buttons_within_the_limits_and_each_says_what_it_shows(choices: list[str]) -> None:
    rows = with_buttons(Piece("Which?"), choices).format["components"]
    assert json.loads(json.dumps(rows)) == rows
    assert all(1 <= len(row["components"]) <= 5 for row in rows)
    buttons = [button for row in rows for button in row["components"]]
    assert len({button["custom_id"] for button in buttons}) == len(buttons) == len(choices)
    for button in buttons:
        assert 0 < utf16_len(button["label"]) <= 80
        assert not is_blank(button["label"])
        found = pressed({"components": rows}, button)
        assert found is not None
        assert found.label == button["label"]
