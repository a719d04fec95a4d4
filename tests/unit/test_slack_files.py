"""Slack's files and small signs: which addresses are Slack's, what is noted, what is shown beside an answer."""

import os
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.addresses import host_of, is_slacks
from adapters.slack.files import number_of_share
from adapters.slack.gestures import Gesture, gesture_for
from adapters.slack.notes import Notes
from adapters.slack.parse import Account, Reading, parse_delivery
from adapters.slack.settings import SlackSettings
from hermes.events import Event, Ignored, Verdict

TOKENS = {"type": "slack", "bot_token": "xoxb-1", "app_token": "xapp-1"}
READING = Reading("slack", Account("T1", "UBOT", "B1"), commands=frozenset({"stop"}))
MESSAGE = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": "", "ts": "100.1"}


def parsed(**event: Any) -> Event:
    found = parse_delivery("events_api", {"event": {**MESSAGE, **event}}, READING)
    assert isinstance(found, Event), found
    return found


# -- addresses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("https://files.slack.com/files-pri/T1-F1/download/a.png", True),
        ("https://slack.com/api/", True),
        ("https://team.enterprise.slack.com:443/x", True),
        ("https://FILES.SLACK.COM/x", True),
        ("https://files.slack-gov.com/x", True),
        ("http://127.0.0.1:8000/files-pri/x", True),
        ("http://127.0.0.1:8001/files-pri/x", False),
        ("https://127.0.0.1:8000/files-pri/x", False),
        ("http://files.slack.com/x", False),
        ("https://files.slack.com:8443/x", False),
        ("https://evilslack.com/x", False),
        ("https://slack.com.evil.test/x", False),
        ("https://files.slack.com@evil.test/x", False),
        ("http://127.0.0.1:8000@evil.test/x", False),
        ("https://evil.test\\@files.slack.com/x", False),
        ("https://evil.test/?https://slack.com", False),
        ("https://[::1", False),
        ("https://slack.com:99999999/", False),
        ("", False),
    ],
)
def test_the_token_goes_to_slack_alone(url: str, is_ours: bool) -> None:
    assert is_slacks(url, "http://127.0.0.1:8000/api/") is is_ours


def test_a_host_is_shown_or_a_question_mark() -> None:
    assert [host_of(url) for url in ("https://a.test/x", "https://[::1", "")] == ["a.test", "?", "?"]


# -- words beside files --------------------------------------------------------------------------------


def test_files_that_lie_elsewhere_are_links() -> None:
    drive = {"id": "F1", "is_external": True, "title": "Plan", "url_private": "https://docs.test/d/1"}
    found = parsed(
        text="see", files=[drive, {"id": "F2", "name": "a.png", "mimetype": "image/png", "size": 0}]
    )
    assert found.text == "see\nPlan (https://docs.test/d/1)"
    assert [(a.ref, a.name, a.size) for a in found.attachments] == [("F2", "a.png", None)]


def test_what_somebody_else_spoke_is_a_recording() -> None:
    clip = {"id": "F1", "name": "a.m4a", "mimetype": "audio/mp4", "subtype": "slack_audio"}
    found = parsed(
        files=[clip], attachments=[{"is_share": True, "text": "x", "files": [{**clip, "id": "F2"}]}]
    )
    assert [(a.ref, a.kind) for a in found.attachments] == [("F1", "voice"), ("F2", "audio")]


def test_what_is_passed_on_is_quoted_or_is_the_message_and_no_command() -> None:
    passed = {
        "is_share": True, "is_msg_unfurl": True, "author_name": "Ben", "text": "it is &lt;here&gt;, <@U2|ana>",
        "files": [{"id": "F7", "name": "b.pdf", "mimetype": "application/pdf", "size": 5}],
    }  # fmt: skip
    unfolded = {"from_url": "https://a.test", "title": "A page", "text": "its beginning"}
    said = parsed(text="look", attachments=[passed, unfolded])
    assert (said.text, said.quoted, said.command_text) == ("look", "Ben: it is <here>, @ana", True)
    bare = parsed(attachments=[{**passed, "author_name": None, "text": "/stop"}])
    assert (bare.text, bare.quoted, bare.command_text) == ("/stop", None, False)
    assert [a.ref for a in said.attachments] == [a.ref for a in bare.attachments] == ["F7"]
    assert parsed(attachments=[{**passed, "text": "<@UBOT> look"}]).text == "Ben: @UBOT look"
    assert parsed(attachments=[unfolded]).text == "A page: its beginning"
    lost = parsed(attachments=[{"image_url": "https://a.test/x.png"}])
    assert (lost.text, lost.unsupported) == ("", "shared message")


