"""What a file is, by its content."""

import struct
import zlib

import pytest

from hermes.charset import declared_codec
from media.charset import charset_of
from media.kinds import UNKNOWN, kind_of
from media.packages import DOCX, PPTX, XLSX
from tests import documents
from tests.growth import assert_linear, cost


def iso(brand: bytes, *others: bytes, then: bytes = b"") -> bytes:
    brands = brand + b"\0\0\0\0" + b"".join(others)
    return (8 + len(brands)).to_bytes(4, "big") + b"ftyp" + brands + then


def ebml(doctype: bytes, *codecs: bytes) -> bytes:
    head = b"\x1a\x45\xdf\xa3\x9f\x42\x82" + bytes([0x80 | len(doctype)]) + doctype
    return head + b"\x18\x53\x80\x67" + b"".join(b"\x86" + bytes([0x80 | len(c)]) + c for c in codecs)


BMP = b"BM" + struct.pack("<IHHII", 100, 0, 0, 54, 40) + b"\0" * 40


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ("image", "image/png")),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", ("image", "image/jpeg")),
        (b"GIF89a\1\0\1\0", ("image", "image/gif")),
        (b"RIFF\x24\0\0\0WEBPVP8 ", ("image", "image/webp")),
        (b"II*\0\x08\0\0\0", ("image", "image/tiff")),
        (BMP, ("image", "image/bmp")),
        (iso(b"heic", b"mif1", b"heic"), ("image", "image/heic")),
        (iso(b"mif1", b"avif"), ("image", "image/avif")),
        (b"ID3\4\0\0\0\0\0\0", ("audio", "audio/mpeg")),
        (b"\xff\xfb\x90\x64\0\0", ("audio", "audio/mpeg")),
        (b"\xff\xf1\x50\x80", ("audio", "audio/aac")),
        (b"OggS\0\2" + b"\0" * 22 + b"OpusHead", ("audio", "audio/ogg")),
        (b"OggS\0\2" + b"\0" * 22 + b"\x80theora", ("video", "video/ogg")),
        (b"fLaC\0\0\0\x22", ("audio", "audio/flac")),
        (b"RIFF\x24\0\0\0WAVEfmt ", ("audio", "audio/wav")),
        (b"#!AMR\n\x3c", ("audio", "audio/amr")),
        (iso(b"M4A ", b"M4A ", b"mp42"), ("audio", "audio/mp4")),
        (iso(b"isom", then=b"moov....trak....hdlr\0\0\0\0\0\0\0\0soun"), ("audio", "audio/mp4")),
        (iso(b"isom", then=b"hdlr....vide....hdlr....soun"), ("video", "video/mp4")),
        (iso(b"mp42"), ("video", "video/mp4")),
        (iso(b"qt  "), ("video", "video/quicktime")),
        (b"\0\0\0\x08wide\0\1\2\3mdat", ("video", "video/quicktime")),
        (iso(b"3gp5"), ("video", "video/3gpp")),
        (ebml(b"webm", b"V_VP9", b"A_OPUS"), ("video", "video/webm")),
        (ebml(b"webm", b"A_OPUS"), ("audio", "audio/webm")),
        (ebml(b"matroska", b"V_MPEG4/ISO/AVC"), ("video", "video/x-matroska")),
        (b"RIFF\x24\0\0\0AVI LIST", ("video", "video/x-msvideo")),
        (documents.pdf("x"), ("document", "application/pdf")),
        (b"\xef\xbb\xbf\n%PDF-1.4", ("document", "application/pdf")),
        (b"\x80\x81\0\0\1junk\0\0%PDF-1.4\n\xe2\xe3\0", ("document", "application/pdf")),
        (b"{\\rtf1\\ansi", ("document", "application/rtf")),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", ("document", "application/x-ole-storage")),
        (b"\x1f\x8b\x08\0", ("document", "application/gzip")),
        (b"\0" * 257 + b"ustar\0", ("document", "application/x-tar")),
        (documents.word(), ("document", DOCX)),
        (documents.word_of("<w:p/>"), ("document", DOCX)),
        (documents.sheets(), ("document", XLSX)),
        (documents.slides(("a", "b", "c")), ("document", PPTX)),
        (documents.open_document(""), ("document", "application/vnd.oasis.opendocument.text")),
        (documents.archive({"a.txt": "word/ xl/ ppt/"}), ("document", "application/zip")),
        (b"PK\3\4", ("document", "application/zip")),
        (b"", ("document", "text/plain")),
        (b"plain words\n", ("document", "text/plain")),
        ("Grüße".encode(), ("document", "text/plain")),
        ("Grüße".encode("cp1252"), ("document", "text/plain")),
        ("Grüße".encode("utf-16"), ("document", "text/plain")),
        ("Grüße und mehr".encode("utf-16-le"), ("document", "text/plain")),
        ("Grüße und mehr".encode("utf-16-be"), ("document", "text/plain")),
        ("Привет".encode("cp1251"), ("document", "text/plain")),
        (b"line\n" * 100 + b"\0", ("document", "text/plain")),
        (b"\n<!-- by hand -->\n<!DOCTYPE html><p>", ("document", "text/html")),
        (b"<?xml version='1.0'?>\n<html xmlns='x'>", ("document", "text/html")),
        (b"<?xml version='1.0'?>\n<svg xmlns='x'>", ("document", "image/svg+xml")),
        (b"<?xml version='1.0'?>\n<note>", ("document", "application/xml")),
        (b"<div>Markdown</div>", ("document", "text/plain")),
        (b"BEGIN:VCARD\r\nVERSION:4.0", ("document", "text/vcard")),
        (b"BM means Bookmark, and it is a long text about that.", ("document", "text/plain")),
        (b"ID3 is a tag", ("document", "text/plain")),
        (bytes(range(256)), ("document", UNKNOWN)),
        (b"\x7fELF\2\1\1\0", ("document", "application/x-executable")),
    ],
)  # fmt: skip
def test_a_file_is_what_it_holds(head: bytes, expected: tuple[str, str]) -> None:
    assert kind_of(head) == expected
    for lie in ("a.png", "voice.ogg", "a.exe", "x.docx"):
        assert kind_of(head, lie) == expected


