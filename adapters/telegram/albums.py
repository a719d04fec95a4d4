"""Albums: several messages of one person, sent at once, of which one has the caption.

Each comes as an update of its own. In a group our name stands in that caption alone, so what speaks to us in one part
does so in all. Parts that came before the caption were not for us then: they are remembered, and come again with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hermes.events import Event, Parsed

__all__ = ["Albums"]

_MOST = 256
"""Albums that are remembered; their parts come within seconds."""
_PARTS = 10
"""Parts of one: https://core.telegram.org/bots/api#sendmediagroup"""

_Name = tuple[str, str, str]


class Albums:
    """The newest albums: those that speak to us, and the parts of those that do not so far."""

    def __init__(self) -> None:
        self._ours: dict[_Name, None] = {}
        self._others: dict[_Name, list[Event]] = {}

    def addressed(self, items: Sequence[Parsed]) -> list[Parsed]:
        """The items, with the parts of albums that speak to us addressed; before one, its parts of earlier batches."""
        for item in items:
            if isinstance(item, Event) and item.addressed and (name := _name(item)) is not None:
                self._ours[name] = None
        found = [part for item in items for part in self._parts(item)]
        for known in (self._ours, self._others):
            while len(known) > _MOST:
                del known[next(iter(known))]
        return found

    def _parts(self, item: Parsed) -> list[Parsed]:
        name = _name(item) if isinstance(item, Event) else None
        if not isinstance(item, Event) or name is None:
            return [item]
        if name in self._ours:
            earlier = self._others.pop(name, [])
            return [replace(part, addressed=True) for part in (*earlier, item)]
        parts = self._others.setdefault(name, [])
        if len(parts) < _PARTS:
            parts.append(item)
        return [item]


def _name(event: Event) -> _Name | None:
    """Which album the message is a part of; a change of one begins nothing."""
    return None if event.album is None or event.edited else (event.chat, event.sender.id, event.album)
