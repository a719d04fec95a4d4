"""Markdown as Slack's mrkdwn: what is meant literally is shown as it is."""

import pytest

from adapters.markdown.literal import MOST
from adapters.markdown.mrkdwn import render_mrkdwn
from tests.peers.slack import displayed


def source(markdown: str) -> str:
    (piece,) = render_mrkdwn(markdown)
    return piece.source


def shown(markdown: str) -> str:
    return displayed(source(markdown))


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (r"\*no bold\* and \_no\_", "*no bold* and _no_"),
        ("PATH=~/bin:~/lib", "PATH=~/bin:~/lib"),
        ("the __init__ method", "the __init__ method"),
        ("/_next_/ and src/*.py, lib/*.py", "/_next_/ and src/*.py, lib/*.py"),
        (r"**bold \*not more\* bold**", "bold *not more* bold"),
        ("`` a`b` ``", "a`b`"),
        (r"\`no code\`", "`no code`"),
        (r"\` [l](https://x.org) \`", "` l `"),
        ("＊太＊ ＿下＿ ｀碼｀", "＊太＊ ＿下＿ ｀碼｀"),
        (r"\*a `*b*` c\*", "*a *b* c*"),
        ("> \\*q\\*", "*q*"),
    ],
)
def test_marks_that_are_meant_literally_are_shown(markdown: str, text: str) -> None:
    assert shown(markdown) == text


@pytest.mark.parametrize(
    "prose", ["2 * 3 * 4 = 24", "snake_case_name and 3_000", "~5 km", "a lone *", "https://x.org/_a_/*b"]
)
def test_marks_without_a_partner_are_sent_as_they_are(prose: str) -> None:
    assert source(prose) == prose


def test_so_many_marks_that_they_would_fill_a_message_are_not_all_escaped() -> None:
    pieces = render_mrkdwn(r"\*a\* " * 900)
    assert len(pieces) == 2
    assert all(piece.source.count("<!date") == MOST for piece in pieces)


def test_a_line_that_begins_with_a_wide_sign_is_no_quotation() -> None:
    assert source("＞ wide") == "\u200b＞ wide"
