"""Slack through the installed command: set up, conversations in all places, trouble that passes and that does not."""

import hashlib
import hmac
import json
import time

import pytest

from tests.acceptance.house import House
from tests.peers.slack import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, USER, SlackPeer, refused, slower
from tests.peers.slack.mrkdwn import pings

US = f"<@{USER}>"
OFFER = '[[tool=offer_choices {"choices": ["Yes", "/new"]}]]'


@pytest.fixture
def slack(house: House, slack_peer: SlackPeer) -> SlackPeer:
    """The workspace, with the app in it set up twice: by Socket Mode, and called by HTTP."""
    by_http = slack_peer.settings(
        type="slack", mode="http", signing_secret=SIGNING_SECRET, reply_in="channel"
    )
    by_http["allow_from"] = ["U5"]  # both read what was missed, and each is to answer its own
    by_http["base_url"] = slack_peer.base_url.replace("127.0.0.1", "localhost")  # one app twice is refused
    del by_http["app_token"]
    house.config["platforms"] |= {"slack": slack_peer.settings(allow_from=["U1", "U2"]), "called": by_http}
    house.write()
    return slack_peer


async def called(house: House, payload: object) -> int:
    """Slack calls our HTTP server."""
    body, stamp = json.dumps(payload).encode(), str(int(time.time()))
    signature = hmac.new(SIGNING_SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": f"v0={signature}",
    }
    return (await house.client.post("/called/events", content=body, headers=headers)).status_code


async def test_conversations_in_all_places_over_two_lives(house: House, slack: SlackPeer) -> None:
    slack.methods.longest = 4000
    await house.start()
    await slack.connected()

    await slack.push("first")
    await slack.wait_text("D1", "echo: first")
    await slack.push("second")
    await slack.wait_text("D1", "echo: second")
    assert [m["role"] for m in house.asked()][-3:] == ["user", "assistant", "user"]

    # SL-13, SL-17: one turn for a post and its mention, and everything in the post's thread
    for is_mention in (True, False):
        await slack.push(f"{US} root", "C1", ts="100.1", is_mention=is_mention)
    await slack.wait_text("C1", "] root")
    await slack.push("nobody was spoken to", "C1", ts="101.1")
    await slack.push("more", "C1", "U2", ts="105.2", thread="100.1")
    await slack.wait_text("C1", "] more")
    assert "root" in str(house.asked())
    assert len(slack.texts("C1", "100.1")) == len(slack.texts("C1")) == 2

    # SL-14: what is changed after its answer is not answered again
    old = await slack.push(f"{US} old", "C6", ts="107.1")
    await slack.wait_text("C6", "] old")
    new = {**old.payload["event"], "text": f"{US} new", "edited": {"user": "U1", "ts": "108.1"}}
    await slack.push_raw({"type": "message", "subtype": "message_changed", "channel": "C6", "message": new})
    await slack.push_raw(
        {"type": "message", "subtype": "message_deleted", "channel": "C6", "deleted_ts": "107.1"}
    )

    # SL-10: acknowledged at once, also when it comes again while the turn runs
    slow = await slack.push(f"{US} slow [[delay=1500]]", "C2", ts="110.1")
    await slack.links.deliver("events_api", slow.payload, attempt=1)
    await slack.acknowledged()
    assert slack.texts("C2") == []
    await slack.wait_text("C2", "slow")
    assert slack.calls("assistant.threads.setStatus", channel_id="C2")

    # SL-08: a long answer
    await slack.push(f"{US} {'word ' * 1800}", "C3", ts="120.1")
    await slack.wait_for(lambda: len(slack.texts("C3", "120.1")) == 3)

    # SL-15: a message with a file is a message, also without a word; what cannot be had is told
    slack.files.add("gone.pdf", b"x", "application/pdf", mode="tombstone")
    gone, kept = slack.files.by_id["F1"], slack.files.add("a.txt", b"a sly word", "text/plain")
    await slack.push_files(gone, kept, channel="D2")
    await slack.wait_text("D2", "")
    assert "a sly word" in str(house.asked())
    assert "it was deleted in Slack" in str(house.asked())

    await slack.push_command("asked by &lt;command&gt;", "C4")
    await slack.wait_text("C4", "asked by <command>")
    await slack.push("say [[text=&lt;!channel&gt; &lt;@U1&gt; **all**]]", "D3")
    assert await slack.wait_text("D3", "all") == "<!channel> <@U1> all"

    # answers to pick: a press is a message of who presses, in that thread; a stranger's is nothing
    await slack.push(f"{US} {OFFER} [[text=Shall **I**?]]", "C7", ts="125.1")
    await slack.wait_for(lambda: slack.channels["C7"].messages[-1].buttons == ["Yes", "/new"])
    await slack.press("Yes", "C7", "U9")
    for _ in range(2):
        await slack.press("/new", "C7", "U2")
    await slack.wait_text("C7", "/new")

    assert await called(house, slack.world.say(f"{US} by http", "C5", "U5")) == 200
    await slack.wait_text("C5", "by http")
    assert [m.thread_ts for m in slack.channels["C5"].messages] == [None, None]

    await slack.links.say({"type": "disconnect", "reason": "refresh_requested"})
    await slack.connected(2)
    await house.stop()
    await slack.push("while it was away", "D4")
    await house.start()
    await slack.wait_text("D4", "echo: while it was away", 20)
    await slack.press("Yes", "C7")
    assert "Shall" in await slack.wait_text("C7", "Yes")  # with what it answers
    await slack.push("still", "C1", ts="130.1", thread="100.1")
    await slack.wait_text("C1", "] still")
    await slack.acknowledged()
    await house.stop()

    wanted = {
        "D1": 2,
        "C1": 3,
        "C2": 1,
        "C3": 3,
        "D2": 1,
        "C4": 1,
        "D3": 1,
        "C5": 1,
        "C6": 1,
        "D4": 1,
        "C7": 3,
    }
    assert {name: len(slack.texts(name)) for name in slack.channels} == wanted
    sources = [m.source for place in slack.channels.values() for m in place.messages if m.user == USER]
    assert [token for source in sources for token in pings(source)] == []
    threads = "session_key LIKE '%:C1:%' OR session_key LIKE '%:C7:%'"
    assert house.rows(f"SELECT count(DISTINCT session_key) FROM inbox WHERE {threads}") == [(2,)]


