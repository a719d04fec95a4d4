"""Files from and to Slack: the real SDK against a workspace, which checks every call and keeps what is uploaded."""

import os
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.adapter import Slack
from adapters.slack.check import check
from adapters.slack.parse import Account, Reading, parse_delivery
from adapters.slack.settings import SlackSettings
from hermes.adapter import FetchingAdapter, FileAdapter, Piece, Receipt
from hermes.config import Network
from hermes.errors import Gone, NotTaken, OutcomeUnknown, Rejected, Unreachable
from hermes.events import Attachment, Event, Target
from hermes.files import StoredFile
from tests.integration.slack_desk import keep, opened
from tests.peers.slack import BOT_TOKEN, Fault, SlackPeer, refused, slower
from tests.peers.slack.files import File

CHAT, THREAD = Target("slack", "C1"), Target("slack", "C1", "100.1")
SHOW = "files.completeUploadExternal"


@pytest.fixture
def peer(slack_peer: SlackPeer) -> SlackPeer:
    slack_peer.world.add_channel("C1")
    slack_peer.world.say("root", "C1", ts="100.1")
    return slack_peer


def event_with(peer: SlackPeer, *files: File) -> Event:
    payload = peer.world.say_with(files, "", "D1")
    found = parse_delivery("events_api", payload, Reading("slack", Account("T1", "UBOT", "B1")))
    assert isinstance(found, Event)
    return found


async def fetched(adapter: Slack, event: Event, number: int = 0) -> bytes:
    return b"".join([chunk async for chunk in adapter.fetch(event, event.attachments[number])])


def piece_of(adapter: Slack, file: StoredFile, caption: str = "") -> Piece:
    (piece,) = adapter.render_file(file, caption, CHAT)
    return piece


def shown(peer: SlackPeer, channel: str = "C1") -> list[tuple[str, list[str]]]:
    messages = [m for m in peer.channels[channel].messages if m.user == "UBOT"]
    return [(m.text, [file.name for file in m.files]) for m in messages]


# -- in ----------------------------------------------------------------------------------------------------


async def test_SL_15_the_bytes_of_files_are_fetched_with_the_token(peer: SlackPeer) -> None:
    content = os.urandom(300_000)
    stub = peer.files.add("shared.bin", b"from far away", "application/zip", file_access="check_file_info")
    snippet = peer.files.add("a.py", b"print(1)\n", "text/plain", mode="snippet")
    page = peer.files.add("page.html", b"<html>mine</html>", "text/html")
    event = event_with(peer, peer.files.add("a b.png", content, "image/png"), stub, snippet, page)
    async with opened(peer) as adapter:
        assert isinstance(adapter, FetchingAdapter)
        assert isinstance(adapter, FileAdapter)
        assert await fetched(adapter, event) == content
        assert await fetched(adapter, event, 1) == b"from far away"
        assert await fetched(adapter, event, 2) == b"print(1)\n"
        assert await fetched(adapter, event, 3) == b"<html>mine</html>"


async def test_what_is_too_much_is_not_read_to_its_end(peer: SlackPeer) -> None:
    event = event_with(peer, peer.files.add("big.bin", bytes(8 << 20), "application/zip"))
    async with opened(peer) as adapter:
        async with aclosing(_generator(adapter, event)) as chunks:
            first = await anext(chunks)
        assert len(first) <= 64 * 1024
        peer.files.by_id["F1"].content = b"again"
        assert await fetched(adapter, event) == b"again"


def _generator(adapter: Slack, event: Event) -> Any:
    return adapter.fetch(event, event.attachments[0])


async def test_SL_15_the_page_for_who_may_not_read_is_no_file(peer: SlackPeer) -> None:
    named, page = (peer.files.add("a", b"x", kind) for kind in ("image/png", "text/html"))
    event = event_with(peer, named, page)
    async with opened(peer) as adapter:
        peer.scopes = peer.scopes.replace("files:read,", "")
        with pytest.raises(Gone, match="files:read"):
            await fetched(adapter, event)
        peer.scopes += ",files:read"
        named.more["answers_with_page"] = True
        with pytest.raises(Gone, match="files:read"):
            await fetched(adapter, event)
        del named.more["answers_with_page"]
        page.more["sent_on_to"] = f"{peer.base}/?redir=%2Ffiles-pri"
        with pytest.raises(Gone, match="files:read"):
            await fetched(adapter, event, 1)


