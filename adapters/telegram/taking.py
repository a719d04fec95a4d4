"""What comes in, by polls or by requests, on its way to the intake."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from adapters.telegram.albums import Albums
from adapters.telegram.moves import Moves
from adapters.telegram.parse import parse_update, query_id
from adapters.telegram.reading import Reading
from adapters.telegram.signs import Pressed, Seen
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import StoreUnavailable
from hermes.events import Event, Parsed, Verdict, Watermark

__all__ = ["Taking", "stubbornly"]

_T = TypeVar("_T")


class Taking:
    """One account's. seen: `None` where nothing is shown of what was taken."""

    def __init__(self, reading: Reading, pressed: Pressed, seen: Seen | None) -> None:
        self.reading = reading
        self._pressed = pressed
        self._seen = seen
        self._albums = Albums()
        self._moves = Moves()
        self._moves_name = f"moves:{reading.account.id}"

    async def remember(self, intake: Intake, clock: Clock) -> None:
        """Take up what an earlier process noted. Waits for the store."""
        noted = await stubbornly(intake, clock, lambda: intake.read_watermark(self._moves_name))
        self._moves = Moves.from_text(noted)

    def moved(self, updates: Sequence[Any]) -> Watermark | None:
        """What is to be stored before what these updates say is taken: groups that have a new id."""
        if not self._moves.learn(updates):
            return None
        return Watermark(self.reading.instance, self._moves_name, self._moves.to_text())

    def read(self, updates: Sequence[Any]) -> list[Parsed]:
        """One item for each update, and with the caption of an album its parts that came before."""
        items = [self._moves.placed(parse_update(update, self.reading)) for update in updates]
        return self._albums.addressed(items)

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


async def stubbornly(intake: Intake, clock: Clock, ask: Callable[[], Awaitable[_T]]) -> _T:
    """Ask the store until it answers; meanwhile nothing is taken and nothing is confirmed."""
    pause = 1.0
    while True:
        try:
            return await ask()
        except StoreUnavailable:
            intake.alive()
            await clock.sleep(pause)
            pause = min(5.0, pause * 1.5)