async def test_trouble_that_passes_and_trouble_that_does_not(house: House, slack: SlackPeer) -> None:
    slack.faults.add("chat.postMessage", slower(1, channel="D1"))
    await house.start()
    await slack.connected()
    await slack.push("wait for it", "D1")
    await slack.push("others go on", "D2", "U2")
    await slack.wait_text("D2", "others")
    assert slack.texts("D1") == []
    await slack.wait_text("D1", "wait for it")

    slack.faults.add("apps.connections.open", refused("account_inactive"))
    slack.links.cut()
    failed = await house.platform("slack", "failed")
    assert (failed["reason"], failed["setting"]) == ("unauthorized", "app_token")
    await house.said("App-Level Tokens")
    house.telegram.push_text("here all is well", chat=1)
    await house.telegram.wait_text(1, "all is well")
    assert (await house.status())["platforms"]["called"]["state"] == "connected"
    await house.stop()
    assert BOT_TOKEN not in house.daemon.stderr
    assert APP_TOKEN not in house.daemon.stderr


async def test_an_app_is_added_after_its_tokens_were_tried(house: House, slack_peer: SlackPeer) -> None:
    (house.home / "config.yaml").write_text("language: en\n")
    add = ("gateway", "add", "slack", "--token", "-", "--base-url", slack_peer.base_url)
    refused_ = await house.hermes(*add, stdin=f"{BOT_TOKEN} xapp-wrong")
    assert refused_.code == 1
    assert "connections:write" in refused_.err
    assert not (house.home / ".env").exists()

    slack_peer.scopes = "chat:write,im:history"
    done = await house.hermes(*add, stdin=f"{APP_TOKEN}\n{BOT_TOKEN}\n")
    assert done.code == 0, done.err
    assert "@hermes in Peer" in done.out
    assert "app_mentions:read: it hears no mentions" in done.err
    lines = sorted((house.home / ".env").read_text().splitlines())
    assert lines == [f"SLACK_APP_TOKEN={APP_TOKEN}", f"SLACK_BOT_TOKEN={BOT_TOKEN}"]
    assert "xoxb" not in (house.home / "config.yaml").read_text() + done.out + done.err

    made = json.loads((await house.hermes("slack", "manifest", "--format", "json")).out)
    assert made["settings"]["socket_mode_enabled"] is True
