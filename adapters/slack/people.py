"""What people are called: Slack sends ids, and the agent shall see names. Best effort, and asked for rarely.

https://docs.slack.dev/reference/methods/users.info (scope users:read)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from adapters.slack.client import WebApi
from hermes.clock import Clock
from hermes.errors import AdapterError
from hermes.messages import scrub_surrogates

__all__ = ["People", "senders"]

_KEPT = 3600.0  # seconds that a name, or that there is none, holds
_MOST = 2000
_PATIENCE = (
    1.0  # seconds: what is not known by then goes without a name, since Slack waits for its acknowledgement
)


def senders(payloads: Iterable[object]) -> set[str]:
    """The ids of the people who wrote these events."""
    found: set[str] = set()
    for payload in payloads:
        event = payload.get("event") if isinstance(payload, Mapping) else None
        if not isinstance(event, Mapping) or event.get("bot_id") or event.get("hidden"):
            continue
        if isinstance(user := event.get("user"), str):
            found.add(user)
    return found


class People:
    """Names by id."""

    def __init__(self, api: WebApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._known: dict[str, tuple[str, float]] = {}

    async def names(self, users: Iterable[str]) -> Mapping[str, str]:
        """The names of those of `users` who are known within a second. Raises nothing."""
        now = self._clock.monotonic()
        wanted = set(users)
        new = [user for user in wanted if now - self._known.get(user, ("", float("-inf")))[1] > _KEPT]
        if new:
            if len(self._known) + len(new) > _MOST:
                self._known.clear()
            self._known.update({user: (self._known.get(user, ("",))[0], now) for user in new})
            try:
                async with asyncio.timeout(_PATIENCE):
                    await asyncio.gather(*(self._ask(user, now) for user in new[:20]))
            except TimeoutError:
                pass
        return {user: name for user in wanted if (name := self._known.get(user, ("",))[0])}

    async def _ask(self, user: str, now: float) -> None:
        try:
            answer = await self._api.call("users.info", {"user": user})
        except AdapterError:
            return
        if name := _name(answer.get("user")):
            self._known[user] = (name, now)


def _name(user: Any) -> str:  # noqa: ANN401  JSON
    profile = user.get("profile") if isinstance(user, Mapping) else None
    places = (profile, user) if isinstance(profile, Mapping) else (user,)
    for place in places:
        for key in ("display_name", "real_name", "name"):
            found = place.get(key) if isinstance(place, Mapping) else None
            if isinstance(found, str) and found.strip():
                return scrub_surrogates(found.strip())[:100]
    return ""
