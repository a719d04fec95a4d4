"""Prompts with holes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.webhook.template import Template


def expand(source: str, payload: dict[str, Any]) -> str:
    return Template(source).expand(payload).text


PAYLOAD = {"a": {"b-c": "deep", "n": 1.5, "t": True, "z": None}, "l": [{"x": 1}, "two"], "schlüssel": "ja"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ payload.a.b-c }}", "deep"),
        ("{{payload.a.b-c}}!", "deep!"),
        ("{{ payload.l.0.x }} {{ payload.l[1] }}", "1 two"),
        ("{{ payload.a.n }} {{ payload.a.t }} [{{ payload.a.z }}]", "1.5 true []"),
        ("{{ payload.l }}", '[{"x":1},"two"]'),
        ("{{ payload.schlüssel }}", "ja"),
        ("no hole { } {{", "no hole { } {{"),
    ],
)
def test_paths_are_filled_in(source: str, text: str) -> None:
    assert expand(source, PAYLOAD) == text


def test_the_whole_payload_is_compact_json() -> None:
    assert json.loads(expand("{{ payload }}", PAYLOAD)) == PAYLOAD


@pytest.mark.parametrize(
    "path",
    ["x", "a.b", "l.2", "l.-1", "l.x", "a.b-c.d", "l.0.x.y", "a.z.q", "a.__class__", "l.append", "l[9]"],
)
def test_a_missing_field_is_empty_and_named(path: str) -> None:
    expanded = Template(f"<{{{{ payload.{path} }}}}>").expand(PAYLOAD)
    assert expanded.text == "<>"
    assert len(expanded.missing) == 1
    assert Template("{{ payload.a.z }}").expand(PAYLOAD).missing == ()


@pytest.mark.parametrize(
    "hole",
    [
        "x",
        "headers.host",
        "payload.a + 1",
        "payload['a']",
        "payload.a()",
        "payload..a",
        "payload.a|upper",
        "",
        "1+1",
    ],
)
def test_anything_but_a_path_is_an_error_when_the_route_is_read(hole: str) -> None:
    with pytest.raises(ValueError, match="is no path into the payload"):
        Template(f"{{{{ {hole} }}}}")


def test_what_was_filled_in_is_not_filled_again() -> None:
    assert expand("{{ payload.a }}{{ payload.b }}", {"a": "{{ payload.b }}", "b": "B"}) == "{{ payload.b }}B"
    assert expand("{{ payload.a }}payload.b }}", {"a": "{{ ", "b": "B"}) == "{{ payload.b }}"


def test_a_long_prompt_is_cut_and_says_so() -> None:
    text = Template("{{ payload.a }}" * 100).expand({"a": "x" * 1000}, most=5000).text
    assert text.startswith("x" * 5000)
    assert text.endswith("[cut: the payload is longer]")
    assert len(text) < 5100
    assert Template("{{ payload.a }}").expand({"a": "x" * 5000}, most=5000).text == "x" * 5000


def test_lone_surrogates_become_readable() -> None:
    text = expand("{{ payload.a }}", {"a": "x\ud800y"})
    assert text == "x�y"
    assert text.encode()


@given(st.text(max_size=40), st.text(max_size=40))
def test_text_goes_in_as_it_is(before: str, value: str) -> None:
    before = before.replace("{{", "").replace("}}", "")
    got = expand(before + "|{{ payload.v }}|", {"v": value})
    assert got.encode("utf-8", "replace")
    if "\ud800" <= max(before + value + "a") <= "\udfff":
        return
    assert got == f"{before}|{value}|"
