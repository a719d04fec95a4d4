"""Splitting of plain text for platforms with a limit, and the unit most of them count in."""

from __future__ import annotations

from adapters.markdown.cuts import Length, cut_ranges


def utf16_len(text: str) -> int:
    """Length in UTF-16 code units, the unit of the Bot API and of Discord's clients."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def split_text(text: str, limit: int, length: Length = utf16_len) -> list[str]:
    """Cuts a text into pieces of at most `limit`, at paragraphs, lines, sentences, words, then anywhere.

    Joined, the pieces are the text: only white space beside a cut is dropped, and pieces that would show
    nothing. `length` measures a text (see `Length`). Raises `ValueError` for a limit below 1; a single
    character that is longer than the limit is a piece of its own.
    """
    if limit < 1:
        raise ValueError(f"The limit of a piece must be at least 1, not {limit}.")
    return [text[start:end] for start, end in cut_ranges(text, limit, length)]
