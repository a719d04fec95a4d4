"""Buttons under Slack's messages, and what presses of them say."""

import json
from typing import Any

import pytest

from adapters.slack.choices import blocks, listed, pressed
from adapters.slack.failures import Refused
from adapters.slack.parse import Account, Reading, parse_delivery
from adapters.slack.people import rooms, senders
from adapters.slack.render import LIMIT, render, render_choices
from adapters.slack.sending import remedy, send_call
from gateway.outbox import piece_of
from hermes.adapter import ChoosingAdapter, Piece
from hermes.events import PRESSED_TWICE, Event, Ignored, Target, Unparsable, event_from_json, event_to_json
from tests.integration.slack_desk import make_adapter
from tests.peers.slack import SlackPeer, displayed
from tests.peers.slack.blocks import block_faults, buttons, sections
from tests.peers.slack.mrkdwn import pings
from tests.peers.slack.world import USER, Message, World
from tests.peers.telegram import units

ACCOUNT = Account("T1", "UBOT", "B1")
READING = Reading("slack", ACCOUNT, names={"U1": "Ana", "C1": "ops"})
WIDE = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
HOSTILE = (
    "/reset", "<!channel>", "a & b &amp; <c>", "\U0001f44d", "`*_~", "100 % %41", "\u202eevil", '{"a": 1}',
)  # fmt: skip


def labelled(*labels: str) -> Message:
    """A message of ours with these buttons."""
    return Message("100.2", USER, "Shall I?", blocks=blocks("Shall I?", labels))


def press(label: str = "Yes", chat: str = "C1", user: str = "U1", **more: Any) -> dict[str, Any]:
    """What Slack sends when somebody presses a button of ours. more: of the message, such as `thread_ts`."""
    world = World()
    message = labelled("Yes", "No", label) if label not in ("Yes", "No") else labelled("Yes", "No")
    message.thread_ts = more.get("thread_ts")
    world.add_channel(chat, "im" if chat.startswith("D") else "channel").messages.append(message)
    shown = next(
        b["text"]["text"]
        for b in buttons(message.blocks)
        if b["value"] == label or b["text"]["text"] == label
    )
    return world.press(shown, chat, user)


def said(payload: object, reading: Reading = READING) -> Event:
    found = parse_delivery("interactive", payload, reading)
    assert isinstance(found, Event), found
    assert event_from_json(event_to_json(found)) == found
    return found


# -- buttons -------------------------------------------------------------------------------------------


def test_the_labels_stand_in_the_row_and_the_buttons_under_the_words() -> None:
    (piece,) = render("**Shall** I?", None, "none")
    chosen = render_choices(piece, ["Yes", "No"])
    assert (chosen.text, chosen.format) == (piece.text, {"text": "*Shall* I?", "choices": ["Yes", "No"]})
    params = send_call("C1", "100.1", chosen, "k").params()
    assert (params["text"], params["thread_ts"]) == ("*Shall* I?", "100.1")
    assert sections(params["blocks"]) == ["*Shall* I?"]
    assert [b["text"]["text"] for b in buttons(params["blocks"])] == ["Yes", "No"]
    assert "blocks" not in send_call("C1", None, piece, "k").params()
    update = send_call("C1", None, chosen, None).update_params("5.5")
    assert update == {"channel": "C1", "ts": "5.5", "text": "*Shall* I?", "blocks": params["blocks"]}
    assert send_call("C1", None, piece, None).update_params("5.5")["blocks"] == []


@pytest.mark.parametrize(
    "labels", [HOSTILE, [f"{n}{WIDE * 12}"[:60] for n in range(8)], ["\U0001f3b2" * 60], ["a" * 60]]
)
def test_every_label_is_within_slacks_limits_and_comes_back_whole(labels: list[str]) -> None:
    made = blocks("Shall I?", labels)
    assert block_faults(made) == []
    for label, button in zip(labels, buttons(made), strict=True):
        assert pressed({"actions": [button]}) == (label, button)
        assert button["text"]["text"] in (label, f"{label[: len(button['text']['text']) - 1]}…")


def test_what_is_shown_again_is_marked_in_what_people_see() -> None:
    call = send_call("C1", None, Piece("x", {"text": "x", "choices": ["Yes"]}), "k").marked()
    assert sections(call.params()["blocks"]) == ["↻ x"]


def test_a_section_finds_no_names_by_itself_and_addresses_are_links() -> None:
    (piece,) = render("@here see https://a.test/x?a=1&b=2. `https://b.test` <https://c.test>", None, "none")
    made = blocks(str(piece.format["text"]), ["Yes"])
    assert made[0]["text"]["verbatim"] is True
    (source,) = sections(made)
    assert source.startswith("@here see <https://a.test/x?a=1&amp;b=2>. `https://b.test` <https://c.test")
    assert "<<" not in source


@pytest.mark.parametrize(
    "markdown",
    [
        "word " * 790,
        "**bold** `code` [link](https://a.test/x) " * 90,
        "```python\n" + "x = 1 < 2\n" * 300 + "```",
        "before\n\n```\n" + "y" * 3400 + "\n```",
        "<&>" * 300 + "\n\n> quoted\n\n" + "w " * 1000,
        "https://a.test/" + "a" * 2000 + " and https://b.test/" + "b" * 1500,
    ],
    ids=["words", "marks", "code", "long line", "escapes", "addresses"],
)
def test_SL_06_a_long_message_with_buttons_is_several_sections_each_valid_alone(markdown: str) -> None:
    piece = render(markdown, None, "none")[0]
    source = str(piece.format["text"])
    made = blocks(source, ["Yes"])
    parts = sections(made)
    assert units(source) > 3000
    assert len(parts) == 2
    assert block_faults(made) == []
    shown = "".join(map(displayed, parts))
    assert "".join(shown.split()) == "".join(displayed(source).split())
    assert [token for part in parts for token in pings(part)] == []


