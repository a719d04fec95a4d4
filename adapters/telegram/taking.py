"""What comes in, by polls or by requests, on its way to the intake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adapters.telegram.albums import Albums
from adapters.telegram.parse import parse_update, query_id
from adapters.telegram.reading import Reading
from adapters.telegram.signs import Pressed, Seen
from hermes.events import Event, Parsed, Verdict

__all__ = ["Taking"]


class Taking:
    """One account's. seen: `None` where nothing is shown of what was taken."""

    def __init__(self, reading: Reading, pressed: Pressed, seen: Seen | None) -> None:
        self.reading = reading
        self._pressed = pressed
        self._seen = seen
        self._albums = Albums()

    def read(self, updates: Sequence[Any]) -> list[Parsed]:
        """One item for each update."""
        return self._albums.addressed([parse_update(update, self.reading) for update in updates])

    def taken(self, updates: Sequence[Any], items: Sequence[Parsed], verdicts: Sequence[Verdict]) -> None:
        """What was read of the updates was judged and stored."""
        for query in map(query_id, updates):
            if query is not None:
                self._pressed.offer(query)
        for item, verdict in zip(items, verdicts, strict=True):
            if (
                self._seen is not None
                and isinstance(item, Event)
                and verdict.kind == "accepted"
                and not item.edited
            ):
                self._seen.offer(item)
