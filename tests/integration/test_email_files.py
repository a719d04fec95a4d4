"""Files by mail, in from a real Dovecot and out to a real SMTP server; and servers that answer oddly."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage, Message
from importlib.util import find_spec
from pathlib import Path

import pytest

from adapters.email.headers import file_name
from adapters.email.places import FilePlace, MailPlace
from adapters.email.render import AGAIN
from hermes.adapter import BundlingAdapter, FetchingAdapter, FileAdapter, Piece
from hermes.errors import Gone, NotTaken, OutcomeUnknown, Rejected, Unreachable
from hermes.events import Attachment, Event, Sender, Target
from tests.integration.mail_desk import (
    Post,
    Watcher,
    fetched,
    keep,
    mail,
    make_adapter,
    running,
    scripted_settings,
)
from tests.peers.faults import Fault
from tests.peers.mail import Dovecot, ScriptedImap, SmtpPeer

ANA = Target("email", "ana@far.test")
BIG = random.Random(1).randbytes(1_500_000)
PIECE = 524_287
"""Bytes that are asked for at once."""
EVENT = Event("email", "email", "a", "direct", "c", Sender("s"), "", "k")


@pytest.fixture
def post(dovecot: Dovecot, smtp_peer: SmtpPeer) -> Post:
    return Post.open(dovecot, smtp_peer)


def with_files(*files: tuple[str, bytes], **headers: str) -> bytes:
    """A mail as the standard library writes it."""
    made = EmailMessage()
    fields = {"From": "Ana <ana@far.test>", "Subject": "files", "Message_ID": "<f@far.test>", **headers}
    for name, value in fields.items():
        made[name.replace("_", "-")] = value
    made.set_content("see these")
    for name, content in files:
        made.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes().replace(b"\n", b"\r\n")


# --- in ----------------------------------------------------------------------------------------------


async def test_files_are_fetched_as_they_were_sent_also_after_a_rebuild(dovecot: Dovecot, post: Post) -> None:
    desk = Watcher()
    adapter = post.adapter(first_start="all", sent_folder="off")
    assert isinstance(adapter, FetchingAdapter)
    inside = with_files(("inner.bin", BIG[:3000]), Message_ID="<i@far.test>")
    outer = b"\r\n".join(
        [
            mail("", Content_Type='multipart/mixed; boundary="o"', Message_ID="<o@far.test>").strip(),
            b"\r\n--o\r\nContent-Type: text/plain\r\n\r\nforwarded",
            b"--o\r\nContent-Type: message/rfc822\r\n\r\n" + inside + b"--o--\r\n",
        ]
    )
    async with running(adapter, desk):
        await post.deliver(with_files(("big.bin", BIG), ("Zwölf.bin", b""), ("small.bin", b"\x00\xff")))
        await post.deliver(outer)
        await desk.until(lambda: len(desk.events) == 2)
        first, second = desk.events
        assert (first.text, first.unsupported) == ("Subject: files\n\nsee these", None)
        assert [a.name for a in first.attachments] == ["big.bin", "Zwölf.bin", "small.bin"]
        contents = [await fetched(adapter, first, a) for a in first.attachments]
        assert contents == [BIG, b"", b"\x00\xff"]
        assert [a.name for a in second.attachments] == ["files.eml", "inner.bin"]
        words, inner = [await fetched(adapter, second, a) for a in second.attachments]
        assert words == b"From: Ana <ana@far.test>\nSubject: files\n\nsee these"
        assert inner == BIG[:3000]
        box = await asyncio.to_thread(dovecot.inbox, post.address)
        seen = await asyncio.to_thread(box.unseen)
        assert seen == 0
        await asyncio.to_thread(box.close)
    # the next process, in a folder with other numbers
    fresh = post.adapter(sent_folder="off")
    far = FilePlace.from_text(first.attachments[2].ref)
    assert far is not None
    moved = replace(far, mail=replace(far.mail, validity=far.mail.validity + 1))
    assert await fetched(fresh, first, replace(first.attachments[2], ref=moved.to_text())) == b"\x00\xff"
    lost = replace(moved, mail=replace(moved.mail, message_id="never@far.test"))
    with pytest.raises(Gone, match="INBOX"):
        await fetched(fresh, first, replace(first.attachments[2], ref=lost.to_text()))
    with pytest.raises(Gone):
        await fetched(fresh, first, Attachment("document", "nowhere"))
    await fresh.aclose()


async def test_EM_26_all_files_of_a_huge_mail_are_known_and_can_be_had(post: Post) -> None:
    desk = Watcher()
    adapter = post.adapter(first_start="all", sent_folder="off", max_size="64KiB")
    async with running(adapter, desk):
        await post.deliver(with_files(("big.bin", BIG[:400_000]), ("b.bin", b"second"), ("c.bin", b"third")))
        await desk.until(lambda: len(desk.events) == 1)
        (event,) = desk.events
        assert [a.name for a in event.attachments] == ["big.bin", "b.bin", "c.bin"]
        assert [await fetched(adapter, event, a) for a in event.attachments] == [
            BIG[:400_000],
            b"second",
            b"third",
        ]


def corpus() -> Iterator[tuple[str, bytes]]:
    """Odd mails that the standard library tests its own reader with, where they are installed."""
    spec = find_spec("test.test_email")
    folder = Path(spec.origin).parent / "data" if spec and spec.origin else None
    for path in sorted(folder.glob("msg_*.txt")) if folder else []:
        yield path.name, path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def leaves(message: Message) -> Iterator[Message]:
    for part in message.walk():
        if not part.is_multipart():
            yield part


async def test_the_server_counts_the_parts_of_odd_mails_as_we_do(post: Post) -> None:
    desk = Watcher()
    adapter = post.adapter(first_start="all", sent_folder="off", thread_rate="off", sender_rate="off")
    mails = [
        b"From: ana@far.test\r\nMessage-ID: <%s@far.test>\r\n" % name.encode()
        + b"\r\n".join(
            line for line in raw.split(b"\r\n") if not line.lower().startswith((b"from", b"message-id:"))
        )
        for name, raw in corpus()
    ]
    looked_at = 0
    async with running(adapter, desk):
        for raw in mails:
            await post.deliver(raw)
        await desk.until(lambda: len(desk.events) + len(desk.ignored) + len(desk.unparsable) >= len(mails))
        for event in desk.events:
            raw = next(m for m in mails if f"<{event.message_id}>".encode() in m)
            contents = [
                leaf.get_payload(decode=True) for leaf in leaves(message_from_bytes(raw)) if file_name(leaf)
            ]
            for attachment in event.attachments:
                if attachment.name and not attachment.name.endswith(".eml"):
                    looked_at += 1
                    got = await fetched(adapter, event, attachment)
                    assert got.replace(b"\r\n", b"\n").strip() in [
                        bytes(c).replace(b"\r\n", b"\n").strip() for c in contents if isinstance(c, bytes)
                    ], (event.message_id, attachment)
    assert looked_at >= 5 or not mails


@pytest.fixture
async def imap() -> AsyncIterator[ScriptedImap]:
    server = ScriptedImap()
    await server.start()
    yield server
    await server.stop()


def lying(uid: int, part: str = "2", validity: int = 100, **keys: str) -> Attachment:
    return Attachment("document", FilePlace(MailPlace(validity, uid, 10, "m@x"), part, **keys).to_text())


@pytest.mark.parametrize("ends", ["empty", "NIL", "quoted"])
@pytest.mark.parametrize("size", [0, 5, PIECE, 600_000])
async def test_EM_23_a_part_comes_whole_however_the_server_shows_its_end(
    imap: ScriptedImap, ends: str, size: int
) -> None:
    imap.ends = ends  # type: ignore[assignment]
    imap.mails = [(1, b"x")]
    imap.sections[1, "2"] = BIG[:size] if size > 5 else rb'a"\b!'[:size]
    adapter = make_adapter(scripted_settings(imap))
    assert await fetched(adapter, EVENT, lying(1)) == imap.sections[1, "2"]
    assert all("PEEK" in c for c in imap.asked("UID FETCH"))
    await adapter.aclose()


async def test_EM_23_a_server_that_knows_no_pieces_gives_all_at_once(imap: ScriptedImap) -> None:
    imap.ends = "whole"
    imap.mails = [(1, b"x")]
    adapter = make_adapter(scripted_settings(imap))
    for size, most in ((600_000, 1), (PIECE, 2), (5, 2), (0, 1)):
        imap.sections[1, "2"], imap.pieces = BIG[:size], 0
        for says_where in (True, False):
            imap.says_where = says_where
            assert await fetched(adapter, EVENT, lying(1)) == BIG[:size]
        assert imap.pieces <= 2 * most
    await adapter.aclose()


@pytest.mark.parametrize("says_where", [True, False])
async def test_EM_23_a_server_that_gives_less_than_it_is_asked_for_is_asked_until_the_end(
    imap: ScriptedImap, says_where: bool
) -> None:
    imap.mails, imap.most, imap.says_where = [(1, b"x")], 100_000, says_where
    imap.sections[1, "2"] = BIG[:600_000]
    adapter = make_adapter(scripted_settings(imap))
    assert await fetched(adapter, EVENT, lying(1)) == BIG[:600_000]
    await adapter.aclose()


async def test_a_mail_that_is_known_again_by_its_size_and_one_that_is_gone(imap: ScriptedImap) -> None:
    imap.mails = [(5, b"Message-ID: <m@x> " + b"." * 40), (6, b"Message-ID: <m@x>")]
    imap.mails[1] = (6, imap.mails[1][1][:10] + imap.mails[1][1][10:])
    imap.sections = {(5, "2"): b"another", (6, "2"): b"this one"}
    adapter = make_adapter(scripted_settings(imap))
    place = FilePlace(MailPlace(99, 1, 17, "m@x"), "2")
    assert await fetched(adapter, EVENT, Attachment("document", place.to_text())) == b"this one"
    with pytest.raises(Gone):
        await fetched(adapter, EVENT, Attachment("document", replace(place, mail=MailPlace(99, 1)).to_text()))
    await adapter.aclose()


async def test_the_files_of_a_mail_come_by_one_login_also_when_the_connection_went_away(
    imap: ScriptedImap,
) -> None:
    imap.mails = [(1, b"x")]
    imap.sections = {(1, "2"): b"one", (1, "3"): b"two"}
    adapter = make_adapter(scripted_settings(imap))
    assert [await fetched(adapter, EVENT, lying(1, part)) for part in "23"] == [b"one", b"two"]
    assert imap.logins == 1
    imap.cut()
    assert await fetched(adapter, EVENT, lying(1)) == b"one"
    assert imap.logins == 2
    await adapter.aclose()
    await imap.wait_for(lambda: len(imap.asked("LOGOUT")) == 1)


async def test_a_connection_that_breaks_within_a_file_is_asked_for_later(imap: ScriptedImap) -> None:
    imap.mails = [(1, b"x")]
    imap.sections[1, "2"] = BIG
    imap.cut_after = 2
    adapter = make_adapter(scripted_settings(imap))
    with pytest.raises(Unreachable):
        await fetched(adapter, EVENT, lying(1))
    assert await fetched(adapter, EVENT, lying(1)) == BIG
    # who wants no more of it frees the connection
    pieces = adapter.fetch(EVENT, lying(1))
    async for _ in pieces:
        break
    await pieces.aclose()  # type: ignore[attr-defined]
    imap.fetch = "refused"
    with pytest.raises(NotTaken):
        await fetched(adapter, EVENT, lying(1))
    await imap.stop()
    with pytest.raises(Unreachable):
        await fetched(adapter, EVENT, lying(1))
    await adapter.aclose()


async def test_a_deadly_mail_is_put_aside_and_the_next_one_is_read(
    imap: ScriptedImap, tmp_path: Path
) -> None:
    desk = Watcher()
    imap.mails = [(1, mail("<b>deadly</b>")), (2, mail("next"))]
    (tmp_path / "reading.json").write_text(json.dumps({"100:1": 3}))
    async with running(make_adapter(scripted_settings(imap, first_start="all"), folder=tmp_path), desk):
        await desk.until(lambda: len(desk.events) == 1)
    assert desk.events[0].text.endswith("next")
    assert ["ended the process 3 times" in u.error for u in desk.unparsable] == [True]
    assert "deadly" in desk.unparsable[0].raw


# --- out ---------------------------------------------------------------------------------------------


async def test_an_answer_and_all_its_files_are_one_mail_and_one_copy(
    dovecot: Dovecot, post: Post, tmp_path: Path
) -> None:
    adapter = post.adapter(folder=tmp_path)
    assert isinstance(adapter, FileAdapter)
    assert isinstance(adapter, BundlingAdapter)
    files = [
        (keep(tmp_path, "Bericht für März, “fertig”.pdf", BIG, "application/pdf"), "the **report**"),
        (keep(tmp_path, "empty.txt", b"", "text/plain"), ""),
        (keep(tmp_path, "old.eml", b".\r\n..\r\n", "message/rfc822"), ""),
    ]
    (piece,) = adapter.render_reply("Here they are.", files, ANA)
    stored = Piece(piece.text, json.loads(json.dumps(piece.format)), piece.file, piece.more)
    receipt = await adapter.send(ANA, stored, key="k")
    (sent,) = post.smtp.sent
    assert sent.files == [
        ("Bericht für März, “fertig”.pdf", "application/pdf", BIG),
        ("empty.txt", "text/plain", b""),
        ("old.eml", "application/octet-stream", b".\r\n..\r\n"),
    ]
    assert sent.text.startswith("Here they are.\n\n")
    assert "the report" in sent.text
    assert "<strong>report</strong>" in sent.html
    assert sent.mail["Message-ID"] == f"<{receipt.message_id}>"
    box = await asyncio.to_thread(dovecot.inbox, post.address)
    async with asyncio.timeout(25):
        while not (copies := await asyncio.to_thread(box.mails, "Sent")):
            pass  # it is filed behind the answer, over a connection of its own
    await asyncio.to_thread(box.close)
    await adapter.aclose()
    (copy,) = copies
    assert copy["Message-ID"] == sent.mail["Message-ID"]
    filed = [p.get_payload(decode=True) for p in copy.iter_attachments()]
    assert filed == [content for _, _, content in sent.files]


async def test_a_file_alone_is_a_mail_and_again_it_is_marked_under_its_name(
    post: Post, tmp_path: Path
) -> None:
    adapter = post.adapter(folder=tmp_path, sent_folder="off")
    file = keep(tmp_path, "a.png", BIG[:1000], "image/png")
    (piece,) = adapter.render_file(file, "", ANA)
    post.smtp.faults.add("DATA", Fault("lost"))
    with pytest.raises(OutcomeUnknown):
        await adapter.send(ANA, piece, key="k")
    await adapter.send(ANA, piece, key="k", again=True)
    assert {str(m.mail["Message-ID"]) for m in post.smtp.sent} == {str(post.smtp.sent[0].mail["Message-ID"])}
    assert [m.text.strip() for m in post.smtp.sent] == ["", AGAIN.strip()]
    assert [m.files for m in post.smtp.sent] == [[("a.png", "image/png", BIG[:1000])]] * 2
    assert post.smtp.sent[0].mail["Subject"] == "a.png"
    await adapter.aclose()


async def test_a_connection_that_breaks_within_a_mail_has_sent_nothing(post: Post, tmp_path: Path) -> None:
    adapter = post.adapter(folder=tmp_path, sent_folder="off")
    (piece,) = adapter.render_file(keep(tmp_path, "a.bin", BIG), "words", ANA)
    post.smtp.cut_within = 300_000
    with pytest.raises(NotTaken) as broken:
        await adapter.send(ANA, piece, key="k")
    assert broken.value.retry_after is not None
    assert post.smtp.sent == []
    await adapter.send(ANA, piece, key="k")
    assert [m.files[0][2] for m in post.smtp.sent] == [BIG]
    await adapter.aclose()


async def test_a_mail_over_the_servers_limit_is_refused_before_it_is_sent_and_the_limit_is_remembered(
    post: Post, tmp_path: Path
) -> None:
    post.smtp.largest = 1_000_000
    adapter = post.adapter(folder=tmp_path, sent_folder="off", largest_mail="10MB")
    files = [(keep(tmp_path, f"{n}.bin", BIG[n : n + 400_000]), "") for n in range(4)]
    assert adapter.largest_file > 7_000_000
    (piece,) = adapter.render_reply("all", files, ANA)
    with pytest.raises(Rejected, match="1 MB"):
        await adapter.send(ANA, piece, key="k")
    assert adapter.largest_file < 1_000_000
    pieces = adapter.render_reply("all", files, ANA)
    for number, one in enumerate(pieces):
        await adapter.send(ANA, one, key=f"k{number}")
    assert [[name for name, _, _ in m.files] for m in post.smtp.sent] == [
        ["0.bin"],
        ["1.bin"],
        ["2.bin"],
        ["3.bin"],
    ]
    (fits,) = adapter.render_file(keep(tmp_path, "fits.bin", bytes(adapter.largest_file)), "", ANA)
    await adapter.send(ANA, fits, key="fits")
    assert post.smtp.refused == []
    await adapter.aclose()


async def test_a_file_that_is_gone_or_changed_sends_no_mail(post: Post, tmp_path: Path) -> None:
    adapter = post.adapter(folder=tmp_path, sent_folder="off")
    file = keep(tmp_path, "a.bin", BIG)
    (piece,) = adapter.render_file(file, "words", ANA)
    (tmp_path / file.digest).write_bytes(BIG + b"x")
    with pytest.raises(Rejected, match=r"a\.bin"):
        await adapter.send(ANA, piece, key="k")
    (tmp_path / file.digest).unlink()
    with pytest.raises(Rejected, match=r"a\.bin"):
        await adapter.send(ANA, piece, key="k")
    assert post.smtp.connections == 0
    await adapter.aclose()
