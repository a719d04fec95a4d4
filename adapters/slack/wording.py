"""The words of a message: its own, links to files that lie elsewhere, and what it passes on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.slack.files import read_files, read_links
from adapters.slack.markup import Said
from adapters.slack.shared import shared, shared_text
from hermes.events import Attachment

__all__ = ["Worded", "worded"]


@dataclass(frozen=True, slots=True)
class Worded:
    """What a message says. is_own: the sender's own words. is_lost: it holds something, and nothing of it can be had."""

    text: str
    quoted: str | None = None
    files: tuple[Attachment, ...] = ()
    is_own: bool = True
    is_lost: bool = False

    @property
    def is_blank(self) -> bool:
        """There is nothing at all."""
        return not (self.text or self.files or self.is_lost)


def worded(message: Mapping[str, Any], said: Said) -> Worded:
    """Put it together. What is passed on is a quotation, or the message itself where nothing is said to it."""
    files, links = read_files(message), read_links(message)
    own = "\n".join(part for part in (said.text, links) if part)
    passed = shared_text(message, only_shares=bool(own))
    if own:
        return Worded(own, passed or None, files)
    return Worded(
        passed, None, files, is_own=not passed, is_lost=bool(shared(message)) and not (passed or files)
    )