@pytest.mark.parametrize(
    "attachments", [7, [7], [{"text": 7, "files": 7}], [{"files": [{"id": 7}]}], [{"author_name": []}]]
)
def test_what_is_passed_on_in_no_known_form_breaks_nothing(attachments: Any) -> None:
    assert parsed(text="hi", attachments=attachments).text == "hi"


@pytest.mark.parametrize(
    ("file", "number"),
    [
        ({"shares": {"public": {"C1": [{"ts": "5.1"}]}}}, "5.1"),
        ({"shares": {"private": {"C1": [{}, {"ts": "6.1"}]}}}, "6.1"),
        ({"shares": {"public": {"C2": [{"ts": "5.1"}]}}}, None),
        ({"shares": {}}, None),
        ({"shares": {"public": [], "private": {"C1": 7}}}, None),
        (None, None),
    ],
)
def test_where_a_file_is_shown(file: Any, number: str | None) -> None:
    assert number_of_share(file, "C1") == number


# -- notes ---------------------------------------------------------------------------------------------


def test_notes_are_kept_for_a_week_and_are_nobody_elses(tmp_path: Path) -> None:
    folder, now = tmp_path / "deep" / "notes", 1_000_000.0
    notes = Notes(folder, lambda: now)
    assert notes.read("aa") is None
    notes.write("aa", "F1")
    notes.write("aa", "F2")
    assert Notes(folder).read("aa") == "F2"
    assert (folder / "aa").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "README").write_text("not a note")
    for name in ("aa", "README"):
        os.utime(folder / name, (now - 8 * 86_400, now - 8 * 86_400))
    notes.write("bb", "F3")
    assert sorted(path.name for path in folder.iterdir()) == ["README", "bb"]


# -- signs ---------------------------------------------------------------------------------------------


def settings(**more: Any) -> SlackSettings:
    return SlackSettings.model_validate({**TOKENS, **more})


def test_what_was_taken_gets_a_reaction_where_that_is_wanted() -> None:
    item, taken = parsed(text="hi"), Verdict("accepted")
    wanted = Gesture("reactions.add", {"channel": "D1", "timestamp": "100.1", "name": "eyes"})
    assert gesture_for({}, item, taken, settings(reactions="ack")) == wanted
    assert gesture_for({}, item, taken, settings()) is None
    for verdict in (Verdict("duplicate"), Verdict("refused"), Verdict("ignored")):
        assert gesture_for({}, item, verdict, settings(reactions="ack")) is None
    command = parse_delivery(
        "slash_commands", {"channel_id": "C1", "user_id": "U1", "trigger_id": "1", "text": "stop"}, READING
    )
    assert gesture_for({}, command, taken, settings(reactions="ack")) is None


def test_a_new_assistant_thread_gets_suggestions() -> None:
    thread = {"channel_id": "D1", "thread_ts": "1.1", "user_id": "U1"}
    payload = {"event": {"type": "assistant_thread_started", "assistant_thread": thread}}
    asking = settings(prompts=["What is new?", "x" * 100])
    found = gesture_for(payload, Ignored("assistant thread"), Verdict("ignored"), asking)
    assert found is not None
    assert (found.params["channel_id"], found.params["thread_ts"]) == ("D1", "1.1")
    titles = [(len(p["title"]), len(p["message"])) for p in found.params["prompts"]]
    assert titles == [(12, 12), (75, 100)]
    assert gesture_for(payload, Ignored("x"), Verdict("ignored"), settings()) is None
    for broken in (
        None,
        {"event": 7},
        {"event": {"type": "assistant_thread_started", "assistant_thread": {}}},
    ):
        assert gesture_for(broken, Ignored("x"), Verdict("ignored"), asking) is None
    with pytest.raises(ValueError, match="at most 4"):
        settings(prompts=["a"] * 5)
