"""What of a mail is read at all: of its head, of the heads of its parts, and of its HTML."""

import base64

import pytest

from adapters.email.head import Head, Reading, Seen, brief, own_addresses, read_head
from adapters.email.parse import parse_mail
from adapters.email.reader import read_mail
from adapters.email.slim import bounded, parted
from hermes.events import Event, Unparsable

READING = Reading("email", "bot@x.test", own_addresses("bot@x.test", ()), trust_from=True)
TOP = b"From: ana@far.test\r\nSubject: s\r\n"
MANY = b"X-A: b\r\n" * 100_000


def seen(raw: bytes) -> Seen:
    return Seen(raw, len(raw))


def test_of_a_long_head_the_beginning_is_read_and_the_text_stays() -> None:
    raw = TOP + MANY + b"\r\nhello"
    top, rest = parted(raw)
    assert (top.count(b"\n"), bytes(rest)) == (5_999, b"\r\n\r\nhello")
    found = parse_mail(seen(raw), None, READING)
    assert isinstance(found, Event)
    assert found.text.endswith("hello")
    assert bounded(TOP + b"\r\nhello") == TOP + b"\r\nhello"
    long = TOP + b"X-A: " + b"b" * 1_000_000 + b"\r\nX-B: c\r\n\r\nhello"
    assert len(parted(long)[0]) < 300_000


@pytest.mark.parametrize("second", [b"From: eve@far.test\r\n", b"FROM: eve@far.test,\r\n jo@far.test\r\n"])
def test_who_wrote_does_not_hang_on_where_a_head_is_cut(second: bytes) -> None:
    assert isinstance(read_head(seen(TOP + MANY + second + b"\r\nhi"), None, READING), Unparsable)
    late = b"Subject: s\r\n" + MANY + b"From: ana@far.test\r\n" + MANY + b"\r\nhi"
    found = read_head(seen(late), None, READING)
    assert isinstance(found, Head)
    assert found.event.sender.id == "ana@far.test"
    # a field that lies where the cut is stays whole, and one that is longer than any names nobody
    before = b"X: " + b"a" * 262_000 + b"\r\n"
    folded = b"From: ana@far.test" + b",\r\n  jo@far.test" * 20 + b"\r\n"
    assert isinstance(read_head(seen(before + folded + b"\r\nhi"), None, READING), Unparsable)
    assert isinstance(read_head(seen(b"From: " + b"a " * 9_000 + TOP + b"\r\nhi"), None, READING), Unparsable)


@pytest.mark.parametrize("styles", [60_000, 75_000])
def test_a_strangers_code_is_found_behind_what_his_program_writes_before_it(styles: int) -> None:
    page = f"<style>{'a' * styles}</style><p>/link CODE</p>" + "<p>word</p>" * 20_000
    coded = base64.encodebytes(page.encode()).replace(b"\n", b"\r\n")
    raw = TOP + b"Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n\r\n\n" + coded
    short = brief(seen(raw))
    assert len(short.raw) < 132_000 < len(raw)
    found = parse_mail(short, None, READING)
    assert isinstance(found, Event)
    assert found.text.startswith("/link CODE\n")
    small = seen(TOP + b"\r\n/link CODE")
    assert brief(small) == small


def test_the_heads_of_all_parts_have_one_bound() -> None:
    part = b"--b\r\nContent-Type: text/plain\r\n" + MANY[:8_000] + b"\r\nhello\r\n"
    raw = TOP + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + part * 50 + b"--b--\r\n"
    assert sum(len(found) for found in read_mail(raw).walk()) == 20_000
    found = parse_mail(seen(raw), None, READING)
    assert isinstance(found, Event)
    assert found.text.count("hello") == 50


def test_the_html_of_all_parts_has_one_bound() -> None:
    pages = [f"<p>{'word ' * 100_000}<p>page {n}<img src='cid:p{n}'>".encode() for n in range(3)]
    parts = b"".join(b"--b\r\nContent-Type: text/html\r\n\r\n" + page + b"\r\n" for page in pages)
    picture = (
        b"--b\r\nContent-Type: image/png\r\nContent-ID: <p>\r\nContent-Disposition: inline\r\n\r\n"
        + b"x" * 9_000
        + b"\r\n"
    )
    parts += b"".join(picture.replace(b"<p>", b"<p%d>" % n) for n in range(3))
    raw = TOP + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + parts + b"--b--\r\n"
    found = parse_mail(seen(raw), None, READING)
    assert isinstance(found, Event)
    assert [f"page {n}" in found.text for n in range(3)] == [True, False, False]
    assert "I only see the beginning" in found.text
    assert len(found.attachments) == 1
