"""A message as the rows that bring it to one target. Pure.

The words of an answer come first, then its files in their order, each with its caption; those of a message that answers
nothing are the caption of its first file. Where a platform has all in one message, it is rendered together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.outbox import Draft, OutboxKind
from hermes.adapter import Adapter, BundlingAdapter, ChoosingAdapter, FileAdapter, Piece
from hermes.events import Target
from hermes.files import StoredFile

__all__ = ["Captioned", "Content", "composed", "largest_file", "numbered"]

Captioned = tuple[StoredFile, str]
"""A file that goes out, and its caption."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a message brings. text: Markdown. choices: what people may pick below it."""

    text: str = ""
    files: Sequence[Captioned] = ()
    choices: Sequence[str] = ()


def composed(adapter: Adapter, target: Target, content: Content, key: str, kind: OutboxKind) -> list[Draft]:
    """The drafts, keyed `KEY:0`, `KEY:1` ..., of an answer's files `KEY:file:0` ...

    Files that the adapter cannot send are not among them. choices: buttons under the last words where the platform has
    such, else a list at their end.
    """
    markdown, choices = content.text, content.choices
    files: Sequence[Captioned] = [f for f in content.files if f[0].size <= (largest_file(adapter) or 0)]
    under = adapter if choices and isinstance(adapter, ChoosingAdapter) and markdown.strip() else None
    if choices and under is None:
        markdown = numbered(markdown, choices)
    if files and isinstance(adapter, BundlingAdapter):
        words: Sequence[Piece] = adapter.render_reply(markdown, files, target)
        files = []
    else:
        if files and kind == "send":
            markdown, files = "", [(files[0][0], markdown), *files[1:]]
        words = adapter.render(markdown, target)
    if under is not None and words:
        words = [*words[:-1], under.render_choices(words[-1], choices, target)]
    drafts = [Draft(f"{key}:{i}", target, piece, kind) for i, piece in enumerate(words)]
    if not files or not isinstance(adapter, FileAdapter):
        return drafts
    pieces = [piece for file, caption in files for piece in adapter.render_file(file, caption, target)]
    if kind == "reply":
        return [*drafts, *(Draft(f"{key}:file:{i}", target, p, "file") for i, p in enumerate(pieces))]
    return [*drafts, *(Draft(f"{key}:{i}", target, p, kind) for i, p in enumerate(pieces, len(drafts)))]


def numbered(markdown: str, choices: Sequence[str]) -> str:
    """The text with the choices as a list at its end; people answer with words."""
    listed = "\n".join(f"{number}. {choice}" for number, choice in enumerate(choices, 1))
    return f"{markdown}\n\n{listed}" if markdown.strip() else listed


def largest_file(adapter: Adapter | None) -> int | None:
    """Bytes of the largest file that can be sent by it; `None`: it sends none."""
    return adapter.largest_file if isinstance(adapter, FileAdapter) else None
