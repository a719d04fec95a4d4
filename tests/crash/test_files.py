"""The daemon is killed while a message's files come in: the message is answered once, with all of them.

What was noted with the message is not fetched again; what was only fetched, or only stored, is.
"""

import json
from pathlib import Path

from hermes.failpoint import MEDIA_POINTS
from tests.crash.test_slack import Home
from tests.peers.model import ModelPeer
from tests.peers.slack import SlackPeer

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\2\0\0\0"


async def test_killed_while_files_come_in(
    tmp_path: Path, model_peer: ModelPeer, slack_peer: SlackPeer
) -> None:
    home = Home(tmp_path / "home", model_peer, slack_peer, "drop")
    picture = slack_peer.files.add("cat.png", PNG, "image/png")
    words = slack_peer.files.add("note.txt", b"the word is heron", "text/plain")
    try:
        for life, place in enumerate(MEDIA_POINTS):
            await home.start(place)
            if not life:
                await slack_peer.push_files(picture, words, text="[[text=seen.]]", channel="D1")
            await home.killed(place)
            assert model_peer.requests == []
        asked = len(slack_peer.calls("download"))
        await (await home.start()).until_ready()
        await slack_peer.wait_for(lambda: slack_peer.texts("D1") == ["seen."], 40.0)
        await slack_peer.acknowledged()
        await home.stop()
    finally:
        if home.daemon is not None:
            await home.daemon.kill()
    assert slack_peer.texts("D1") == ["seen."]
    assert home.rows("SELECT state, turn_id IS NULL FROM inbox") == [("answered", 0)]
    assert home.rows("SELECT count(*) FROM outbox") == [(1,)]
    (request,) = model_peer.requests
    assert request.body is not None
    said = str(request.body["messages"][-1]["content"])
    assert "the word is heron" in said
    assert "data:image/png;base64," in said
    # At least one of the two was noted before the last kill.
    assert len(slack_peer.calls("download")) in (asked, asked + 1)
    kept = (path.read_bytes() for path in (home.folder / "media").glob("??/*"))
    assert sorted(kept) == sorted([PNG, b"the word is heron"])


async def test_a_file_that_kills_the_daemon_is_given_up_and_its_message_goes_on(
    tmp_path: Path, model_peer: ModelPeer, slack_peer: SlackPeer
) -> None:
    home = Home(tmp_path / "home", model_peer, slack_peer, "drop")
    config = home.folder / "config.yaml"
    settings = json.loads(config.read_text())
    settings["gateway"]["resume_max_starts"] = 2
    config.write_text(json.dumps(settings))
    picture = slack_peer.files.add("cat.png", PNG, "image/png")
    try:
        for life in range(2):
            await home.start("media.fetched")
            if not life:
                await slack_peer.push_files(picture, text="[[text=seen.]]", channel="D1")
            await home.killed("media.fetched")
        await (await home.start()).until_ready()
        await slack_peer.wait_for(lambda: slack_peer.texts("D1") == ["seen."], 40.0)
        await home.stop()
    finally:
        if home.daemon is not None:
            await home.daemon.kill()
    assert len(slack_peer.calls("download")) == 2
    (request,) = model_peer.requests
    assert request.body is not None
    assert "cat.png could not be had: 2 times" in str(request.body["messages"][-1]["content"])
