"""Thinking inside the text."""

import pytest

from agent_core.models.thinking import ThinkFilter

FENCED = "Look:\n```xml\n<think>\nplan\n</think>\n```\nand `<think>` inline"


def filtered(pieces: list[str]) -> tuple[str, str]:
    thinking = ThinkFilter()
    streamed = "".join([thinking.feed(p) for p in pieces]) + thinking.finish()
    return thinking.text, streamed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>plan</think>Answer", "Answer"),
        ("<think>plan", ""),
        ("<think>plan</thi", ""),
        ("\n<THINK >plan\n</Think>\n\nAnswer", "Answer"),
        ("<thinking>a <think> b</thinking>Answer", "Answer"),
        ("One.\n<think>x</think>\nTwo.", "One.\n\nTwo."),
        ("Answer <think>x</think> more", "Answer  more"),
        ("The <think> tag opens it.", "The <think> tag opens it."),
        ("a < b and <b>bold</b> <th", "a < b and <b>bold</b> <th"),
        (FENCED, FENCED),
        ("~~~\n<think>\n~~~~\n<think>x</think>y", "~~~\n<think>\n~~~~\ny"),
        ("````\n```\n<think>\n````\n<think>x</think>y", "````\n```\n<think>\n````\ny"),
        ("it`s\n<think>x</think>y", "it`s\ny"),
        ("``a ` <think>`` b", "``a ` <think>`` b"),
        ("no tags at all", "no tags at all"),
        ("trailing `", "trailing `"),
    ],
)
def test_MD_13_thinking_is_left_out_and_code_is_kept(text: str, shown: str) -> None:
    for size in (1, 2, 3, 5, len(text)):
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert filtered(pieces) == (shown, shown), size


def test_MD_13_a_tag_cut_by_the_stream() -> None:
    assert filtered(["<thi", "nk>plan</th", "ink>Answer"]) == ("Answer", "Answer")


def test_MD_13_what_stood_before_an_orphaned_closing_tag_is_thinking() -> None:
    assert filtered(["plan\n", "</think>\n\n", "Answer"])[0] == "Answer"


def test_a_closing_tag_in_prose_stays() -> None:
    assert filtered(["Close it with </think> please"])[0] == "Close it with </think> please"


def test_text_is_shown_as_it_comes() -> None:
    thinking = ThinkFilter()
    assert [thinking.feed(p) for p in ("Hello", " wor", "ld <th", "umb")] == [
        "Hello",
        " wor",
        "ld ",
        "<thumb",
    ]
