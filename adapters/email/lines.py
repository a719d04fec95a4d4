"""Lines of text as a page is read: what stands in a line, what is a line of its own, and rows of cells. Pure.

A text has no columns: nothing is padded, so that its lines are no longer than the words that stand in the page.
"""

from __future__ import annotations

import re

__all__ = ["LOWERED", "RAISED", "STRUCK", "Lines"]

RAISED, LOWERED, STRUCK = "\x03", "\x04", "\x05"
"""Written where what is raised or lowered begins, and around what is struck out. No page has such characters."""
_KEPT = str.maketrans(" \xa0\t", "\x01\x01\x02")
_SHOWN = str.maketrans({"\x01": " ", "\x02": "\t", RAISED: "", LOWERED: "", STRUCK: "~~"})
_NUMBERS = {RAISED: re.compile(rf"(?<=\d){RAISED}(?=\d)"), LOWERED: re.compile(rf"(?<=\d){LOWERED}(?=\d)")}
_DATED = re.compile(r"(?=.{0,200}\d).{0,200}[<(][^\s<>()@]{1,64}@")
_SIGNED = ("-- ", "--\xa0", "--\x01")


class Lines:
    """Takes words and ends of lines. bullet: what the next line begins with. done: the lines until now."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.bullet = ""
        self._line: list[str] = []
        self._cells: list[list[str]] = []
        self._apart = False

    def write(self, text: str, *, as_it_stands: bool = False) -> None:
        """Add words. as_it_stands: their ends of lines count, and their spaces."""
        first, *others = text.translate(_KEPT).split("\n") if as_it_stands else [text]
        self._line.append(first)
        for line in others:
            self.line_break()
            self._line.append(line)

    def line_break(self) -> None:
        """End the line, which may be an empty one."""
        if not self.end(broken=True):
            self.done.append("")

    def end(self, *, broken: bool = False) -> bool:
        """End the line or the row if there is any; whether there was. broken: by a line's end, not that of a block."""
        self._end_row()
        line = self._words(may_sign=broken)
        if line:
            self._add([line])
        return bool(line)

    def apart(self) -> None:
        """What follows stands below a blank line."""
        self.end()
        self._apart = True

    def begin_cell(self) -> None:
        """A cell follows: words before it in its row stand before it."""
        line = self._words()
        if line:
            self._cells.append([line])

    def add_cell(self, cell: Lines) -> None:
        """The next cell of a row, which ends with the line."""
        cell.end()
        while cell.done and not cell.done[-1]:
            cell.done.pop()
        self._cells.append(["--" if line == "-- " else line for line in cell.done])

    def add_quote(self, quote: Lines) -> None:
        """Lines of somebody else, marked as in plain text."""
        self.end()
        quote.end()
        if quote.done:
            self._add([f"> {line}" if line else ">" for line in quote.done])

    def name_somebody(self) -> bool:
        """End the line; whether the last one that is not empty ends as one that says whose words follow."""
        self.end()
        line = next((line for line in reversed(self.done[-3:]) if line), "")
        return line.endswith((":", "：")) and _DATED.match(line) is not None

    def _words(self, *, may_sign: bool = False) -> str:
        """What stands in the line. "-- " alone keeps its space where a signature may follow."""
        text = "".join(self._line)
        self._line.clear()
        if may_sign and text.strip("\r\n\t") in _SIGNED:
            return "-- "
        line = " ".join(text.split())
        if line.isprintable():
            return line
        line = _NUMBERS[LOWERED].sub("_", _NUMBERS[RAISED].sub("^", line)).replace(STRUCK * 2, "")
        return line.translate(_SHOWN).rstrip()

    def _end_row(self) -> None:
        """Cells of one line each stand in one; others are columns of a layout, and are read one by one."""
        cells, self._cells = [cell for cell in self._cells if cell], []
        if not cells:
            return
        if all(len(cell) == 1 for cell in cells):
            self._add([" ".join(line for (line,) in cells)])
            return
        for cell in cells:
            self._add(cell)

    def _add(self, lines: list[str]) -> None:
        if self._apart and self.done:
            self.done.append("")
        self._apart = False
        self.done.append(self.bullet + lines[0])
        self.done += lines[1:]
        self.bullet = ""