async def test_the_token_goes_to_no_strange_host(peer: SlackPeer) -> None:
    async with SlackPeer() as strange:
        there = strange.files.add("x", b"stolen", "image/png")
        address = f"{strange.base}/files-pri/T1-{there.id}/download/x"
        named = [
            peer.files.add("a.png", b"x", "image/png", url_private_download=address),
            peer.files.add("b.png", b"x", "image/png", sent_on_to=address),
            peer.files.add("c.png", b"x", "image/png", url_private_download=f"{peer.base}@{address[7:]}"),
        ]
        event = event_with(peer, *named)
        async with opened(peer) as adapter:
            for number in range(3):
                with pytest.raises(Gone, match="outside of Slack"):
                    await fetched(adapter, event, number)
        assert len(strange.journal) == 0


async def test_what_is_sent_on_within_slack_is_followed_with_the_token_and_not_for_ever(
    peer: SlackPeer,
) -> None:
    goal = peer.files.add("goal.png", b"there", "image/png")
    address = str(goal.wire()["url_private_download"])
    event = event_with(peer, peer.files.add("a.png", b"", "image/png", sent_on_to=address))
    async with opened(peer) as adapter:
        assert await fetched(adapter, event) == b"there"
        goal.more["sent_on_to"] = address
        with pytest.raises(NotTaken, match="circles"):
            await fetched(adapter, event)


@pytest.mark.parametrize(
    ("more", "state", "words"),
    [
        ({"mode": "tombstone"}, "shown", "deleted"),
        ({"mode": "hidden_by_limit"}, "shown", "paid"),
        ({"url_private_download": "", "url_private": ""}, "shown", "does not give"),
        ({}, "deleted", "file_deleted"),
        ({}, "asked", "file_not_found"),
    ],
)
async def test_what_is_no_longer_there_says_why(
    peer: SlackPeer, more: dict[str, Any], state: str, words: str
) -> None:
    file = peer.files.add("a.png", b"x", "image/png", **more)
    event = event_with(peer, file)
    file.state = state
    async with opened(peer) as adapter:
        with pytest.raises(Gone, match=words):
            await fetched(adapter, event)


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("files.info", Fault("lost")),
        ("files.info", slower(3)),
        ("files.info", Fault("status", 503)),
        ("download", Fault("lost")),
        ("download", slower(3)),
        ("download", Fault("status", 500)),
    ],
    ids=str,
)
async def test_what_may_go_better_later_is_asked_for_again(
    peer: SlackPeer, method: str, fault: Fault
) -> None:
    event = event_with(peer, peer.files.add("a.png", os.urandom(200_000), "image/png"))
    peer.faults.add(method, fault)
    async with opened(peer) as adapter:
        with pytest.raises(NotTaken) as told:
            await fetched(adapter, event)
        assert BOT_TOKEN not in str(told.value)
        assert len(await fetched(adapter, event)) == 200_000


async def test_whoever_cannot_be_reached_gives_and_takes_no_file(peer: SlackPeer, tmp_path: Path) -> None:
    event = event_with(peer, peer.files.add("a.png", b"x", "image/png"))
    await peer.stop()
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(Unreachable):
            await fetched(adapter, event)
        with pytest.raises(Unreachable):
            await sent(adapter, keep(tmp_path, "b.txt", b"x"))


async def test_a_file_without_an_id_that_slack_knows_is_gone(peer: SlackPeer) -> None:
    event = event_with(peer, peer.files.add("a.png", b"x", "image/png"))
    async with opened(peer) as adapter:
        with pytest.raises(Gone):
            async for _ in adapter.fetch(event, Attachment("image", "F99")):
                pass


# -- out ---------------------------------------------------------------------------------------------------


async def test_a_file_is_uploaded_and_shown_with_its_caption(peer: SlackPeer, tmp_path: Path) -> None:
    content = os.urandom(1_500_000)
    file = keep(tmp_path, "re port.pdf", content)
    async with opened(peer, tmp_path) as adapter:
        bare = await adapter.send(THREAD, piece_of(adapter, file), key="a")
        told = await adapter.send(THREAD, piece_of(adapter, file, "**see** <here> & there"), key="b")
    first, second = peer.channels["C1"].messages[1:]
    assert (first.ts, second.ts) == (bare.message_id, told.message_id)
    assert (first.text, second.source) == ("", "*see* &lt;here&gt; &amp; there")
    assert {m.thread_ts for m in (first, second)} == {"100.1"}
    assert [f.content for m in (first, second) for f in m.files] == [content, content]
    assert {f.name for m in (first, second) for f in m.files} == {"re port.pdf"}
    assert not any(call.params.get("size") != len(content) for call in peer.calls("upload"))


