"""What becomes of a message that arrives while its session is busy. Pure.

    queue      it waits for its turn
    steer      it joins the running turn after the current batch of tools
    interrupt  the running turn stops at the next safe point, then it is handled
    collect    what came in meanwhile becomes one turn

Parts of one paste that a client cut join one turn in every mode, and so do those of an album.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.commands import parse_command
from gateway.ledger import InboxRow

__all__ = [
    "ALBUM_PAUSE",
    "BURST_PAUSE",
    "PASTE_PAUSE",
    "gathered",
    "is_rest",
    "is_same_place",
    "pause_for",
    "seam",
]

PASTE_UNITS = 4000
"""A text of so many UTF-16 units may be a part of a longer one: Telegram's clients cut at `PASTE_MOST`."""
PASTE_MOST = 4096
PASTE_PAUSE = 1.5
"""Seconds that the next part of a paste is waited for."""
ALBUM_PAUSE = 1.0
"""Seconds that the next part of an album is waited for."""
BURST_PAUSE = 1.0
"""Seconds of silence that end a burst (collect)."""


def _plain(row: InboxRow) -> bool:
    return parse_command(row.event) is None and row.event.kind in ("direct", "group", "channel", "terminal")


def is_part(row: InboxRow) -> bool:
    """Whether more of the same text may follow; the terminal cuts nothing."""
    return _plain(row) and row.event.kind != "terminal" and _units(row.event.text) >= PASTE_UNITS


def is_rest(last: InboxRow, row: InboxRow) -> bool:
    """Whether the row is what a client cut off the last one: the two are one text."""
    whole = any(r.event.edited or r.event.album for r in (last, row)) or bool(row.event.history)
    return not whole and _plain(row) and is_same_place(last, row) and _follows(last, row)


def seam(text: str) -> str:
    """What stands between a part of a paste and the next.

    A full part was cut anywhere, in a word too; before a character of two units it ends one unit earlier. One that is
    nearly full was cut at a space or a line's end, which the platform took away. One over the limit is no part.
    """
    units = _units(text)
    if not PASTE_UNITS <= units <= PASTE_MOST:
        return "\n\n"
    return "" if units >= PASTE_MOST - 1 else "\n"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2


def is_same_place(row: InboxRow, other: InboxRow) -> bool:
    """Whether both came from the same chat: several of one person's may share a conversation, and each gets its answers."""
    return _place(row) == _place(other)


def _place(row: InboxRow) -> tuple[str, str, str | None]:
    return row.event.instance, row.event.chat, row.event.thread


def pause_for(row: InboxRow, mode: str) -> float:
    """Seconds to wait for what belongs to the row, before its turn begins."""
    if is_part(row):
        return PASTE_PAUSE
    if row.event.album is not None and _plain(row):
        return ALBUM_PAUSE
    return BURST_PAUSE if mode == "collect" and _plain(row) else 0.0


def _follows(last: InboxRow, row: InboxRow) -> bool:
    """Whether the row is the next part of what the last one is a part of."""
    if row.event.sender.id != last.event.sender.id:
        return False
    return is_part(last) or (row.event.album is not None and row.event.album == last.event.album)


def gathered(first: InboxRow, waiting: Sequence[object], mode: str) -> int:
    """How many of the rows that wait behind `first` join its turn.

    They follow it without a gap, from the same chat, and are the same sender's (a paste, an album), or anybody's (collect).
    """
    count = 0
    last = first
    if not _plain(first):
        return 0
    for item in waiting:
        if not isinstance(item, InboxRow) or not _plain(item) or not is_same_place(first, item):
            break
        if not (mode == "collect" or _follows(last, item)):
            break
        count += 1
        last = item
    return count
