"""What kind of place a channel is: direct, a channel of a server, a thread. Asked once, and kept for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from adapters.discord.client import Rest
from hermes.clock import Clock
from hermes.errors import AdapterError, NotTaken, Rejected, Unauthorized
from hermes.messages import scrub_surrogates

__all__ = ["Place", "Places", "read_place"]

_log = structlog.get_logger("adapters.discord")
_THREADS = (10, 11, 12)
_DIRECT = 1
_KEPT = 4096
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Place:
    """parent: a thread's channel. joined: we take part in the thread. name: the channel's or the thread's."""

    direct: bool = False
    thread: bool = False
    parent: str | None = None
    joined: bool = False
    name: str = ""


def read_place(channel: object) -> Place:
    """The place in a channel object (https://discord.com/developers/docs/resources/channel#channel-object)."""
    if not isinstance(channel, Mapping):
        return Place()
    kind, parent = channel.get("type"), channel.get("parent_id")
    thread = kind in _THREADS
    return Place(
        direct=kind == _DIRECT,
        thread=thread,
        parent=str(parent) if thread and parent else None,
        joined=thread and isinstance(channel.get("member"), Mapping),
        name=scrub_surrogates(str(channel.get("name") or "")),
    )


class Places:
    """The places of one bot; those not looked at for longest are forgotten."""

    def __init__(self, rest: Rest, clock: Clock) -> None:
        self._rest = rest
        self._clock = clock
        self._known: OrderedDict[str, Place] = OrderedDict()

    async def of(self, channel: str) -> Place:
        """The place of a channel. One that Discord does not show us counts as a channel of a server."""
        place = self._known.get(channel)
        if place is None:
            place = await self._ask(channel)
            if place is None:
                return Place()
            self._known[channel] = place
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(channel)
        return place

    def forget(self, data: Any) -> None:  # noqa: ANN401  what a dispatch holds
        """Something has changed in the channel that an event is about."""
        if isinstance(data, Mapping):
            self._known.pop(str(data.get("id")), None)

    async def _ask(self, channel: str) -> Place | None:
        for attempt in range(_TRIES):
            try:
                return read_place(await self._rest.call("GET", f"/channels/{channel}", name="GET channel"))
            except (Rejected, Unauthorized):
                return Place()
            except AdapterError as e:
                told = e.retry_after if isinstance(e, NotTaken) else 0.5 * 2**attempt
                if told is None:  # it was not Discord that answered
                    return None
                _log.info("discord.place_unknown", channel=channel, error=str(e))
                await self._clock.sleep(min(10.0, told))
        return None
