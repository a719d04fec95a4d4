"""Arguments as models write them."""

from typing import Any

import pytest

from agent_core.coerce import coerce

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1, "maximum": 9},
        "f": {"type": "number"},
        "b": {"type": "boolean"},
        "s": {"type": "string"},
        "o": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "l": {"type": "array", "items": {"type": "string"}},
        "e": {"enum": ["fast-mode", "slow"]},
        "z": {"type": ["string", "null"]},
        "u": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "r": {"$ref": "#/$defs/day"},
    },
    "required": [],
    "$defs": {"day": {"type": "string", "enum": ["Mon", "Tue"]}},
}


@pytest.mark.parametrize(
    ("name", "sent", "read"),
    [
        ("n", "3", 3),
        ("n", 3.0, 3),
        ("n", " 3.0 ", 3),
        ("f", "1.5", 1.5),
        ("f", "1e3", 1000.0),
        ("b", "true", True),
        ("b", "False", False),
        ("s", 12, "12"),
        ("s", {"a": 1}, '{"a": 1}'),
        ("o", '{"x": "4"}', {"x": 4}),
        ("l", '["a", "b"]', ["a", "b"]),
        ("l", "a", ["a"]),
        ("l", 5, ["5"]),
        ("e", "FAST_MODE", "fast-mode"),
        ("z", None, None),
        ("z", "null", "null"),
        ("u", "7", 7),
        ("u", "[1, 2]", [1, 2]),
        ("r", "mon", "Mon"),
    ],
)
def test_A8_one_reading_is_taken(name: str, sent: Any, read: Any) -> None:
    fitted = coerce({name: sent}, SCHEMA)
    assert fitted.errors == ()
    assert fitted.arguments == {name: read}
    assert type(fitted.arguments[name]) is type(read)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"n": "many"}, '`n` must be a whole number, not "many".'),
        ({"n": 10}, "`n` must be at most 9, not 10."),
        ({"n": True}, "`n` must be a whole number, not true."),
        ({"b": "maybe"}, "`b` must be true or false"),
        ({"e": "medium"}, '`e` must be one of "fast-mode", "slow", not "medium".'),
        ({"o": {"x": "y"}}, "`o.x` must be a whole number"),
        ({"f": "1" * 400}, "`f` must be a number"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(sent: dict[str, Any], words: str) -> None:
    assert words in " ".join(coerce(sent, SCHEMA).errors)


def test_null_for_what_may_be_left_out_is_left_out() -> None:
    assert coerce({"n": None}, SCHEMA).arguments == {}


def test_a_missing_argument_is_named() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    assert coerce({}, schema).errors == ("`path` is missing: a text.",)


def test_a_circle_of_references_ends() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    assert coerce({"a": 1}, schema).arguments == {"a": 1}


def test_the_input_is_not_changed() -> None:
    sent = {"o": {"x": "4"}}
    coerce(sent, SCHEMA)
    assert sent == {"o": {"x": "4"}}
