"""A turn's answer as the rows that bring it: its words, its files, and as a file what is too long to be read in a chat."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from gateway.composing import Content
from gateway.delivery import Delivery
from gateway.outbox import Draft
from hermes.events import Target
from hermes.files import StoredFile

__all__ = ["Keep", "LongReply", "Replies", "opening"]

log = structlog.get_logger("gateway.replies")

_LONG = 20_000
"""Characters of an answer whose rendering is worth a thread."""
_OPENING = 1200
"""Characters of a long answer that are shown beside its file."""
_FENCE = re.compile(r"[ ]{0,3}(```+|~~~+)")

Keep = Callable[[bytes, str], Awaitable[StoredFile | None]]
"""Keeps bytes under a name in the home; `None`: there is no room for them."""


@dataclass(frozen=True, slots=True)
class LongReply:
    """after: messages that an answer may have before it goes as a file; `None`: any number."""

    after: int | None = None


class Replies:
    """Composes answers. keep: see `Keep`; rules: as the settings say now."""

    def __init__(
        self,
        delivery: Delivery,
        say: Callable[..., str],
        keep: Keep | None = None,
        rules: Callable[[], LongReply] = LongReply,
    ) -> None:
        self._delivery = delivery
        self._say = say
        self._keep = keep
        self._rules = rules

    async def drafts(self, targets: Sequence[Target], content: Content, key: str) -> list[Draft]:
        """The rows of an answer, target by target; none for an answer of nothing.

        A file that a target does not take is named in its words.
        """
        out: list[Draft] = []
        for n, target in enumerate(targets):
            out += await self._for(target, content, f"{key}:{n}")
        return out

    async def _for(self, target: Target, content: Content, key: str) -> list[Draft]:
        most = self._delivery.largest_file(target)
        left_out = [file.name for file, _ in content.files if file.size > (most or 0)]
        if left_out:
            note = self._say("file_left_out", names=", ".join(left_out))
            content = replace(content, text=f"{content.text}\n\n{note}" if content.text else note)
        drafts = await self._composed(target, content, key)
        after, words = self._rules().after, [d for d in drafts if d.kind == "reply"]
        if after is None or most is None or len(words) <= after:
            return drafts
        whole = await self._as_file(content.text, most)
        if whole is None:
            return drafts
        room = min(_OPENING, len(words[0].piece.text))
        head = f"{opening(content.text, room)}\n\n{self._say('long_reply')}"
        return await self._composed(
            target, replace(content, text=head, files=[(whole, ""), *content.files]), key
        )

    async def _as_file(self, text: str, most: int) -> StoredFile | None:
        data = text.encode()
        return None if self._keep is None or len(data) > most else await self._keep(data, "answer.md")

    async def _composed(self, target: Target, content: Content, key: str) -> list[Draft]:
        """A long text is rendered beside the loop, which it would hold up."""
        if len(content.text) < _LONG:
            return self._compose(target, content, key)
        return await asyncio.to_thread(self._compose, target, content, key)

    def _compose(self, target: Target, content: Content, key: str) -> list[Draft]:
        if content == Content():
            return []
        try:
            return self._delivery.compose_one(target, content, key)
        except Exception:  # a renderer's fault must not eat the answer: it goes out as plain words
            log.exception("turn.render_failed", key=key)
            return self._delivery.compose_one(target, Content(self._say("internal")), key)


def opening(markdown: str, most: int) -> str:
    """The first paragraphs of a text, about `most` characters, no block of code cut in two. Pure.

    A text whose first paragraph is longer is cut between words.
    """
    text = markdown.strip()
    taken: list[str] = []
    whole = 0
    fence = ""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        if taken and len("\n\n".join([*taken, paragraph])) > most:
            break
        taken.append(paragraph)
        fence = _fence_after(paragraph, fence)
        whole = len(taken) if not fence else whole
    found = "\n\n".join(taken[:whole])
    if len(found) <= most and (found or not text):
        return found
    cut = text[:most].rsplit(None, 1)[0].rstrip() + "\u2026"
    mark = _fence_after(cut, "")
    return f"{cut}\n{mark}" if mark else cut


def _fence_after(text: str, fence: str) -> str:
    """The fence that is open at the end of the text, where `fence` was open before it (CommonMark 0.31, section 4.5)."""
    for line in text.splitlines():
        match = _FENCE.match(line)
        if match is None:
            continue
        if not fence:
            fence = match[1]
        elif match[1].startswith(fence) and not line[match.end() :].strip():
            fence = ""
    return fence
