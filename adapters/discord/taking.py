"""From events to the intake: parsed in order, stored in batches, and only then answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from adapters.discord.bots import BotBook
from adapters.discord.changes import has_new_words, parse_deletions, parse_edit
from adapters.discord.gap import Gap
from adapters.discord.gateway import Dispatch
from adapters.discord.interactions import parse_interaction
from adapters.discord.mark import Mark, at_time
from adapters.discord.parse import NO_CONTENT, Reading, author_id, parse_message
from adapters.discord.places import Place, Places, read_place
from adapters.discord.reactions import Reactions
from adapters.discord.slash import Slash
from hermes import failpoint
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import StoreUnavailable
from hermes.events import Event, Ignored, Parsed, Verdict, Watermark

__all__ = ["Surroundings", "Taking", "stored_mark"]

_log = structlog.get_logger("adapters.discord")
_BATCH = 50
_NO_CONTENT_TOLD = (
    "Discord keeps the text of messages back: the message content intent is off. Mentions, replies and direct "
    "messages still have it. It is switched on at discord.com/developers, Bot, Privileged Gateway Intents"
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is asked while taking."""

    places: Places
    slash: Slash
    gap: Gap
    bots: BotBook
    clock: Clock
    reactions: Reactions | None = None


async def stored_mark(intake: Intake, name: str, clock: Clock) -> Mark:
    """The watermark, however long the store takes."""
    pause = 1.0
    while True:
        try:
            return Mark.from_text(await intake.read_watermark(name))
        except StoreUnavailable:
            pause = await _waited(intake, clock, pause)


