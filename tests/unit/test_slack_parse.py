"""Slack's deliveries as events, and its markup as people see it."""

import json
from typing import Any

import pytest

from adapters.slack.markup import read_text
from adapters.slack.parse import Account, Reading, parse_delivery
from adapters.slack.threads import Threads, thread_name
from hermes.events import Deleted, Event, Ignored, Unparsable, event_from_json, event_to_json

ACCOUNT = Account("T1", "UBOT", "B1")
READING = Reading("slack", ACCOUNT, commands=frozenset({"help", "stop"}))
MESSAGE = {
    "type": "message",
    "channel": "C1",
    "channel_type": "channel",
    "user": "U1",
    "text": "hi",
    "ts": "100.1",
}
CHANGED = {**MESSAGE, "text": "ho", "edited": {"user": "U1", "ts": "101.0"}}


def parsed(reading: Reading = READING, **event: Any) -> Event:
    found = parse_delivery("events_api", {"event": {**MESSAGE, **event}}, reading)
    assert isinstance(found, Event), found
    assert event_from_json(event_to_json(found)) == found
    return found


def reading(**more: Any) -> Reading:
    return Reading("slack", ACCOUNT, **more)


# -- text ----------------------------------------------------------------------------------------------


def test_SL_04_entities_are_undone_once() -> None:
    assert read_text("&amp;lt;b&amp;gt; and &lt;ok&gt;", "UBOT").text == "&lt;b&gt; and <ok>"


def test_SL_05_tokens_are_read_before_entities() -> None:
    said = read_text("<@UBOT> see <https://a.test/x|docs>, <#C9|ops> &amp; &lt;@U2&gt;", "UBOT")
    assert said.text == "see docs (https://a.test/x), #ops & <@U2>"
    assert said.to_us


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("ask <@U2> or <@U3|ana>", "ask @U2 or @ana"),
        ("<#C9> <#C9|>", "#C9 #C9"),
        ("<!here> <!channel> <!everyone|everyone>", "@here @channel @everyone"),
        ("<!subteam^S1> <!subteam^S1|@team>", "@subteam @team"),
        ("<!date^1392734382^{date}|18 Feb>", "18 Feb"),
        ("<https://a.test/?a=1&amp;b=2>", "https://a.test/?a=1&b=2"),
        ("<https://a.test|a.test> <mailto:a@b.test|a@b.test> <tel:+123|call>", "https://a.test a@b.test call (tel:+123)"),
        ("a < b <> c", "a < b  c"),
        ("<https://a.test/?a=&amp;lt;b|x &amp;amp; y>", "x &amp; y (https://a.test/?a=&lt;b)"),
        ("&quot;&#39;&amp;amp;", "&quot;&#39;&amp;"),
        ("", ""),
    ],
)  # fmt: skip
def test_markup_is_shown_as_people_see_it(source: str, shown: str) -> None:
    assert read_text(source, "UBOT").text == shown


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<@UBOT> hi", "hi"),
        ("hi <@UBOT>", "hi"),
        ("hi <@UBOT> there", "hi there"),
        ("hi <@UBOT|hermes>, there", "hi , there"),
        ("<@UBOT> <@UBOT>", ""),
        ("<@UBOT>\n/stop", "/stop"),
    ],
)
def test_our_name_is_taken_out(source: str, text: str) -> None:
    said = read_text(source, "UBOT")
    assert (said.text, said.to_us, said.elsewhere) == (text, True, False)


# -- identity ------------------------------------------------------------------------------------------


def test_SL_13_the_key_is_made_of_channel_number_and_revision_alone() -> None:
    posted, mention = (
        parsed(text="<@UBOT> hi"),
        parsed(text="<@UBOT> hi", type="app_mention", channel_type=None),
    )
    assert posted == mention
    assert posted.dedupe_key == "T1:C1:100.1:"
    others = [
        parsed(ts="100.2"),
        parsed(channel="C2"),
        parsed(edited={"user": "U1", "ts": "101.0"}),
    ]
    assert len({event.dedupe_key for event in [posted, *others]}) == 4


def test_two_apps_share_no_session() -> None:
    other = Reading("slack", Account("T2", "UBOT", "B1"))
    assert parsed().account != parsed(other).account


