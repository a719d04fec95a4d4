"""Bodies of webhooks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.webhook.parse import parse_payload

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


def test_WH_12_a_form_with_a_payload_is_that_payload() -> None:
    assert parse_payload(FORM, b"payload=%7B%22a%22%3A1%7D") == {"a": 1}


def test_WH_12_other_forms_are_their_fields() -> None:
    assert parse_payload(FORM, b"text=hi+there&user=%C3%A9&empty=") == {
        "text": "hi there",
        "user": "é",
        "empty": "",
    }


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/octet-stream", "application/cloudevents+json", JSON]
)
def test_WH_12_json_is_taken_under_any_name(kind: str) -> None:
    assert parse_payload(kind, b'\xef\xbb\xbf{"a": "\\u00e9"}') == {"a": "é"}


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b'"text"',
        b"1",
        b'{"a":',
        b"",
        b"\xff\xfe{",
        b"a=1",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_WH_12_what_is_no_json_object_is_refused_with_a_sentence(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"^The body .*\.$"):
        parse_payload(JSON, body)


@pytest.mark.parametrize(
    "body", [b"payload=", b"payload=[]", b"payload=%7B", b"&&", b"\xff=1", b"a", b"a&" * 2000]
)
def test_WH_12_a_form_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        parse_payload(FORM, body)


@given(st.sampled_from([JSON, FORM, "text/plain"]), st.binary(max_size=200))
def test_WH_12_any_bytes_are_a_payload_or_refused(kind: str, body: bytes) -> None:
    try:
        assert isinstance(parse_payload(kind, body), dict)
    except ValueError as e:
        assert str(e).endswith(".")  # noqa: PT017  both outcomes are right
