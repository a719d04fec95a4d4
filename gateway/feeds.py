"""What a turn shows while it runs, for everybody who looks on: API streams, the terminal.

Each looker sees it from the start.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from hermes.agent import TextDelta, TurnEnded, TurnUpdate

__all__ = ["Feed", "Feeds"]


class Feed:
    """One turn's updates, in order, ending with `TurnEnded`."""

    __slots__ = ("_changed", "_updates")

    def __init__(self) -> None:
        self._updates: list[TurnUpdate] = []
        self._changed = asyncio.Event()

    def put(self, update: TurnUpdate) -> None:
        """Add an update; never blocks."""
        self._updates.append(update)
        self._changed.set()

    async def watch(self) -> AsyncIterator[TurnUpdate]:
        """All updates from the first; ends after `TurnEnded`.

        Pieces of text that are there together come as one.
        """
        seen = 0
        while True:
            if seen == len(self._updates):
                changed = self._changed
                await changed.wait()
                if changed is self._changed:
                    self._changed = asyncio.Event()
                continue
            fresh = self._updates[seen:]
            seen += len(fresh)
            for update in _joined(fresh):
                yield update
                if isinstance(update, TurnEnded):
                    return


def _joined(updates: list[TurnUpdate]) -> list[TurnUpdate]:
    out: list[TurnUpdate] = []
    for update in updates:
        last = out[-1] if out else None
        if isinstance(update, TextDelta) and isinstance(last, TextDelta):
            out[-1] = TextDelta(last.text + update.text)
        else:
            out.append(update)
    return out


class Feeds:
    """The feeds of events that somebody may follow, by ticket; they go when their turn is over."""

    def __init__(self) -> None:
        self._feeds: dict[str, Feed] = {}

    def open(self, ticket: str) -> Feed:
        """The ticket's feed, made when it is not there."""
        return self._feeds.setdefault(ticket, Feed())

    def get(self, ticket: str) -> Feed | None:
        """The ticket's feed if there is one."""
        return self._feeds.get(ticket)

    def end(self, ticket: str, ended: TurnEnded) -> None:
        """The ticket's turn is over and committed."""
        feed = self._feeds.pop(ticket, None)
        if feed is not None:
            feed.put(ended)

    def __len__(self) -> int:
        return len(self._feeds)