# -- places --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "kind", "thread"),
    [
        ({}, "group", "100.1"),
        ({"thread_ts": "90.5"}, "group", "90.5"),
        ({"channel": "D1", "channel_type": "im"}, "direct", None),
        ({"channel": "D1", "channel_type": "im", "thread_ts": "90.5"}, "direct", "90.5"),
        ({"channel": "G1", "channel_type": "mpim"}, "group", "100.1"),
        ({"channel": "G1", "channel_type": None, "type": "app_mention"}, "group", "100.1"),
        ({"ts": "1700000000.000100"}, "group", "1700000000.000100"),
        ({"thread_ts": "1700000000.000200"}, "group", "1700000000.000200"),
    ],
)  # fmt: skip
def test_SL_17_where_a_message_stands_is_where_it_is_answered(
    event: dict[str, Any], kind: str, thread: str | None
) -> None:
    found = parsed(text="<@UBOT> x", **event)
    assert (found.kind, found.thread) == (kind, thread)
    assert [target.thread for target in found.reply_to] == [thread]
    assert found.private_notice == (kind == "direct")


def test_an_answer_may_stand_in_the_channel_itself() -> None:
    inline = reading(reply_in="channel")
    assert parsed(inline).thread is None
    assert parsed(inline, thread_ts="90.5").thread == "90.5"


@pytest.mark.parametrize(
    ("event", "more", "addressed"),
    [
        ({}, {}, False),
        ({"text": "<@UBOT> x"}, {}, True),
        ({"type": "app_mention"}, {}, True),
        ({}, {"mention": "off"}, True),
        ({"channel": "D1", "channel_type": "im"}, {}, True),
        ({"thread_ts": "90.5"}, {}, False),
        ({"thread_ts": "90.5", "parent_user_id": "UBOT"}, {}, True),
        ({"thread_ts": "90.5"}, {"threads": {thread_name("C1", "90.5")}}, True),
        ({"thread_ts": "90.5"}, {"threads": {thread_name("C2", "90.5")}}, False),
        ({"thread_ts": "90.5", "text": "<@U2> and you?"}, {"threads": {thread_name("C1", "90.5")}}, False),
        ({"thread_ts": "90.5"}, {"threads": {thread_name("C1", "90.5")}, "thread_mention": "required"}, False),
        ({"thread_ts": "90.5", "parent_user_id": "UBOT"}, {"thread_mention": "required"}, False),
    ],
)  # fmt: skip
def test_what_is_meant_for_us(event: dict[str, Any], more: dict[str, Any], addressed: bool) -> None:
    assert parsed(reading(**more), **event).addressed is addressed


def test_threads_are_kept_bounded_and_in_order() -> None:
    threads = Threads()
    assert all(threads.join(f"C1:{n}") for n in range(1001))
    assert not threads.join("C1:1000")
    assert "C1:0" not in threads
    assert "C1:1" in threads
    back = Threads.from_text(threads.to_text())
    assert back.to_text() == threads.to_text()
    back.leave("C1:1")
    assert "C1:1" not in back
    for broken in (None, "", "{", "7", '{"a": 1}', '[1, "C1:5"]'):
        assert isinstance(Threads.from_text(broken), Threads)


# -- what is no message --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"user": "UBOT"}, "own message"),
        ({"user": None, "bot_id": "B1", "subtype": "bot_message"}, "own message"),
        ({"bot_id": "B2"}, "bot message"),
        ({"user": None, "bot_id": "B2", "subtype": "bot_message"}, "bot message"),
        ({"user": "USLACKBOT"}, "bot message"),
        ({"subtype": "message_changed", "user": None, "text": None}, "edited"),
        ({"subtype": "message_changed", "message": {**MESSAGE, "text": "unfurled"}}, "edited"),
        ({"subtype": "message_changed", "message": {**CHANGED, "user": "UBOT"}}, "own message"),
        ({"subtype": "message_changed", "message": {**CHANGED, "bot_id": "B2"}}, "bot message"),
        ({"subtype": "message_changed", "message": CHANGED, "previous_message": CHANGED}, "edited"),
        ({"subtype": "channel_join"}, "service message"),
        ({"hidden": True}, "service message"),
        ({"text": ""}, "service message"),
        ({"type": "app_mention", "edited": {"ts": "101.1"}}, "edited"),
        ({"type": "reaction_added"}, "no message"),
    ],
)
def test_SL_14_and_SL_18_what_is_no_message_for_us(event: dict[str, Any], reason: str) -> None:
    assert parse_delivery("events_api", {"event": {**MESSAGE, **event}}, READING) == Ignored(reason)