def test_buttons_that_slack_refuses_become_a_list() -> None:
    call = send_call("C1", None, Piece("x", {"text": "Shall I?", "choices": ["Yes", "<No>"]}), "k")
    found = remedy(call, Refused("chat.postMessage", "invalid_blocks", ""))
    assert found is not None
    assert found[0].params()["text"] == "Shall I?\n\n1. Yes\n2. &lt;No&gt;"
    assert "blocks" not in found[0].params()
    assert remedy(found[0], Refused("chat.postMessage", "invalid_blocks", "")) is None
    long = send_call("C1", None, Piece("", {"text": "x" * (LIMIT - 5), "choices": ["Yes"]}), "k")
    short = remedy(long, Refused("chat.update", "invalid_blocks", ""))
    assert short is not None
    assert short[0].text == long.text
    assert listed("x", ["a"]) == "x\n\n1. a"


def test_what_stands_in_a_row_is_sent_as_it_was_rendered() -> None:
    adapter = make_adapter(SlackPeer())
    assert isinstance(adapter, ChoosingAdapter)
    piece = adapter.render_choices(
        adapter.render("Shall I?", Target("slack", "C1"))[0], HOSTILE, Target("slack", "C1")
    )
    back = piece_of(piece.text, json.dumps(piece.format), None)
    assert send_call("C1", None, back, "k") == send_call("C1", None, piece, "k")


# -- presses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", HOSTILE)
def test_a_press_says_the_label_and_never_commands(label: str) -> None:
    found = said(press(label))
    assert (found.text, found.command_text, found.addressed) == (label, False, True)
    assert (found.message_id, found.quoted, found.edited) == (None, "Shall I?", False)


@pytest.mark.parametrize(
    ("chat", "thread", "kind"), [("C1", "90.5", "group"), ("C1", None, "group"), ("D1", None, "direct"), ("D1", "90.5", "direct")]
)  # fmt: skip
def test_SL_17_a_press_is_said_where_the_buttons_stand(chat: str, thread: str | None, kind: str) -> None:
    found = said(press(chat=chat, thread_ts=thread))
    assert (found.chat, found.kind, found.thread) == (chat, kind, thread)
    assert found.reply_to == (Target("slack", chat, thread),)
    assert (found.account, found.private_notice) == (ACCOUNT.id, kind == "direct")
    assert (found.sender.id, found.sender.name) == ("U1", "Ana")
    assert found.chat_name == ("@Ana" if kind == "direct" else "#ops")


def test_our_message_that_began_a_thread_later_stands_in_the_channel() -> None:
    assert said(press(thread_ts="100.2")).thread is None


def test_a_double_tap_is_one_message_and_another_person_or_choice_is_another() -> None:
    payload = press()
    first, second = said(payload), said(press())
    assert (first.replay_key, first.replay_window) == (second.replay_key, PRESSED_TWICE)
    assert first.replay_open
    assert first.dedupe_key == said(payload).dedupe_key  # the same press, told again
    others = [press("No"), press(user="U2"), press(chat="C2")]
    assert len({first.replay_key, *(said(other).replay_key for other in others)}) == 4
    assert "Yes" not in str(first.replay_key)


def test_where_only_who_asked_sees_our_words_the_answer_goes_the_same_way() -> None:
    payload = press()
    container = {**payload["container"], "is_ephemeral": True}
    found = said({**payload, "container": container, "message": None})
    assert (found.reply_to[0].answers, found.quoted) == (payload["response_url"], None)
    assert said(payload).reply_to[0].answers is None


def test_a_long_message_is_quoted_in_part() -> None:
    payload = press()
    payload["message"]["text"] = "&lt;x&gt; " + "w" * 2000
    quoted = said(payload).quoted
    assert quoted is not None
    assert (quoted[:6], quoted[-1], len(quoted)) == ("<x> ww", "…", 501)


def test_a_button_of_another_version_is_none_of_ours() -> None:
    for actions in (
        [],
        None,
        [7],
        [{"action_id": "later", "value": "x"}],
        [{"action_id": "hermes.choice.0", "value": " "}],
    ):
        assert parse_delivery("interactive", {**press(), "actions": actions}, READING) == Ignored(
            "unknown button"
        )
    for kind in ("view_submission", "shortcut", None):
        assert parse_delivery("interactive", {**press(), "type": kind}, READING) == Ignored("no message")


@pytest.mark.parametrize(
    "broken",
    [{"container": None}, {"user": {}}, {"user": {"id": ["U1"]}}, {"container": {"channel_id": "C1", "message_ts": 1.5}}],
    ids=str,
)  # fmt: skip
def test_a_press_that_cannot_be_read_is_kept_to_be_looked_at(broken: dict[str, Any]) -> None:
    assert isinstance(parse_delivery("interactive", {**press(), **broken}, READING), Unparsable)


def test_who_presses_and_where_is_asked_for_by_name() -> None:
    payloads = [press(), press(chat="D1", user="U2"), {"type": "block_actions", "user": 7}]
    assert (senders(payloads), rooms(payloads)) == ({"U1", "U2"}, {"C1"})
