"""Rules that hold for every text on its way to Slack and back, and for every delivery."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.markdown.mrkdwn import escape, render_mrkdwn
from adapters.slack.choices import blocks
from adapters.slack.markup import read_text, unescape
from adapters.slack.parse import Account, Reading, parse_delivery
from hermes.events import Deleted, Event, Ignored, Unparsable
from tests.peers.slack import displayed
from tests.peers.slack.blocks import block_faults, sections
from tests.peers.slack.mrkdwn import pings
from tests.peers.telegram import units

READING = Reading("slack", Account("T1", "UBOT", "B1"))
words = st.text(
    alphabet=st.sampled_from("ab\u00e9\u4e2d\U0001f3b2 \n\t*_~`<>&|[]()#-!@.1\\\"'"), max_size=400
)
bits = st.sampled_from(
    [
        "**bold**", "*it*", "~~st~~", "`code`", "`a&b`", "[t](https://x.test/?a=1&b=2)", "\n\n", "\n", " ", "> ", "- ",
        "1. ", "```\n", "```py\nx < 1\n```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "# ", "<!here>", "<@U1>", "&amp;",
        "word", "\u4e2d\u6587", "||sp||", "***b***", "**a *b* c**", "x" * 90,
    ]
)  # fmt: skip
texts = st.one_of(words, st.lists(bits, max_size=40).map("".join))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    "type",
    "subtype",
    "channel",
    "channel_type",
    "user",
    "text",
    "ts",
    "thread_ts",
    "bot_id",
    "edited",
    "files",
    "attachments",
    "message",
    "deleted_ts",
)
events = st.fixed_dictionaries(
    {},
    optional={
        key: json_values
        | st.sampled_from(["message", "app_mention", "message_changed", "message_deleted", "C1", "1.1"])
        for key in KEYS
    },
)


def bare(text: str) -> str:
    """Without white space and the characters that are marks here or there."""
    return re.sub(r"[\s*_~`>|\u200b]", "", text)


@given(texts, st.sampled_from([32, 60, 400, 4000]))
def test_every_piece_keeps_the_limit_and_is_valid_alone(text: str, limit: int) -> None:
    pieces = render_mrkdwn(text, limit)
    for piece in pieces:
        assert 0 < units(piece.source) <= limit
        assert piece.text.strip()
        assert bare(displayed(piece.source)) == bare(
            piece.text
        )  # raises for what is not escaped or not closed
        assert pings(piece.source) == [t for t in pings(piece.source) if not t.startswith(("@", "!"))]


@given(texts, st.sampled_from([32, 60, 400]))
def test_joined_the_pieces_are_the_text(text: str, limit: int) -> None:
    def joined(pieces: Any) -> str:
        return re.sub(r"\s", "", "".join(piece.text for piece in pieces))

    assert joined(render_mrkdwn(text, limit)) == joined(render_mrkdwn(text, 1_000_000))


@given(
    st.lists(texts, min_size=1, max_size=3).map(lambda parts: ("\n".join(parts) + " ") * 9),
    st.text(max_size=60),
)
def test_SL_06_sections_of_a_message_with_buttons_are_valid_and_show_its_text(text: str, label: str) -> None:
    for piece in render_mrkdwn(text, 4000)[:2]:
        made = blocks(piece.source, [label.strip() or "x"])
        assert [fault for fault in block_faults(made[:-1]) if fault] == []
        assert bare("".join(map(displayed, sections(made)))) == bare(piece.text)
        assert all(not token.startswith(("@", "!")) for part in sections(made) for token in pings(part))


@given(st.text())
def test_SL_01_and_SL_04_what_is_escaped_comes_back(text: str) -> None:
    assert unescape(escape(text)) == text
    assert re.search(r"[<>]|&(?!(amp|lt|gt);)", escape(text)) is None
    assert read_text(escape(text), "UBOT").text == text.strip()


@pytest.mark.parametrize("allowed", ["users", "all"])
@given(text=texts)
def test_only_whole_tokens_may_notify(allowed: Any, text: str) -> None:
    known = re.compile(r"@[UW][A-Z0-9]+|!(here|channel|everyone|subteam\^S[A-Z0-9]+)")
    for piece in render_mrkdwn(text, pings=allowed):
        assert all(known.fullmatch(token) for token in pings(piece.source))


@given(st.sampled_from(["events_api", "slash_commands", "interactive", "x"]), events | json_values)
def test_a_delivery_never_raises(kind: str, event: Any) -> None:
    pressed = {
        "type": "block_actions",
        "actions": [{"action_id": "hermes.choice.0", "value": "x"}],
        "user": event,
    }
    for payload in (event, {"event": event}, {**pressed, "container": event}, {**pressed, "message": event}):
        assert isinstance(parse_delivery(kind, payload, READING), Event | Deleted | Ignored | Unparsable)