async def test_a_caption_that_is_too_long_goes_on_as_text(peer: SlackPeer, tmp_path: Path) -> None:
    file = keep(tmp_path, "a.txt", b"x")
    caption = "word " * 2000
    async with opened(peer, tmp_path) as adapter:
        pieces = adapter.render_file(file, caption, CHAT)
        assert pieces == adapter.render_file(file, caption, CHAT)
        for number, piece in enumerate(pieces):
            await adapter.send(CHAT, piece, key=f"k{number}")
    texts = [text for text, _ in shown(peer)]
    assert [names for _, names in shown(peer)] == [["a.txt"], [], []]
    assert " ".join(texts).split() == caption.split()


async def test_what_follows_a_file_does_not_overtake_it(peer: SlackPeer, tmp_path: Path) -> None:
    peer.files.slow = 2
    file = keep(tmp_path, "a.txt", b"x")
    async with opened(peer, tmp_path) as adapter:
        receipt = await adapter.send(CHAT, piece_of(adapter, file), key="a")
        assert receipt.message_id == peer.channels["C1"].messages[-1].ts
        peer.scopes = peer.scopes.replace("files:read,", "")
        receipt = await adapter.send(CHAT, piece_of(adapter, file), key="b")
        assert receipt.message_id == "F2"
        with pytest.raises(Gone):
            await adapter.edit(CHAT, "F2", Piece("new words", {"text": "new words"}))
    assert len(shown(peer)) == 2


async def test_a_thread_that_is_gone_loses_no_file(peer: SlackPeer, tmp_path: Path) -> None:
    async with opened(peer, tmp_path) as adapter:
        piece = piece_of(adapter, keep(tmp_path, "a.txt", b"x"))
        receipt = await adapter.send(Target("slack", "C1", "55.5"), piece, key="a")
    assert shown(peer) == [("", ["a.txt"])]
    assert receipt.note is not None
    assert "55.5" in receipt.note


async def test_a_person_gets_a_file_in_our_direct_conversation(peer: SlackPeer, tmp_path: Path) -> None:
    async with opened(peer, tmp_path) as adapter:
        await adapter.send(Target("slack", "U7"), piece_of(adapter, keep(tmp_path, "a.txt", b"x")), key="a")
    assert shown(peer, "D7") == [("", ["a.txt"])]


# -- outcomes ----------------------------------------------------------------------------------------------


async def sent(adapter: Slack, file: StoredFile, *, again: bool = False, caption: str = "once") -> Receipt:
    return await adapter.send(CHAT, piece_of(adapter, file, caption), key="a", again=again)


@pytest.mark.parametrize("slow", [0, 2])
async def test_after_a_lost_answer_a_file_is_found_and_not_sent_again(
    peer: SlackPeer, tmp_path: Path, slow: int
) -> None:
    peer.files.slow = slow
    file = keep(tmp_path, "a.txt", b"x")
    peer.faults.add(SHOW, Fault("lost"))
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(OutcomeUnknown):
            await sent(adapter, file)
    async with opened(peer, tmp_path) as adapter:  # another process
        receipt = await sent(adapter, file, again=True)
    assert shown(peer) == [("once", ["a.txt"])]
    assert receipt.message_id == peer.channels["C1"].messages[-1].ts
    assert len(peer.calls("upload")) == 1


async def test_a_last_step_that_did_not_arrive_is_taken_again_with_the_same_bytes(
    peer: SlackPeer, tmp_path: Path
) -> None:
    file = keep(tmp_path, "a.txt", b"x")
    peer.faults.add(SHOW, Fault("cut"))
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(OutcomeUnknown):
            await sent(adapter, file)
        await sent(adapter, file, again=True)
    assert shown(peer) == [("once", ["a.txt"])]
    assert len(peer.calls("upload")) == 1


async def test_where_nothing_was_noted_nothing_was_shown(peer: SlackPeer, tmp_path: Path) -> None:
    file = keep(tmp_path, "a.txt", b"x")
    async with opened(peer, tmp_path) as adapter:
        await sent(adapter, file, again=True)
    assert shown(peer) == [("once", ["a.txt"])]


async def test_what_slack_threw_away_is_uploaded_anew(peer: SlackPeer, tmp_path: Path) -> None:
    file = keep(tmp_path, "a.txt", b"x")
    peer.faults.add(SHOW, Fault("cut"))
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(OutcomeUnknown):
            await sent(adapter, file)
        peer.files.by_id.clear()
        await sent(adapter, file, again=True)
    assert shown(peer) == [("once", ["a.txt"])]