def test_SL_14_a_change_is_a_new_version_and_a_deletion_takes_back() -> None:
    first, changed = parsed(), parsed(subtype="message_changed", message=CHANGED, previous_message=MESSAGE)
    assert (changed.text, changed.edited, changed.dedupe_key) == ("ho", True, "T1:C1:100.1:101.0")
    assert (changed.message_id, changed.thread, changed.sender) == (
        first.message_id,
        first.thread,
        first.sender,
    )
    shown = {**CHANGED, "files": [{"id": "F1", "mode": "hosted"}]}
    taken_back = parsed(subtype="message_changed", message=CHANGED, previous_message=shown)
    assert (taken_back.edited, taken_back.attachments) == (True, ())
    root = {**CHANGED, "channel": "D1", "thread_ts": "100.1"}
    assert parsed(channel="D1", channel_type="im", subtype="message_changed", message=root).thread is None
    for gone in (
        {"subtype": "message_deleted", "deleted_ts": "100.1", "user": None, "text": None},
        {"subtype": "message_changed", "message": {**MESSAGE, "subtype": "tombstone"}},
    ):
        found = parse_delivery("events_api", {"event": {**MESSAGE, **gone}}, READING)
        assert found == Deleted("C1", "100.1")


@pytest.mark.parametrize(
    "payload",
    [
        None,
        7,
        {},
        {"event": None},
        {"event": {}},
        {"event": {**MESSAGE, "ts": 100.1}},
        {"event": {**MESSAGE, "ts": ""}},
        {"event": {**MESSAGE, "ts": "nan"}},
        {"event": {**MESSAGE, "channel": None}},
        {"event": {**MESSAGE, "user": None}},
        {"event": {**MESSAGE, "text": ["x"]}},
        {"event": {**MESSAGE, "subtype": {}}},
        {"event": {**MESSAGE, "thread_ts": 7}},
    ],
    ids=str,
)
def test_what_cannot_be_read_is_kept_to_be_looked_at(payload: Any) -> None:
    found = parse_delivery("events_api", payload, READING)
    assert isinstance(found, Unparsable)
    assert json.loads(found.raw) == payload


def test_our_name_alone_asks_for_help() -> None:
    assert parsed(text="<@UBOT>").text == "/help"


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ({"mimetype": "image/png"}, "image"),
        ({"mimetype": "audio/mp4", "subtype": "slack_audio"}, "voice"),
        ({"mimetype": "audio/mpeg"}, "audio"),
        ({"mimetype": "video/mp4"}, "video"),
        ({"mimetype": 7, "size": "x"}, "document"),
    ],
)
def test_SL_15_files_come_along(file: dict[str, Any], kind: str) -> None:
    found = parsed(subtype="file_share", text="", files=[{"id": "F1", "name": "a", **file}, 7, {"id": 1}])
    assert [(a.kind, a.ref) for a in found.attachments] == [(kind, "F1")]
    assert (found.text, found.unsupported) == ("", None)
    said = parsed(subtype="file_share", text="see", files=[{"id": "F1"}])
    assert (said.text, len(said.attachments)) == ("see", 1)
    mention = parsed(text="<@UBOT>", files=[{"id": "F1"}])
    assert (mention.text, mention.addressed) == ("", True)


@pytest.mark.parametrize(
    ("told", "name"), [("ops", "#ops"), ("directmessage", ""), ("privategroup", ""), (None, "")]
)
def test_a_command_tells_what_its_channel_is_called(told: str | None, name: str) -> None:
    payload = {"channel_id": "C1", "user_id": "U1", "text": "stop", "trigger_id": "1", "channel_name": told}
    found = parse_delivery("slash_commands", {k: v for k, v in payload.items() if v is not None}, READING)
    assert isinstance(found, Event)
    assert found.chat_name == name


def test_a_command_is_known_by_its_trigger() -> None:
    payload = {
        "channel_id": "C1", "user_id": "U1", "user_name": "ana", "text": "stop", "command": "/hermes",
        "trigger_id": "1.2.x", "response_url": "https://hooks.slack.com/commands/1",
    }  # fmt: skip
    first, second = (
        parse_delivery("slash_commands", {**payload, "trigger_id": t}, READING) for t in ("1", "2")
    )
    assert isinstance(first, Event)
    assert isinstance(second, Event)
    assert first.dedupe_key != second.dedupe_key
    assert (first.text, first.sender.name, first.reply_to[0].answers) == (
        "/stop",
        "ana",
        payload["response_url"],
    )
    assert isinstance(parse_delivery("slash_commands", {**payload, "trigger_id": None}, READING), Unparsable)
    assert parse_delivery("interactive", payload, READING) == Ignored("no message")