class Taking:
    """One run. `mark` is what was stored, moved along with every batch."""

    def __init__(self, reading: Reading, mark: Mark, name: str, around: Surroundings) -> None:
        self._reading = reading
        self._mark = mark
        self._name = name
        self._around = around
        self._told_of_content = False

    async def run(self, events: asyncio.Queue[Dispatch], intake: Intake) -> None:
        """Take what comes until cancelled."""
        while True:
            batch = [await events.get()]
            while len(batch) < _BATCH and not events.empty():
                batch.append(events.get_nowait())
            await self._take(batch, intake)

    async def _take(self, batch: Sequence[Dispatch], intake: Intake) -> None:
        items: list[Parsed] = []
        commands: list[tuple[int, Mapping[str, Any]]] = []
        for event in batch:
            if event.name == "READY":
                await self._store(items, commands, intake)
                items, commands = [], []
                await self._begin(event, intake)
            elif event.name == "MESSAGE_CREATE":
                items.append(await self._message(event.data))
                self._saw(event.data, live=True)
            elif event.name == "MESSAGE_UPDATE":
                if has_new_words(event.data, self._reading.account):
                    items.append(await self._message(event.data, parse=parse_edit))
            elif event.name in ("MESSAGE_DELETE", "MESSAGE_DELETE_BULK"):
                items += parse_deletions(event.data, self._reading)
            elif event.name == "INTERACTION_CREATE":
                items.append(await self._command(event.data))
                if isinstance(event.data, Mapping):
                    commands.append((len(items) - 1, event.data))
            elif event.name == "RESUMED":
                intake.state("connected")
            else:
                self._around.places.forget(event.data)
            if event.session is not None:
                self._mark.session = _stored_form(event)
        await self._store(items, commands, intake)

    async def _store(
        self, items: Sequence[Parsed], commands: Sequence[tuple[int, Mapping[str, Any]]], intake: Intake
    ) -> None:
        """Store a batch, however long it takes; then Discord may know of its commands and presses."""
        if not items:
            return
        for _, command in commands:
            self._around.slash.expect(command)
        verdicts = await self._stubbornly(items, intake)
        failpoint.reached("intake.acknowledged")
        for at, command in commands:
            self._around.slash.settle(command, verdicts[at])
        if self._around.reactions is not None:
            self._around.reactions.acknowledge(items, verdicts)

    async def _stubbornly(self, items: Sequence[Parsed], intake: Intake) -> Sequence[Verdict]:
        if items:
            failpoint.reached("intake.parsed")
        pause = 1.0
        while True:
            try:
                return await intake.take(
                    items, Watermark(self._reading.instance, self._name, self._mark.to_text())
                )
            except StoreUnavailable:
                pause = await _waited(intake, self._around.clock, pause)

    async def _begin(self, ready: Dispatch, intake: Intake) -> None:
        """A new session: read what it does not bring, and note it.

        In this order, so that a process that ends meanwhile is followed by one that reads the gap again.
        """
        self._mark.session = None
        is_first = self._mark.since is None
        if is_first:
            self._mark.since = at_time(self._around.clock.time())
            self._mark.session = _stored_form(ready)
        await self._stubbornly((), intake)
        intake.state("connected")
        if not is_first:
            await self._catch_up(ready.data, intake)
            self._mark.session = _stored_form(ready)
            await self._stubbornly((), intake)

    async def _catch_up(self, ready: object, intake: Intake) -> None:
        guilds = ready.get("guilds") if isinstance(ready, Mapping) else None
        ids = [str(g.get("id")) for g in guilds if isinstance(g, Mapping)] if isinstance(guilds, list) else []
        async for channel, place, page in self._around.gap.read(self._mark, ids):
            found = place or await self._around.places.of(channel)
            items = [await self._message(message, found) for message in page]
            for message in page:
                self._saw(message)
            _log.info("discord.gap", instance=self._reading.instance, channel=channel, messages=len(page))
            await self._store(items, (), intake)

    async def _message(
        self,
        message: Any,  # noqa: ANN401  JSON
        place: Place | None = None,
        parse: Callable[[object, Reading, Place], Parsed] = parse_message,
    ) -> Parsed:
        item = parse(message, self._reading, place or await self._place(message))
        if isinstance(item, Ignored) and item.reason == NO_CONTENT and not self._told_of_content:
            self._told_of_content = True
            _log.warning("discord.no_content", instance=self._reading.instance, hint=_NO_CONTENT_TOLD)
        if isinstance(item, Event) and item.sender.is_bot and item.addressed:
            hears = self._around.bots.hears(item.sender.id, self._around.clock.monotonic())
            return item if hears else Ignored("bot rate", item.text)
        return item

    async def _place(self, message: Any) -> Place:  # noqa: ANN401  JSON
        """Where it was written; asked only where that can matter."""
        if not isinstance(message, Mapping):
            return Place()
        if "guild_id" not in message:
            return Place(direct=True)
        channel = message.get("channel_id")
        if author_id(message) == self._reading.account or not (
            isinstance(channel, str) and channel.isdigit()
        ):
            return Place()
        return await self._around.places.of(channel)

    async def _command(self, interaction: Any) -> Parsed:  # noqa: ANN401  JSON
        channel = interaction.get("channel") if isinstance(interaction, Mapping) else None
        is_told = isinstance(channel, Mapping) and "guild_id" in interaction
        place = read_place(channel) if is_told else await self._place(interaction)
        return parse_interaction(interaction, self._reading, place)

    def _saw(self, message: Any, *, live: bool = False) -> None:  # noqa: ANN401  JSON
        try:
            channel, number = str(message["channel_id"]), int(message["id"])
        except (KeyError, TypeError, ValueError):
            return
        self._mark.saw(channel, number)
        if live:
            self._mark.since = max(self._mark.since or 0, number)


def _stored_form(event: Dispatch) -> tuple[str, int, str] | None:
    """The session as the watermark holds it."""
    session = event.session
    return None if session is None else (session.id, session.sequence, session.url)


async def _waited(intake: Intake, clock: Clock, pause: float) -> float:
    """Wait for the store; how long to wait the next time."""
    intake.alive()
    await clock.sleep(pause)
    return min(5.0, pause * 1.5)