async def test_what_somebody_deleted_meanwhile_is_not_shown_again(peer: SlackPeer, tmp_path: Path) -> None:
    file = keep(tmp_path, "a.txt", b"x")
    peer.faults.add(SHOW, Fault("lost"))
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(OutcomeUnknown):
            await sent(adapter, file)
        peer.files.by_id["F1"].state = "deleted"
        receipt = await sent(adapter, file, again=True)
    assert receipt.note is not None
    assert "deleted" in receipt.note
    assert len(peer.calls("upload")) == 1


@pytest.mark.parametrize("caption", ["once", ""])
async def test_a_file_that_cannot_be_looked_up_is_marked(
    peer: SlackPeer, tmp_path: Path, caption: str
) -> None:
    file = keep(tmp_path, "a.txt", b"x")
    peer.faults.add(SHOW, Fault("lost"))
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(OutcomeUnknown):
            await sent(adapter, file, caption=caption)
        peer.scopes = peer.scopes.replace("files:read,", "")
        await sent(adapter, file, again=True, caption=caption)
    assert shown(peer) == [(caption, ["a.txt"]), (f"↻ {caption}".strip(), ["a.txt"])]


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("files.getUploadURLExternal", Fault("lost")),
        ("files.getUploadURLExternal", Fault("malformed")),
        ("files.getUploadURLExternal", slower(3)),
        ("upload", Fault("lost")),
        ("upload", Fault("cut")),
        ("upload", Fault("status", 503)),
        ("upload", slower(3)),
        (SHOW, slower(3)),
    ],
    ids=str,
)
async def test_what_nobody_saw_is_simply_sent_again(
    peer: SlackPeer, tmp_path: Path, method: str, fault: Fault
) -> None:
    file = keep(tmp_path, "a.bin", os.urandom(400_000))
    peer.faults.add(method, fault)
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(NotTaken) as told:
            await sent(adapter, file)
        assert told.value.retry_after == (3.0 if fault.retry_after else None)
        await sent(adapter, file)
    assert shown(peer) == [("once", ["a.bin"])]


@pytest.mark.parametrize(
    ("method", "error", "words"),
    [
        ("files.getUploadURLExternal", "file_uploads_disabled", "allows no files"),
        ("files.getUploadURLExternal", "file_upload_size_restricted", "larger"),
        (SHOW, "not_in_channel", "/invite"),
        (SHOW, "file_type_not_allowed", "type of file"),
    ],
)
async def test_a_refusal_has_a_sentence(
    peer: SlackPeer, tmp_path: Path, method: str, error: str, words: str
) -> None:
    peer.faults.add(method, refused(error))
    async with opened(peer, tmp_path) as adapter:
        with pytest.raises(Rejected, match=error) as told:
            await sent(adapter, keep(tmp_path, "a.txt", b"x"))
    assert words in str(told.value)
    assert shown(peer) == []


async def test_a_missing_scope_and_a_missing_file_are_told(peer: SlackPeer, tmp_path: Path) -> None:
    file = keep(tmp_path, "a.txt", b"x")
    async with opened(peer, tmp_path) as adapter:
        peer.scopes = peer.scopes.replace("files:write,", "")
        with pytest.raises(Rejected, match="files:write"):
            await sent(adapter, file)
        (tmp_path / file.digest).unlink()
        with pytest.raises(Rejected, match=r"a\.txt is no longer there"):
            await sent(adapter, file)


async def test_an_answers_message_takes_no_file_in(peer: SlackPeer, tmp_path: Path) -> None:
    async with opened(peer, tmp_path) as adapter:
        (text,) = adapter.render("first", CHAT)
        receipt = await adapter.send(CHAT, text, key="t")
        with pytest.raises(Gone):
            await adapter.edit(CHAT, receipt.message_id, piece_of(adapter, keep(tmp_path, "a.txt", b"x")))
        file_receipt = await sent(adapter, keep(tmp_path, "a.txt", b"x"))
        await adapter.edit(CHAT, file_receipt.message_id, Piece("new words", {"text": "new words"}))
    assert shown(peer) == [("first", []), ("new words", ["a.txt"])]


async def test_whoever_is_asked_about_tokens_says_what_cannot_be_done_with_files(peer: SlackPeer) -> None:
    peer.scopes = peer.scopes.replace("files:read,files:write,", "").replace("reactions:write,", "")
    for reactions, words in (("off", False), ("ack", True)):
        given = SlackSettings.model_validate({"type": "slack", **peer.settings(reactions=reactions)})
        (note,) = (await check(given, Network())).notes
        assert "files:read: it cannot read files" in note
        assert "files:write: it cannot send files" in note
        assert ("reactions:write: it cannot react" in note) is words
