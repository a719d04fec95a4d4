"""The way in: long polls, each batch stored before the next poll confirms it.

Source: https://core.telegram.org/bots/api#getupdates. An update is confirmed, and gone, once a poll asks for
a higher id; until then it comes again. Ids grow by one, but after a week without updates the next one is
chosen at random, so a remembered offset is dropped before that: https://core.telegram.org/bots/api#update.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from adapters.telegram.client import BotApi
from adapters.telegram.parse import allowed_updates, update_id
from adapters.telegram.taking import Taking, stubbornly
from adapters.troubles import Troubles
from hermes import failpoint
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import AdapterError, Conflict
from hermes.events import Watermark

__all__ = ["Offset", "Polling"]

_log = structlog.get_logger("adapters.telegram")
_OFFSET_AGE = 6 * 86400.0
_LONGEST_PAUSE = 30.0
_PROBATION = 10.0  # a poll that lives this long is not being thrown out by another program
_SLACK = 15.0  # seconds beyond the poll's own time in which its answer must come


@dataclass(frozen=True, slots=True)
class Offset:
    """The next update id to ask for, and when (epoch seconds) the last update came."""

    value: int
    at: float

    def to_text(self) -> str:
        """As it is stored."""
        return f"{self.value}@{int(self.at)}"

    @classmethod
    def from_text(cls, text: str | None) -> Offset | None:
        """The inverse of `to_text`; `None` for anything else."""
        value, _, at = (text or "").partition("@")
        try:
            return cls(int(value), float(at))
        except ValueError:
            return None

    def is_usable(self, now: float) -> bool:
        """Whether ids still go on from here."""
        return now - self.at < _OFFSET_AGE


class Polling:
    """One run of the loop for one account."""

    def __init__(self, api: BotApi, taking: Taking, clock: Clock, timeout: float) -> None:
        self._api = api
        self._taking = taking
        self._reading = taking.reading
        self._clock = clock
        self._timeout = timeout
        self._name = f"offset:{taking.reading.account.id}"

    async def run(self, intake: Intake, troubles: Troubles) -> None:
        """Poll until cancelled. Raises `Unauthorized`."""
        offset = Offset.from_text(await self._stored(intake))
        while True:
            if offset is not None and not offset.is_usable(self._clock.time()):
                offset = None
            try:
                updates = await self._poll(offset, self._patience(troubles))
            except Conflict as e:
                await self._retreat(e, troubles)
                continue
            except AdapterError as e:
                await troubles.met(e)
                continue
            troubles.over()
            intake.alive()
            if updates:
                offset = await self._take(updates, intake)

    def _patience(self, troubles: Troubles) -> float:
        """Seconds to poll.

        After a conflict a poll must live for a while to prove that it is over; after other failures a short
        one shows it at once.
        """
        if troubles.conflicts:
            return min(_PROBATION, self._timeout)
        return 0 if troubles.failures else self._timeout

    async def _poll(self, offset: Offset | None, patience: float) -> Sequence[Any]:
        params: dict[str, Any] = {"timeout": int(patience), "allowed_updates": allowed_updates(self._reading)}
        if offset is not None:
            params["offset"] = offset.value
        updates = await self._api.call("getUpdates", params, answer_within=patience + _SLACK)
        if not isinstance(updates, list):
            raise AdapterError("Telegram's answer to getUpdates is no list.")
        if updates and all(update_id(update) is None for update in updates):
            raise AdapterError("Telegram's answer to getUpdates holds no update ids.")
        return updates

    async def _retreat(self, conflict: Conflict, troubles: Troubles) -> None:
        await troubles.met(conflict)
        if "webhook" in str(conflict).lower():
            try:
                await self._api.call("deleteWebhook")
            except AdapterError as e:
                await troubles.met(e)

    async def _take(self, updates: Sequence[Any], intake: Intake) -> Offset:
        """Store a batch, however long it takes; return where to go on."""
        if (moved := self._taking.moved(updates)) is not None:
            await stubbornly(intake, self._clock, lambda: intake.take([], moved))
        items = self._taking.read(updates)
        failpoint.reached("intake.parsed")
        highest = max(number for update in updates if (number := update_id(update)) is not None)
        offset = Offset(highest + 1, self._clock.time())
        watermark = Watermark(self._reading.instance, self._name, offset.to_text())
        verdicts = await stubbornly(intake, self._clock, lambda: intake.take(items, watermark))
        failpoint.reached("intake.acknowledged")
        self._taking.taken(updates, items, verdicts)
        return offset

    async def _stored(self, intake: Intake) -> str | None:
        return await stubbornly(intake, self._clock, lambda: intake.read_watermark(self._name))
