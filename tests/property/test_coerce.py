"""Coercion against an independent validator."""

from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from agent_core.coerce import coerce

SCALARS = st.sampled_from(["string", "integer", "number", "boolean", "null"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["123", "true", "null", "1.5", '{"a": 1}', "[1, 2]", "FAST", "fast"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    leaf = (
        SCALARS.map(lambda t: {"type": t})
        | st.just({"type": ["integer", "null"]})
        | st.just({"enum": ["fast", "slow", 1, None]})
        | st.just({"type": "integer", "minimum": 0, "maximum": 200})
        | st.just({"type": "string", "minLength": 1, "maxLength": 5})
        | st.just({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]})
    )
    return st.recursive(
        leaf,
        lambda inner: inner.map(lambda s: {"type": "array", "items": s}) | objects(inner),
        max_leaves=6,
    )


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda properties, required, closed: {
            "type": "object",
            "properties": properties,
            "required": sorted(required & properties.keys()),
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.sets(st.sampled_from("abc")),
        st.booleans(),
    )


ARGUMENTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


def is_valid(value: object, schema: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


@given(ARGUMENTS, objects(schemas()))
def test_what_has_no_errors_fits_the_schema(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    fitted = coerce(arguments, schema)
    if not fitted.errors:
        assert is_valid(fitted.arguments, schema)


@given(ARGUMENTS, objects(schemas()))
def test_what_fits_already_is_left_alone(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    if is_valid(arguments, schema):
        fitted = coerce(arguments, schema)
        assert (fitted.arguments, fitted.errors) == (arguments, ())


@given(ARGUMENTS, objects(schemas()))
def test_coercing_twice_changes_nothing_more(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    once = coerce(arguments, schema)
    if not once.errors:
        assert coerce(once.arguments, schema) == once


@given(st.integers(), st.booleans(), st.lists(st.integers(), max_size=4))
def test_values_sent_as_text_come_back_as_they_were(number: int, flag: bool, items: list[int]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "b": {"type": "boolean"},
            "l": {"type": "array", "items": {"type": "integer"}},
        },
    }
    sent = {"n": str(number), "b": str(flag).lower(), "l": str(items)}
    assert coerce(sent, schema).arguments == {"n": number, "b": flag, "l": items}