@pytest.mark.parametrize(
    ("name", "mime"),
    [("a.CSV", "text/csv"), ("a.b.md", "text/markdown"), ("a.json", "application/json"), ("csv", "text/csv"),
     ("page.htm", "text/html"), ("a.png", "text/plain"), ("a", "text/plain")],
)  # fmt: skip
def test_its_name_only_says_which_kind_of_text_a_text_is(name: str, mime: str) -> None:
    assert kind_of(b"a,b\n1,2\n", name) == ("document", mime)
    assert kind_of(b"\x89PNG\r\n\x1a\n", name) == ("image", "image/png")


def test_an_archive_whose_list_of_types_comes_last_is_known_by_its_first_parts() -> None:
    whole = documents.sheets([[f"text {n}" for n in range(50)] for _ in range(500)])
    assert b"[Content_Types].xml" not in whole[:8192]
    assert kind_of(whole[:8192]) == ("document", XLSX)


def test_a_page_of_many_comments_is_told_at_once() -> None:
    assert kind_of(b"<!---->" * 5000 + b"<html>") == ("document", "text/html")
    assert kind_of(b"<!---->" * 5000 + b"hi") == ("document", "text/plain")
    assert_linear(lambda n: kind_of(b"<!---->" * n + b"<html>"), 5000)
    assert_linear(lambda n: kind_of(b"<!---->" * n + b"hi"), 5000)


def overlapping(count: int) -> bytes:
    """An archive whose entries all have the same packed megabyte; after David Fifield, "A better zip bomb" (2019)."""
    name, pack = b"[Content_Types].xml", zlib.compressobj(9, zlib.DEFLATED, -15)
    header = b"PK\3\4\x14\0\0\0\x08\0" + b"\0" * 16 + struct.pack("<HH", len(name), 0) + name
    body = header + pack.compress(b"w" * (1 << 20)) + pack.flush()
    stored = b"\0" + struct.pack("<HH", len(header), len(header) ^ 0xFFFF)
    return (header + stored) * (count - 1) + body


def test_an_archive_that_lists_its_types_five_hundred_times_is_asked_once() -> None:
    archives = {count: overlapping(count) for count in (1, 500)}
    assert kind_of(archives[500]) == ("document", "application/zip")
    once = max(cost(lambda n: kind_of(archives[n]), 1), 0.01)
    assert any(cost(lambda n: kind_of(archives[n]), 500) < 10 * once for _ in range(2))


def test_encodings_are_told_apart() -> None:
    for text, codec in (("żółw", "utf-8"), ("日本語", "shift_jis"), ("", "utf-8")):
        found = charset_of(text.encode(codec))
        assert found == ("cp1252" if codec == "shift_jis" else codec)
    assert charset_of("ä".encode()[:1] + b"x") == "cp1252"
    assert charset_of(("x" * 9 + "ä").encode()[:-1]) == "utf-8", "the last character may be cut"
    assert charset_of(b"\xff\xfe" + bytes(range(1, 31)) * 20) is None, "a mark alone makes no text"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "こんにちは世界",
        "品名,価格\r\nりんご,100\r\n",
        "　今日はいい天気ですね。\n　明日も晴れるでしょう。\n",
        "今天天气很好，明天也会晴。\n",
        "안녕하세요. 오늘 날씨가 좋습니다.",
        "Привет, как дела?",
        "مرحبا كيف حالك اليوم؟",
        "Grüße",
    ],
)
def test_UTF_16_needs_no_mark_in_any_script(text: str, codec: str) -> None:
    assert charset_of(text.encode(codec)) == codec
    assert charset_of(text.encode("utf-16")) == "utf-16"
    assert charset_of(text.encode()) == "utf-8"


@pytest.mark.parametrize("text", ["é0", "20:00é20:00é", "Preis: 10€", "ÄÖÜ 1000", "café 100", "Größe: 10€\n"])
def test_few_letters_and_zeros_are_no_UTF_16(text: str) -> None:
    assert charset_of(text.encode("cp1252")) == "cp1252"


@pytest.mark.parametrize(
    ("said", "codec"),
    [(b'<meta charset="windows-1251">', "cp1251"), (b"<META content='text/html; charset=KOI8-R'>", "koi8-r"),
     (b"<?xml version='1.0' encoding='Shift_JIS'?>", "cp932"), (b"<meta charset=latin1>", "cp1252"),
     (b"<meta charset=rot13>", None), (b"<meta charset=undefined>", None), (b"<meta charset=utf-16>", None),
     (b"<meta charset=nonsense>", None), (b"<p>", None)],
)  # fmt: skip
def test_a_page_says_its_encoding(said: bytes, codec: str | None) -> None:
    assert declared_codec(said) == codec
