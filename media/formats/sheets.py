"""Excel sheets since 2007: the values as they were last computed, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from typing import BinaryIO

from openpyxl import load_workbook
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from media.readable import Piece

__all__ = ["read"]

_ROWS = 200  # so many at a time, also empty ones: between two times the clock is looked at


def read(file: BinaryIO) -> Iterator[Piece]:
    """Each sheet under its name, without empty rows and without what is empty at the end of a row."""
    _look_for_no_size()
    book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
    total = len(book.worksheets)
    for number, sheet in enumerate(book.worksheets, 1):
        place = f"sheet {number} of {total}"
        hidden = "" if sheet.sheet_state == "visible" else " (hidden)"
        yield Piece(f"## {sheet.title}{hidden}\n", place)
        rows: list[list[str]] = []
        for count, row in enumerate(sheet.iter_rows(values_only=True), 1):
            if row:
                rows.append(_filled(row))
            if count % _ROWS == 0:
                yield Piece(_lines(rows), f"{place}, row {count}")
                rows.clear()
        yield Piece(_lines(rows) + "\n", place)


def _look_for_no_size() -> None:
    """What a sheet says of its size may be anything, and of one that says nothing openpyxl reads all to find it out."""
    ReadOnlyWorksheet._get_size = lambda _: None  # noqa: SLF001


def _lines(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(row for row in rows if row)
    return out.getvalue()


def _filled(row: Sequence[object]) -> list[str]:
    texts = [_text(value) for value in row]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"  # as many digits as Excel has
    if isinstance(value, datetime):
        return (value.date() if value.time() == time() else value.replace(microsecond=0)).isoformat()
    return " ".join(str(value).split())
