"""Albums: several messages of one person, sent at once, of which one has the caption.

Each comes as an update of its own. In a group our name stands in that caption alone, so what speaks to us in one part
does so in all; a part that came in an earlier batch than the caption is not seen to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hermes.events import Event, Parsed

__all__ = ["Albums"]

_MOST = 256
"""Albums that are remembered; their parts come within seconds."""


class Albums:
    """The newest albums that speak to us."""

    def __init__(self) -> None:
        self._ours: dict[tuple[str, str, str], None] = {}

    def addressed(self, items: Sequence[Parsed]) -> list[Parsed]:
        """The items, with the parts of such albums addressed."""
        for item in items:
            if isinstance(item, Event) and item.addressed and item.album is not None:
                self._ours[_name(item, item.album)] = None
        while len(self._ours) > _MOST:
            del self._ours[next(iter(self._ours))]
        return [self._part(item) for item in items]

    def _part(self, item: Parsed) -> Parsed:
        if not isinstance(item, Event) or item.addressed or item.album is None:
            return item
        return replace(item, addressed=True) if _name(item, item.album) in self._ours else item


def _name(event: Event, album: str) -> tuple[str, str, str]:
    return event.chat, event.sender.id, album
