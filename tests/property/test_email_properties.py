"""What holds for any bytes that come by mail, and for any answer that goes out."""

import re
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml.html import fragment_fromstring

from adapters.email.addresses import canonical, single_address
from adapters.email.head import Answers, Reading, Seen, own_addresses
from adapters.email.headers import decoded
from adapters.email.hypertext import text_of_html
from adapters.email.parse import parse_mail
from adapters.email.places import FilePlace
from adapters.email.quoting import cut
from adapters.email.render import compose, render
from adapters.email.tnef import read_tnef
from adapters.email.transfer import decoder
from adapters.email.trust import is_genuine
from adapters.markdown.html import html
from adapters.markdown.plain import plain
from hermes.events import Event, Target, Unparsable, event_from_json, event_to_json
from tests.growth import assert_linear
from tests.property.test_markdown_properties import markdown_texts
from tests.unit.test_email_files import winmail

READING = Reading("email", "bot@x.test", own_addresses("bot@x.test", ()), authserv_id="mx.own.test")
PARTS = [
    b"From: a@b.test\r\n", b'From: "x" <a@b.test>\r\n', b"Subject: =?utf-8?B?w4TDl?=\r\n", b"Subject: \xff\xfe\r\n",
    b"Content-Type: multipart/mixed; boundary=b\r\n", b'Content-Type: multipart/alternative; boundary=""\r\n',
    b"Content-Type: text/plain; charset*0=utf; charset*1=-8\r\n", b"Content-Type: text/html\r\n", b"Content-Type: ;;=\r\n",
    b"Content-Type: message/rfc822\r\n", b"Content-Type: message/delivery-status\r\n", b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Transfer-Encoding: x-uuencode\r\n", b"Content-Transfer-Encoding: quoted-printable\r\n", b"\r\n", b"\n", b"--b\r\n",
    b"--b--\r\n", b"Content-Disposition: attachment; filename*0*=x''%ff; filename*1=a\r\n", b"Message-ID: <>\r\n",
    b"Message-ID: <a@b>\r\n", b"References: <a> <b@c> x\r\n", b"Date: never\r\n", b"begin 644 x\r\n", b"<p>hi</p>", b"hi\r\n",
    b"Authentication-Results: mx.own.test; dmarc=pass header.from=b.test\r\n", b" folded\r\n", b"\0", b"=?x?",
    b"> q\r\n", b"-- \r\n",
]  # fmt: skip
mails = st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(PARTS), max_size=25).map(b"".join))


@given(mails, st.sampled_from([0, 1000]))
@settings(max_examples=200)
def test_any_bytes_become_one_item_that_can_be_stored(raw: bytes, more: int) -> None:
    found = parse_mail(Seen(raw, len(raw) + more, {2: b"Content-Type: image/png", 3: raw}), None, READING)
    if isinstance(found, Unparsable):
        assert found.error == "ValueError: the mail has no single usable From address"
    if isinstance(found, Event):
        assert event_from_json(event_to_json(found)) == found
        found.text.encode()
        assert found.text.strip() or found.unsupported or found.attachments
        assert all(FilePlace.from_text(a.ref) for a in found.attachments)
        assert canonical(found.chat) == found.chat


def test_the_mails_that_broke_other_readers_do_not_break_this_one() -> None:
    spec = find_spec("test.test_email")
    folder = Path(spec.origin).parent / "data" if spec and spec.origin else None
    for path in sorted(folder.glob("msg_*.txt")) if folder else []:
        raw = path.read_bytes()
        for cut_at in (len(raw), len(raw) // 2, len(raw) // 3):
            found = parse_mail(Seen(raw[:cut_at], len(raw)), 1.0, READING)
            assert not isinstance(found, Unparsable) or found.error.endswith("From address"), path.name
            said = parse_mail(Seen(b"From: a@b.test\n" + _anonymous(raw[:cut_at]), len(raw)), 1.0, READING)
            assert not isinstance(said, Unparsable), path.name
            if isinstance(said, Event):
                assert said.text.strip() or said.unsupported or said.attachments, path.name


def _anonymous(raw: bytes) -> bytes:
    """The mail without the lines that say who wrote it, so that it can be somebody's."""
    lines = raw.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.lower().startswith((b"from", b"return-path:")))


# The rest of a mail of n parts, and how many are less than a megabyte.
SLOW: dict[str, tuple[Callable[[int], bytes], int]] = {
    "said by somebody in brackets": (
        lambda n: b"\r\nhi\r\nx" + b"<" * n + b"@" * n + b">" * n + b"y\r\n> q\r\n",
        199,
    ),
    "words that never end": (lambda n: b"Subject: " + b"=?a?q?" * n + b"\r\n\r\nhi", 100_000),
    "words that never end, folded": (
        lambda n: b"Subject: x" + b"\r\n =?a?q?" * n + b"\r\n\r\nhi",
        50_000,
    ),
    "a parameter of semicolons": (
        lambda n: b'Content-Type: text/plain; a="' + b";" * n + b"\r\n\r\nhi",
        200_000,
    ),
    "parameters": (lambda n: b"Content-Type: text/plain" + b"; a=b" * n + b"\r\n\r\nhi", 100_000),
    "comments in comments": (
        lambda n: b"Auto-Submitted: " + b"(" * n + b")" * n + b"\r\n\r\nhi",
        200_000,
    ),
}


