"""What people and channels are called: Slack sends ids, and the agent shall see names. Best effort, and asked for rarely.

https://docs.slack.dev/reference/methods/users.info (scope users:read), /conversations.info (channels:read, groups:read)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from adapters.slack.client import WebApi
from hermes.clock import Clock
from hermes.errors import AdapterError
from hermes.messages import scrub_surrogates

__all__ = ["People", "rooms", "senders"]

_KEPT = 3600.0  # seconds that a name, or that there is none, holds
_MOST = 2000
_PATIENCE = (
    1.0  # seconds: what is not known by then goes without a name, since Slack waits for its acknowledgement
)


def senders(payloads: Iterable[object]) -> set[str]:
    """The ids of the people who wrote these events, or pressed a button."""
    return {user for event in _spoken(payloads) if isinstance(user := event.get("user"), str)}


def rooms(payloads: Iterable[object]) -> set[str]:
    """The ids of the channels in which that was."""
    places = (event.get("channel") for event in _spoken(payloads))
    return {place for place in places if isinstance(place, str) and place.startswith(("C", "G"))}


def _spoken(payloads: Iterable[object]) -> Iterator[Mapping[str, Any]]:
    for payload in payloads:
        event = payload.get("event") if isinstance(payload, Mapping) else None
        if isinstance(event, Mapping) and not event.get("bot_id") and not event.get("hidden"):
            yield event
        elif isinstance(payload, Mapping) and payload.get("type") == "block_actions":
            yield {key: _id(payload.get(key)) for key in ("user", "channel")}


def _id(named: object) -> object:
    return named.get("id") if isinstance(named, Mapping) else None


class People:
    """Names of people, and of the channels they write in, by id."""

    def __init__(self, api: WebApi, clock: Clock) -> None:
        self._people = _Names(api, clock, "user", lambda answer: _name(answer.get("user")))
        self._rooms = _Names(api, clock, "channel", lambda answer: _room(answer.get("channel")))

    async def names(self, users: Iterable[str], channels: Iterable[str]) -> Mapping[str, str]:
        """The names of those who are known within a second. Raises nothing."""
        people, places = await asyncio.gather(self._people.known(users), self._rooms.known(channels))
        return {**people, **places}


class _Names:
    """Names by id, of one kind."""

    def __init__(
        self, api: WebApi, clock: Clock, kind: str, read: Callable[[Mapping[str, Any]], str]
    ) -> None:
        self._api = api
        self._clock = clock
        self._kind = kind
        self._method = "users.info" if kind == "user" else "conversations.info"
        self._read = read
        self._known: dict[str, tuple[str, float]] = {}

    async def known(self, ids: Iterable[str]) -> Mapping[str, str]:
        now = self._clock.monotonic()
        wanted = set(ids)
        new = [one for one in wanted if now - self._known.get(one, ("", float("-inf")))[1] > _KEPT]
        if new:
            if len(self._known) + len(new) > _MOST:
                self._known.clear()
            self._known.update({one: (self._known.get(one, ("",))[0], now) for one in new})
            try:
                async with asyncio.timeout(_PATIENCE):
                    await asyncio.gather(*(self._ask(one, now) for one in new[:20]))
            except TimeoutError:
                pass
        return {one: name for one in wanted if (name := self._known.get(one, ("",))[0])}

    async def _ask(self, one: str, now: float) -> None:
        try:
            answer = await self._api.call(self._method, {self._kind: one})
        except AdapterError:
            return
        if name := self._read(answer):
            self._known[one] = (name, now)


def _room(channel: Any) -> str:  # noqa: ANN401  JSON
    """A group message has a name that nobody knows it by."""
    if not isinstance(channel, Mapping) or channel.get("is_im") or channel.get("is_mpim"):
        return ""
    name = channel.get("name")
    return scrub_surrogates(name.strip())[:100] if isinstance(name, str) else ""


def _name(user: Any) -> str:  # noqa: ANN401  JSON
    profile = user.get("profile") if isinstance(user, Mapping) else None
    places = (profile, user) if isinstance(profile, Mapping) else (user,)
    for place in places:
        for key in ("display_name", "real_name", "name"):
            found = place.get(key) if isinstance(place, Mapping) else None
            if isinstance(found, str) and found.strip():
                return scrub_surrogates(found.strip())[:100]
    return ""
