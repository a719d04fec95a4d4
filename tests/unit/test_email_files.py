"""The files of a mail: where they lie, what they are called, how big they are, and which of them say something."""

import base64
import binascii
import struct

import pytest

from adapters.email.body import mail_text
from adapters.email.head import Reading, Seen, own_addresses
from adapters.email.outline import completed
from adapters.email.parse import parse_mail
from adapters.email.places import FilePlace, MailPlace
from adapters.email.tnef import read_tnef
from adapters.email.transfer import decoder, uu_blocks
from hermes.events import Attachment, Event, event_from_json, event_to_json
from hermes.files import in_words
from tests.integration.mail_desk import mail

READING = Reading("email", "bot@x.test", own_addresses("bot@x.test", ()))
HERE = MailPlace(7, 42, 1000)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20


def event(raw: bytes, size: int = 0, headers: dict[int, bytes] | None = None) -> Event:
    found = parse_mail(Seen(raw, size or len(raw), headers or {}), 1000.0, READING, HERE)
    assert isinstance(found, Event), found
    assert event_from_json(event_to_json(found)) == found
    return found


def place(file: Attachment) -> FilePlace:
    found = FilePlace.from_text(file.ref)
    assert found is not None
    return found


def part(content: bytes, kind: str, *headers: str) -> bytes:
    lines = [f"Content-Type: {kind}", "Content-Transfer-Encoding: base64", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + base64.encodebytes(content).replace(b"\n", b"\r\n")


def text(words: str, kind: str = "text/plain") -> bytes:
    return f"Content-Type: {kind}; charset=utf-8\r\n\r\n{words}\r\n".encode()


def several(kind: str, mark: str, *each: bytes) -> bytes:
    body = b"".join(f"--{mark}\r\n".encode() + one + b"\r\n" for one in each)
    return (
        f'Content-Type: multipart/{kind}; boundary="{mark}"\r\n\r\n'.encode()
        + body
        + f"--{mark}--\r\n".encode()
    )


def sent(body: bytes, **headers: str) -> bytes:
    fields = {"Subject": "Re: x", "In-Reply-To": "<m0@x.test>", "Message-ID": "<m1@far.test>", **headers}
    return mail("", Content_Type="", **fields).removesuffix(b"\r\n\r\n") + body


@pytest.mark.parametrize(
    ("coding", "content", "size"),
    [
        ("8bit", "Grüße".encode(), 7),
        ("", b"x=y", 3),
        ("quoted-printable", b"Gr=C3=BC=C3=9Fe", None),
        ("x-uuencode", b"begin 644 a\r\n#86)C\r\n`\r\nend", None),
        ("base64", b"QUJD\r\nRA==\r\n\r\n", 4),
        ("base64", b"QUJDRA==\r\n_____\r\nthe list's own lines\r\n", None),
    ],
)
def test_a_size_is_that_of_the_file_or_none(coding: str, content: bytes, size: int | None) -> None:
    head = (
        f"Content-Type: text/plain; charset=utf-8; name=a.txt\r\nContent-Transfer-Encoding: {coding}\r\n\r\n"
    )
    (file,) = event(sent(several("mixed", "o", text("words"), head.encode() + content))).attachments
    assert (file.name, file.size) == ("a.txt", size)


# --- where they lie ----------------------------------------------------------------------------------


def test_each_file_says_where_it_lies_and_how_it_is_coded() -> None:
    inner = several(
        "alternative", "i", text("words"), several("related", "r", text("<p>words</p>", "text/html"))
    )
    body = several(
        "mixed",
        "o",
        inner,
        part(b"one", "application/pdf; name=a.pdf"),
        text("more"),
        part(PNG, "image/png; name=b.png"),
    )
    found = event(sent(body))
    assert found.text == "words\n\nmore"
    assert [(f.kind, f.name, f.mime, f.size) for f in found.attachments] == [
        ("document", "a.pdf", "application/pdf", 3),
        ("image", "b.png", "image/png", len(PNG)),
    ]
    mail_place = MailPlace(7, 42, 1000, "m1@far.test")
    assert [place(f) for f in found.attachments] == [
        FilePlace(mail_place, "2", "base64"),
        FilePlace(mail_place, "4", "base64"),
    ]


def test_a_mail_that_is_one_file_has_it_in_its_first_part() -> None:
    found = event(sent(part(PNG, "image/png; name=x.png")))
    assert [place(f).part for f in found.attachments] == ["1"]


@pytest.mark.parametrize(
    "ref", ["", "x", "[]", "{}", '{"part":"0"}', '{"part":"1 (X)"}', '{"part":"1","x":1}']
)
def test_what_is_no_place_is_none(ref: str) -> None:
    assert FilePlace.from_text(ref) is None


def test_a_place_comes_back_as_it_was() -> None:
    for given in (
        FilePlace(MailPlace(), "1"),
        FilePlace(MailPlace(1, 2, 3, 'a"b\\c@x'), "1.2.3", "base64", "uu:4"),
    ):
        assert FilePlace.from_text(given.to_text()) == given


def test_EM_26_of_a_huge_mail_the_files_are_known_that_its_beginning_does_not_show() -> None:
    first, second = part(PNG * 20, "application/pdf; name=a.pdf"), part(PNG, "image/png; name=b.png")
    inner = several("mixed", "i", part(PNG, "text/csv; name=c.csv"))
    whole = sent(several("mixed", "o", text("words"), first, second, inner))
    headers = {n: p.partition(b"\r\n\r\n")[0] for n, p in enumerate([text(""), first, second, inner], 1)}
    for end in (whole.find(b"name=a.pdf") + 200, whole.find(b"\r\n--o", whole.find(b"name=a.pdf")) + 3):
        found = event(whole[:end], len(whole), {**headers, 9: b""})
        assert [(f.name, place(f).part, f.size) for f in found.attachments] == [
            ("a.pdf", "2", None),
            ("b.png", "3", None),
        ]
        assert found.text.startswith(f"words\n\n(This mail has {in_words(len(whole))};")
    assert completed(b"Content-Type: text/plain\r\n\r\nx", headers) == b"Content-Type: text/plain\r\n\r\nx"
    assert completed(b"", headers) == b""


# --- mails in mails ----------------------------------------------------------------------------------


def test_a_mail_in_a_mail_is_a_file_and_so_are_its_files() -> None:
    inside = sent(
        several("mixed", "n", text("> asked\n-- \nJo"), part(b"two", "application/pdf; name=c.pdf")),
        Subject="The old/one",
    )
    single = sent(part(b"three", "text/csv; name=d.csv"), Subject="Only a file")
    found = event(
        sent(
            several(
                "mixed",
                "o",
                text("look at these"),
                b"Content-Type: message/rfc822\r\n\r\n" + inside,
                b"Content-Type: message/rfc822\r\n\r\n" + single,
            )
        )
    )
    assert found.text == "look at these"
    assert [(f.name, f.mime, place(f).part, place(f).inner) for f in found.attachments] == [
        ("The old_one.eml", "text/plain", "2", "mail"),
        ("c.pdf", "application/pdf", "2.2", ""),
        ("Only a file.eml", "text/plain", "3", "mail"),
        ("d.csv", "text/csv", "3.1", ""),
    ]
    said = mail_text(inside)
    assert said.startswith("From: Ana <ana@far.test>\nTo: bot@test.local\nDate: ")
    assert said.endswith("Subject: The old/one\n\n> asked\n-- \nJo")
    assert mail_text(single).endswith("Subject: Only a file")
    assert mail_text(b"") == ""


def test_mails_in_mails_end_somewhere() -> None:
    raw = sent(text("the innermost"))
    for depth in range(60):
        raw = sent(
            several("mixed", f"o{depth}.", text("around it"), b"Content-Type: message/rfc822\r\n\r\n" + raw)
        )
    found = event(raw)
    assert found.text == "around it"
    assert 5 <= len(found.attachments) <= 20
    wide = sent(several("mixed", "o", *[b"Content-Type: message/rfc822\r\n\r\n" + sent(text("x"))] * 300))
    assert len(event(wide).attachments) <= 201


# --- pictures in the text ----------------------------------------------------------------------------


def shown(html: str, *pictures: bytes, subject: str = "Re: x", plain: str = "words") -> list[str]:
    rich = several("related", "r", text(html, "text/html"), *pictures)
    body = several("alternative", "a", text(plain), rich)
    return [f.name for f in event(sent(body, Subject=subject)).attachments]


def picture(cid: str, content: bytes = PNG, disposition: str = "inline") -> bytes:
    return part(
        content,
        f"image/png; name={cid}.png",
        f"Content-ID: <{cid}@x>",
        f"Content-Disposition: {disposition}; filename={cid}.png",
    )


def test_a_picture_in_the_text_is_a_file_also_where_plain_text_stands_beside_it() -> None:
    assert shown('<p>see</p><img src="cid:one@x">', picture("one")) == ["one.png"]
    assert shown("<p>see</p><img src='cid:a%40b@x'>", picture("a@b")) == ["a@b.png"]


def test_what_decorates_and_what_is_quoted_is_left_out() -> None:
    html = '<p>new</p><img src="cid:one@x"><img src="cid:dot@x"><blockquote type=cite><img src="cid:old@x"></blockquote>'
    all_of_them = (picture("one"), picture("dot", b"\x89PNG"), picture("old"))
    assert shown(html, *all_of_them) == ["one.png"]
    assert shown(html, *all_of_them, subject="Fwd: x") == ["one.png", "old.png"]
    assert shown(html, picture("old", disposition="attachment")) == ["old.png"]
    below = '<blockquote type=cite><img src="cid:old@x"></blockquote><p>new</p><img src="cid:one@x">'
    assert "one.png" in shown(below, picture("one"))


def test_pictures_without_html_are_files() -> None:
    body = several("mixed", "o", text("see"), picture("one"))
    assert [f.name for f in event(sent(body)).attachments] == ["one.png"]


# --- containers --------------------------------------------------------------------------------------


def uuencoded(name: str, content: bytes) -> str:
    lines = [binascii.b2a_uu(content[i : i + 45]).decode() for i in range(0, len(content), 45)]
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n"


def test_files_in_a_text_as_they_were_sent_before_mime() -> None:
    words = f"before\n{uuencoded('a b.gif', PNG)}between\n{uuencoded('c.txt', b'hello')}after"
    found = event(sent(text(words.replace("\n", "\r\n"))))
    assert found.text.split() == ["before", "between", "after"]
    assert [(f.name, f.size, place(f).part, place(f).inner) for f in found.attachments] == [
        ("a b.gif", len(PNG), "1", "uu:0"),
        ("c.txt", 5, "1", "uu:1"),
    ]
    assert [block.content() for block in uu_blocks(words.encode())] == [PNG, b"hello"]
    prose = "begin 644 times\nand never end\nend"
    assert event(sent(text(prose))).attachments == ()


def attribute(level: int, name: int, value: bytes) -> bytes:
    return struct.pack("<BII", level, name, len(value)) + value + struct.pack("<H", sum(value) & 0xFFFF)


def prop(kind: int, name: int, value: bytes) -> bytes:
    return struct.pack("<HHII", kind, name, 1, len(value)) + value + b"\0" * (-len(value) % 4)


def winmail(*files: tuple[str, bytes], body: str = "") -> bytes:
    out = struct.pack("<IH", 0x223E9F78, 1) + attribute(1, 0x00069007, struct.pack("<II", 1252, 0))
    if body:
        out += attribute(1, 0x0002800C, body.encode("cp1252") + b"\0")
    for name, content in files:
        properties = struct.pack("<I", 3) + struct.pack("<HHI", 3, 0x3705, 1)
        properties += prop(0x1F, 0x3707, (name + "\0").encode("utf-16-le")) + prop(
            0x1E, 0x370E, b"text/plain\0"
        )
        out += attribute(2, 0x00069002, bytes(14)) + attribute(2, 0x0006800F, content)
        out += attribute(2, 0x00018010, b"SHORT~1.TXT\0") + attribute(2, 0x00069005, properties)
    return out


def test_EM_27_what_outlook_packs_is_unpacked() -> None:
    packed = winmail(("résumé.txt", b"hello"), ("../b.bin", PNG), body="Caf\u00e9\r\nhere")
    found = event(sent(part(packed, 'application/ms-tnef; name="winmail.dat"')))
    assert found.text == "Café\nhere"
    assert [(f.name, f.mime, f.size, place(f).inner) for f in found.attachments] == [
        ("résumé.txt", "text/plain", 5, "tnef:0"),
        ("b.bin", "text/plain", len(PNG), "tnef:1"),
    ]
    beside = event(sent(several("mixed", "o", text("said"), part(packed, "application/ms-tnef"))))
    assert beside.text == "said"


def test_EM_27_a_parcel_that_is_cut_off_or_broken_is_read_as_far_as_it_goes() -> None:
    packed = winmail(("a.txt", b"hello"), ("b.bin", PNG))
    for end in range(len(packed)):
        found = read_tnef(packed[:end])
        assert found is None or len(found.files) <= 2
    cut = read_tnef(packed[: len(packed) - 300])
    assert cut is not None
    assert [f.size for f in cut.files] == [5, len(PNG)]
    event_of_cut = event(sent(part(packed[:-300], 'application/ms-tnef; name="winmail.dat"')))
    assert [f.name for f in event_of_cut.attachments][-1] == "winmail.dat"
    assert read_tnef(b"\x78\x9f\x3e\x22") is None


# --- sealed ------------------------------------------------------------------------------------------


def test_what_cannot_be_opened_is_said() -> None:
    pgp = several("encrypted", "e", b"Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1", text("xx"))
    assert (event(sent(pgp)).unsupported, event(sent(pgp)).attachments) == ("an encrypted mail", ())
    smime = part(b"xx", "application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m")
    assert event(sent(smime)).unsupported == "a mail in S/MIME form"


def test_what_of_a_mail_is_not_read_is_said() -> None:
    pgp = several("encrypted", "e", b"Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1", text("xx"))
    footer = event(sent(several("mixed", "b", pgp, text("ACME Inc."))))
    assert footer.text.endswith("ACME Inc.\n\n(A part of this is an encrypted mail, which I cannot open.)")
    many = event(sent(several("mixed", "b", *[text(f"part {n}.") for n in range(300)])))
    assert many.text.endswith(
        "part 199.\n\n(This mail has too many parts or levels; I only see some of them.)"
    )
    deep = text("deep")
    for level in range(30):
        deep = several("mixed", f"b{level}", deep)
    assert "too many parts or levels" in event(sent(deep)).text
    assert "too many parts or levels" in mail_text(sent(deep))


@pytest.mark.parametrize(("boundary", "number"), [(None, "1.1"), ("b", "1.1"), ("two", "1.2")])
def test_files_of_a_mail_that_is_a_mail_have_their_places(boundary: str | None, number: str) -> None:
    file = part(b"a,b", "text/csv", "Content-Disposition: attachment; filename=a.csv")
    inner = {None: file, "b": several("mixed", "b", file), "two": several("mixed", "b", text("x"), file)}[
        boundary
    ]
    (found,) = event(sent(b"Content-Type: message/rfc822\r\n\r\nFrom: jo@far.test\r\n" + inner)).attachments
    assert (found.name, place(found).part) == ("a.csv", number)


def test_a_part_without_a_boundary_is_text() -> None:
    assert event(sent(b"Content-Type: multipart/mixed\r\n\r\nall there is")).text == "all there is"


# --- codings -----------------------------------------------------------------------------------------


def decoded(coding: str, data: bytes, size: int) -> bytes:
    reader = decoder(coding)
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join([*map(reader.feed, pieces), reader.finish()])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 57, 10_000])
def test_a_part_is_the_same_in_whatever_pieces_it_comes(size: int) -> None:
    coded = base64.encodebytes(PNG).replace(b"\n", b"\r\n")
    assert decoded("base64", coded, size) == PNG
    assert decoded("BASE64 ", coded.rstrip().rstrip(b"="), size) == PNG
    assert decoded("base64", base64.b64encode(b"data") + b"\r\n-- \r\na list's footer", size) == b"data"
    words = "Zeile mit Überhang, die weiter geht = und mehr\r\n".encode() * 40
    assert decoded("quoted-printable", binascii.b2a_qp(words), size) == words
    assert decoded("x-uuencode", uuencoded("x", PNG).encode(), size) == PNG
    assert decoded("8bit", PNG, size) == decoded("what is this", PNG, size) == PNG


def test_broken_codings_raise_nothing() -> None:
    for coding in ("base64", "quoted-printable", "x-uuencode"):
        for data in (
            b"=",
            b"====",
            b"A",
            b"=AB=\xff\0",
            b"begin 644 x\n\xff\xff\xff\nM\n",
            b"=" * 200_001,
            b"\xff" * 9,
        ):
            decoded(coding, data, 7 if len(data) < 100 else 70_001)
    assert decoded("base64", b"=aGVsbG8=", 100) == b"hello"
    assert decoded("quoted-printable", b"=41" * 100_000, 70_001) == b"A" * 100_000  # no line ever ends