@pytest.mark.parametrize("kind", SLOW)
def test_no_mail_of_less_than_a_megabyte_keeps_the_process_busy(kind: str) -> None:
    rest, size = SLOW[kind]
    assert_linear(lambda n: parse_mail(Seen(b"From: a@b.test\r\n" + rest(n), 0), None, READING), size)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6), st.integers(0, 10_000))
@settings(max_examples=150)
def test_a_parcel_of_any_bytes_is_read_as_far_as_it_goes(changes: list[tuple[int, int]], end: int) -> None:
    parcel = bytearray(winmail(("a.txt", b"hello"), ("b.txt", b"x" * 50), body="said"))
    for at, byte in changes:
        parcel[6 + at % (len(parcel) - 6)] = byte
    found = read_tnef(bytes(parcel[: max(6, end % (len(parcel) * 2))]))
    assert found is not None
    assert sum(len(file.content) for file in found.files) <= len(parcel)


@given(
    st.lists(st.binary(max_size=200), max_size=5),
    st.sampled_from(["base64", "quoted-printable", "x-uuencode"]),
)
def test_a_part_of_any_bytes_is_decoded_the_same_in_whatever_pieces(pieces: list[bytes], coding: str) -> None:
    one, many = decoder(coding), decoder(coding)
    whole = one.feed(b"".join(pieces)) + one.finish()
    assert b"".join([*map(many.feed, pieces), many.finish()]) == whole


@given(st.text(max_size=100))
@example('"a" <b@c.test>')
def test_an_address_is_one_or_none(value: str) -> None:
    found = single_address(value)
    if found is not None:
        assert canonical(found[0]) == found[0]
        assert found[0].isascii()
        assert found[0].rpartition("@")[0].lower() in value.lower()
    decoded(value).encode("utf-8", "surrogatepass")


@given(st.text(max_size=200))
def test_only_a_field_of_our_server_can_say_that_a_mail_is_genuine(field: str) -> None:
    if not field.lstrip().lower().startswith("mx.own.test") and "(" not in field and '"' not in field:
        assert not is_genuine([field], "mx.own.test", "b.test")


@given(
    st.lists(
        st.sampled_from(["> q", "text", "", "-- ", "On Mon, Bot wrote:", "From: a", "Sent: b", "--", "---"]),
        max_size=12,
    )
)
def test_a_cut_drops_no_line_silently(lines: list[str]) -> None:
    found = [line.strip() for part in cut("\n".join(lines)) for line in part.split("\n")]
    assert sorted(filter(None, found)) == sorted(filter(None, map(str.strip, lines)))


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<b",
                ">",
                "<!--",
                "-->",
                "&#0;",
                "<td>",
                "x",
                "<table>",
                "<br>",
                "style='display:none'",
                "<svg>",
                "\0",
            ]
        ),
        max_size=20,
    ).map("".join)
)
def test_any_html_gives_text(source: str) -> None:
    text_of_html(source, keep_quotes=False).encode("utf-8", "surrogatepass")


@given(markdown_texts, st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=60)
def test_any_answer_is_a_sound_mail_that_says_it(markdown: str, subject: str, name: str) -> None:
    target = Target("email", "a@b.test", None, Answers("a@b.test", name, subject, "m@x").to_json())
    for piece in render(markdown, target):
        envelope = compose(target, piece, "k", ("Bot", "bot@x.test"), 0.0, again=False)
        (content,) = envelope.content.blocks
        assert isinstance(content, bytes)
        assert content.isascii()
        assert max(map(len, content.split(b"\r\n"))) <= 998
        assert not re.search(rb"(?<!\r)\n|\r(?!\n)", content)
        mail = message_from_bytes(content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        assert len(mail.get_all("To") or []) == len(mail.get_all("Subject") or []) == 1
        part = mail.get_body(("plain",))
        assert part is not None
        assert "".join(str(part.get_content()).split()) == "".join(piece.text.split())


def shown(fragment: str) -> str:
    return "".join("".join(fragment_fromstring(fragment, create_parent="div").itertext()).split())


@given(markdown_texts)
@settings(max_examples=60)
def test_html_shows_the_words_of_the_text_and_holds_no_foreign_tag(markdown: str) -> None:
    fragment = html(markdown)
    tags = {tag.lower() for tag in re.findall(r"<([a-zA-Z0-9]+)", fragment)}
    known = "p h1 h2 h3 h4 h5 h6 hr pre blockquote ul ol li table tr th td code strong em s span a br"
    assert tags <= set(known.split())
    words = set(re.findall(r"[a-z]{3,}", plain(markdown)))
    assert {w for w in words if w in shown(fragment)} >= {
        w for w in words if w in ("word", "some", "more", "words")
    }
