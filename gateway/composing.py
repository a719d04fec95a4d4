"""A message as the rows that bring it to one target. Pure.

The words of an answer come first, then its files in their order, each with its caption; those of a message that answers
nothing are the caption of its first file. Where a platform has all in one message, it is rendered together.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.outbox import Draft, OutboxKind
from hermes.adapter import Adapter, BundlingAdapter, FileAdapter, Piece
from hermes.events import Target
from hermes.files import StoredFile

__all__ = ["Captioned", "composed", "largest_file"]

Captioned = tuple[StoredFile, str]
"""A file that goes out, and its caption."""


def composed(
    adapter: Adapter, target: Target, markdown: str, files: Sequence[Captioned], key: str, kind: OutboxKind
) -> list[Draft]:
    """The drafts, keyed `KEY:0`, `KEY:1` ..., of an answer's files `KEY:file:0` ...

    Files that the adapter cannot send are not among them.
    """
    files = [(file, caption) for file, caption in files if file.size <= (largest_file(adapter) or 0)]
    if files and isinstance(adapter, BundlingAdapter):
        words: Sequence[Piece] = adapter.render_reply(markdown, files, target)
        files = []
    else:
        if files and kind == "send":
            markdown, files = "", [(files[0][0], markdown), *files[1:]]
        words = adapter.render(markdown, target)
    drafts = [Draft(f"{key}:{i}", target, piece, kind) for i, piece in enumerate(words)]
    if not files or not isinstance(adapter, FileAdapter):
        return drafts
    pieces = [piece for file, caption in files for piece in adapter.render_file(file, caption, target)]
    if kind == "reply":
        return [*drafts, *(Draft(f"{key}:file:{i}", target, p, "file") for i, p in enumerate(pieces))]
    return [*drafts, *(Draft(f"{key}:{i}", target, p, kind) for i, p in enumerate(pieces, len(drafts)))]


def largest_file(adapter: Adapter | None) -> int | None:
    """Bytes of the largest file that can be sent by it; `None`: it sends none."""
    return adapter.largest_file if isinstance(adapter, FileAdapter) else None
