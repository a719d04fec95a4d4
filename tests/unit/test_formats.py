"""Readers of documents by themselves: how far they read, and what they say of the rest."""

from __future__ import annotations

import io

import pytest

from media.formats import hypertext, sheets
from media.readable import Unreadable
from tests import documents

SHEET = "xl/worksheets/sheet1.xml"


class Counting(io.BytesIO):
    """A file that knows how many bytes of it were read."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def test_a_sheet_that_does_not_tell_its_size_is_read_from_its_beginning() -> None:
    parts = documents.parts_of(documents.sheets())
    begin = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    rows = b"".join(
        b"<row r='%d'><c r='A%d'><v>%d</v></c></row>" % (n, n, n * 7919) for n in range(1, 60_001)
    )
    parts[SHEET] = begin + rows + b"</sheetData></worksheet>"
    file = Counting(documents.archive(parts))
    first, second, *_ = (piece for piece, _ in zip(sheets.read(file), range(2), strict=False))
    assert first.text == "## Bill\n"
    assert second.text.startswith("7919\n15838\n")
    assert file.taken < len(file.getvalue()) / 4


def test_what_is_nested_too_deep_to_be_read_is_missed_aloud() -> None:
    page = "<p>before</p>" + "<div>" * 300 + "deep" + "</div>" * 300 + "<p>after"
    pieces = hypertext.read(io.BytesIO(page.encode()))
    assert "before" in next(pieces).text
    with pytest.raises(Unreadable, match="damaged"):
        next(pieces)
    whole = "<p>before</p>" + "<div>" * 200 + "deep" + "</div>" * 200
    assert [p.text.split() for p in hypertext.read(io.BytesIO(whole.encode()))] == [["before", "deep"]]
