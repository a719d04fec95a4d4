"""Files that go out by mail: how they are shared out over mails, named and coded."""

import asyncio
import re
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.email.content import Content, wrapped
from adapters.email.head import Answers
from adapters.email.render import compose, largest_file, render_reply
from hermes.adapter import Piece
from hermes.errors import Rejected
from hermes.events import Target
from hermes.files import StoredFile

ANA = Target("email", "ana@far.test", None, Answers("ana@far.test", "Ana", "Plan", "m1@far.test").to_json())
LIMIT = 1_000_000


def file(name: str = "a.pdf", size: int = 3, mime: str = "application/pdf") -> StoredFile:
    return StoredFile("0" * 64, "document", mime, name, size)


def written(content: Content) -> bytes:
    async def gather() -> bytes:
        return b"".join([piece async for piece in content.pieces()])

    return asyncio.run(gather())


def composed(folder: Path, files: list[tuple[StoredFile, bytes]], text: str = "words") -> bytes:
    (piece,) = render_reply(text, [(f, "") for f, _ in files], ANA, 30_000_000)
    places = {}
    for number, (one, content) in enumerate(files):
        places[one.name] = folder / str(number)
        places[one.name].write_bytes(content)
    mail = compose(ANA, piece, "k", ("Bot", "bot@x.test"), 0.0, again=False)
    mail = replace(mail, content=replace(mail.content, where=lambda file: places[file.name]))
    whole = written(mail.content)
    assert len(whole) == mail.content.size
    assert re.search(rb"\r\n--=_m\.\w+\r\nContent-Type: multipart/alternative;", whole)
    return whole


def parts(raw: bytes) -> list[tuple[str | None, str, bytes]]:
    mail = message_from_bytes(raw, policy=policy.default)
    assert isinstance(mail, EmailMessage)
    assert not mail.defects
    found = []
    for part in mail.iter_attachments():
        assert not part.defects
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        found.append((part.get_filename(), part.get_content_type(), content))
    return found


def names(pieces: list[Piece]) -> list[list[str]]:
    return [[f.name for f in (p.file, *p.more) if f is not None] for p in pieces]


def test_text_and_files_are_one_mail_in_the_thread() -> None:
    pieces = list(
        render_reply(
            "**All** of it", [(file("a"), "the first"), (file("b"), ""), (file("c"), "last")], ANA, LIMIT
        )
    )
    assert names(pieces) == [["a", "b", "c"]]
    assert pieces[0].text == "All of it\n\na: the first\n\nc: last"
    assert (pieces[0].format["answers"], pieces[0].format["subject"]) == ("m1@far.test", "Re: Plan")
    assert list(render_reply("", [(file("a"), "the first")], ANA, LIMIT))[0].text == "the first"  # noqa: RUF015
    fresh = Target("email", "ana@far.test")
    assert [p.format["subject"] for p in render_reply(" ", [(file("a"), "")], fresh, LIMIT)] == ["a"]
    assert [p.format["subject"] for p in render_reply("See", [(file("a"), "")], fresh, LIMIT)] == ["See"]


def test_what_is_too_much_for_one_mail_goes_on_in_the_next_in_order() -> None:
    big = largest_file(LIMIT)
    files = [(file("a", 200_000), ""), (file("b", 400_000), ""), (file("c", big), ""), (file("d", 0), "")]
    pieces = list(render_reply("words", files, ANA, LIMIT))
    assert names(pieces) == [["a", "b"], ["c"], ["d"]] or names(pieces) == [["a", "b"], ["c", "d"]]
    assert [p.text for p in pieces[1:]] == [", ".join(n) for n in names(pieces)[1:]]
    long = list(render_reply("word " * 150_000, [(file("c", big), "")], ANA, LIMIT))
    assert names(long) == [[], ["c"]]
    assert names(list(render_reply("x", [(file("c", big), "")], ANA, LIMIT))) in ([["c"]], [[], ["c"]])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 56, 57, 58, 114, 58_367, 58_368, 58_369, 150_000])
def test_files_of_any_size_arrive_as_they_are(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    raw = composed(tmp_path, [(file(size=size), content[:size])])
    assert parts(raw) == [("a.pdf", "application/pdf", content[:size])]
    assert max(map(len, raw.split(b"\r\n"))) <= 998


@given(st.text(min_size=1, max_size=220))
@example("漢" * 200)
@settings(max_examples=100)
def test_any_name_arrives_and_begins_no_other_header(name: str) -> None:
    mail = compose(ANA, Piece("x", {}, file(name)), "k", ("Bot", "b@x.test"), 0.0, again=False)
    head = mail.content.blocks[1]
    assert isinstance(head, bytes)
    assert max(map(len, head.split(b"\r\n"))) <= 200
    part = message_from_bytes(head.split(b"\r\n", 2)[2], policy=policy.default)
    assert set(map(str.lower, part.keys())) == {
        "content-type",
        "content-transfer-encoding",
        "content-disposition",
    }
    shown = " ".join(re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+", " ", name).split())
    wanted = shown if len(shown) <= 200 else shown[:199].rstrip() + "…"
    assert part.get_filename() == (wanted or "file")


@pytest.mark.parametrize(
    ("mime", "wanted"),
    [
        ("image/svg+xml", "image/svg+xml"),
        ("message/rfc822", "application/octet-stream"),
        ("multipart/mixed", "application/octet-stream"),
        ("text/plain; charset=utf-8", "application/octet-stream"),
        ("x\r\nBcc: a@b.test", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_a_file_is_said_to_be_what_it_may_be(tmp_path: Path, mime: str, wanted: str) -> None:
    assert [kind for _, kind, _ in parts(composed(tmp_path, [(file(mime=mime), b"abc")]))] == [wanted]


def test_a_text_that_looks_like_the_end_of_a_mail_is_none(tmp_path: Path) -> None:
    raw = composed(tmp_path, [(file(), b"abc")], text=".\n\n--=_m.0\n\n.")
    assert len(parts(raw)) == 1
    assert wrapped(b".\r\n..\r\na.\r\n") == b"..\r\n...\r\na.\r\n"
    assert raw == composed(tmp_path, [(file(), b"abc")], text=".\n\n--=_m.0\n\n.")


def test_a_file_that_changes_while_it_is_read_ends_the_mail(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for now in (b"", b"shorter", b"as it was, and more"):
        path.write_bytes(now)
        content = Content((file("x.bin", len(b"as it was")),), lambda _: path)
        with pytest.raises(Rejected, match=r"x\.bin"):
            content.check()
        with pytest.raises(Rejected, match=r"x\.bin"):
            written(content)
