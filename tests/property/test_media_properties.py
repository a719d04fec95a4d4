"""Whatever bytes come: a kind, and a text within its limits or a reason, and no error."""

import io
import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.files import FileKind
from media import child
from media.kinds import kind_of
from media.readable import READERS
from tests import documents

WHOLE = {
    "pdf": documents.pdf("one page", "and another"),
    "word": documents.word(),
    "sheets": documents.sheets(),
    "slides": documents.slides(("title", "text", "notes")),
    "open": documents.open_document("<text:p>text</text:p>"),
    "page": b"<!doctype html><p>text<table><tr><td>cell</table>",
}
TYPES = sorted({*READERS, "text/plain", "text/csv", "application/json"})


def reading(data: bytes, mime: str, most: int) -> tuple[str, str | None]:
    out = io.BytesIO()
    child.tell(out, io.BytesIO(data), mime, most, time.monotonic() + 20)
    *pieces, end = [json.loads(line) for line in out.getvalue().splitlines()]
    return "".join(text for text, _ in pieces), end["reason"]


@given(st.binary(max_size=300), st.text(max_size=20))
@example(b"PK\3\4" + b"\xff" * 40, "")
@example(b"\0\0\0\xffftyp", "")
@example(b"OggS", "a.")
def test_any_bytes_have_a_kind(head: bytes, name: str) -> None:
    kind, mime = kind_of(head, name)
    assert kind in FileKind.__args__  # type: ignore[attr-defined]
    assert mime.count("/") == 1
    assert mime == mime.strip().lower() or "Enabled" in mime


@given(st.sampled_from([b"PK\3\4", b"RIFF", b"OggS", b"\x1a\x45\xdf\xa3", b"\0\0\0\x20ftyp", b"BM", b"\xff\xfe", b"%PDF-"]),
       st.binary(max_size=200))  # fmt: skip
def test_any_bytes_after_a_known_beginning_have_a_kind(begin: bytes, rest: bytes) -> None:
    assert kind_of(begin + rest)[1]


@given(st.binary(max_size=400), st.sampled_from(TYPES), st.integers(1, 200))
def test_any_bytes_under_any_type_give_a_text_or_a_reason(data: bytes, mime: str, most: int) -> None:
    text, reason = reading(data, mime, most)
    assert len(text) <= most
    assert text.strip() or reason


@pytest.mark.parametrize("name", sorted(WHOLE))
@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_document_gives_a_text_or_a_reason(name: str, data: st.DataObject) -> None:
    whole = bytearray(WHOLE[name])
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=8)):
        whole[at] = data.draw(st.integers(0, 255))
    del whole[data.draw(st.integers(0, len(whole))) :]
    mime = kind_of(WHOLE[name])[1]
    text, reason = reading(bytes(whole), mime, 10_000)
    assert text.strip() or reason
