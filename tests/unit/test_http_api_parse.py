"""Chat completion requests and the text that can only grow."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.api.parse import BadRequest, Chat, parse_chat
from adapters.api.stream import Diverged, GrowingText
from hermes.agent import TextDelta, TextReset, ToolEnded, ToolStarted, TurnEnded, TurnUpdate
from hermes.messages import Message

USER = {"role": "user", "content": "hi"}


def chat(headers: dict[str, str] | None = None, **fields: Any) -> Chat:
    return parse_chat(headers or {}, json.dumps({"messages": [USER], **fields}).encode())


def test_a_plain_request() -> None:
    read = chat(model="anything", temperature=0.3, unknown={"x": 1}, tools=[], n=1)
    assert (read.text, read.history, read.model, read.stream, read.session) == (
        "hi",
        (),
        "anything",
        False,
        None,
    )
    assert chat(stream=True, stream_options={"include_usage": True}).include_usage
    assert chat().model == "hermes"


def test_a_files_name_is_what_can_be_stored() -> None:
    part = {"type": "file", "file": {"file_data": "aGk=", "filename": "\ud800x.txt" + "y" * 5000}}
    (upload,) = chat(messages=[{"role": "user", "content": [part]}]).uploads
    assert upload.name.encode().startswith("\ufffdx.txt".encode())
    assert len(upload.name) == 1000


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "eins"},
    {"role": "developer", "content": [{"type": "text", "text": "In German."}]},
    {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "three"}]},
]


def test_without_a_session_the_given_messages_are_the_history() -> None:
    read = chat(messages=MESSAGES)
    assert read.history == (Message("user", "one"), Message("assistant", "eins"))
    assert read.text == (
        "[Instructions of the program that asks]\nBe brief.\n\nIn German.\n[End of the instructions]"
        "\n\ntwo\nthree"
    )


def test_with_a_session_only_the_last_user_message_is_new() -> None:
    read = chat({"X-Hermes-Session": "s-1"}, messages=[*MESSAGES, {"role": "assistant", "content": "so"}])
    assert (read.text, read.history, read.session) == ("two\nthree", (), "s-1")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "x" * 129, "a:b", "a\n"])
def test_a_session_has_a_plain_name(name: str) -> None:
    with pytest.raises(BadRequest, match="X-Hermes-Session must be"):
        chat({"X-Hermes-Session": name})


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 128])
def test_a_session_may_have_such_a_name(name: str) -> None:
    assert chat({"X-Hermes-Session": name}).session == name


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_an_idempotency_key_is_printable(key: str) -> None:
    with pytest.raises(BadRequest, match="Idempotency-Key must be"):
        chat({"Idempotency-Key": key})


def test_the_fingerprint_is_of_body_and_session() -> None:
    prints = {
        chat().fingerprint,
        chat(model="m").fingerprint,
        chat({"X-Hermes-Session": "a"}).fingerprint,
        chat({"X-Hermes-Session": "b"}).fingerprint,
    }
    assert len(prints) == 4
    assert chat({"Idempotency-Key": "k"}).fingerprint == chat({"Idempotency-Key": "l"}).fingerprint


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tools": [{"type": "function"}]}, "tools cannot be given"),
        ({"functions": [{}]}, "functions cannot be given"),
        ({"n": 2}, "n must be 1"),
        ({"messages": []}, "at least one"),
        ({"messages": "hi"}, "at least one"),
        ({"messages": ["hi"]}, "must be an object"),
        ({"messages": [{"role": "user"}]}, "text or a list"),
        ({"messages": [{"role": "user", "content": ""}]}, "empty"),
        ({"messages": [{"role": "user", "content": " \n"}]}, "empty"),
        ({"messages": [{"role": "king", "content": "x"}]}, "role must be"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "role must be"),
        ({"messages": [{"role": "tool", "content": "x"}, USER]}, "tool calls cannot be given"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}, USER]}, "tool calls cannot be given"),
        ({"messages": [USER, {"role": "assistant", "content": "x"}]}, "must be the user's"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "must be a string"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "must be a string"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "must be an object"),
        ({"model": 7}, "model must be"),
    ],
)
def test_what_cannot_be_answered_is_said(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        chat(**fields)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b"9" * 5000])
def test_a_body_that_is_no_object_is_said(body: bytes) -> None:
    with pytest.raises(BadRequest, match="The body"):
        parse_chat({}, body)


@given(
    st.recursive(
        st.none() | st.text() | st.integers() | st.booleans(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["role", "content", "type", "text", "messages", "model", "tools"]), x
            )
        ),
    )
)
def test_any_json_is_a_request_or_refused(value: Any) -> None:
    try:
        parse_chat({}, json.dumps({"messages": value}).encode())
    except BadRequest as e:
        assert str(e)  # noqa: PT017  both outcomes are right


def told(*updates: TurnUpdate) -> str:
    text = GrowingText()
    return "".join(text.feed(update) for update in updates)


def tool(n: int = 0) -> ToolStarted:
    return ToolStarted(f"c{n}", "t", "")


def test_deltas_go_out_as_they_come() -> None:
    text = GrowingText()
    assert [text.feed(TextDelta(x)) for x in ("a", "b")] == ["a", "b"]
    assert text.feed(TurnEnded("answered", "ab")) == ""


def test_a_stretch_that_begins_anew_goes_on_where_it_was() -> None:
    assert (
        told(TextDelta("abc"), TextReset(), TextDelta("a"), TextDelta("bcd"), TurnEnded("answered", "abcd"))
        == "abcd"
    )


def test_a_stretch_that_begins_differently_cannot_be_taken_back() -> None:
    with pytest.raises(Diverged):
        told(TextDelta("abc"), TextReset(), TextDelta("ax"))
    with pytest.raises(Diverged):
        told(TextDelta("abc"), TextReset(), TurnEnded("answered", "xyz"))
    with pytest.raises(Diverged):
        told(TextDelta("ab"), TextReset(), TextDelta("axc"))


def test_a_reset_before_anything_was_sent_costs_nothing() -> None:
    assert told(TextReset(), TextDelta("x"), TurnEnded("answered", "x")) == "x"


def test_text_around_tools_is_set_apart() -> None:
    steps = (TextDelta("Look."), tool(), ToolEnded("c0", "t", True), TextDelta("Found."))
    assert told(*steps, TurnEnded("answered", "Found.")) == "Look.\n\nFound."
    assert told(*steps, TurnEnded("answered", "Look.\n\nFound.")) == "Look.\n\nFound."
    assert told(*steps, TextReset(), TextDelta("Found. It."), TurnEnded("answered", "Found. It.")) == (
        "Look.\n\nFound. It."
    )


def test_the_end_brings_what_was_not_shown() -> None:
    assert told(TurnEnded("answered", "all")) == "all"
    assert told(TextDelta("a"), TurnEnded("answered", "all")) == "all"
    assert told(TextDelta("Look."), tool(), TurnEnded("answered", "all")) == "Look.\n\nall"
    assert told(TurnEnded("silent", "")) == ""
    assert told(TextDelta("all \n"), TurnEnded("answered", "all")) == "all \n"


@given(st.lists(st.text(max_size=8), max_size=6), st.integers(0, 6))
def test_with_equal_retries_the_stream_is_the_answer(pieces: list[str], cut: int) -> None:
    deltas = [TextDelta(piece) for piece in pieces]
    whole = "".join(pieces)
    assert told(*deltas[:cut], TextReset(), *deltas, TurnEnded("answered", whole)) == whole
