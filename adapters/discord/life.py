"""A bot's life beside taking and sending: it signs in, makes one connection after the other, and fills its menu."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import structlog

from adapters.discord.client import Rest
from adapters.discord.commands import is_same
from adapters.discord.gateway import Dispatch, Dropped, Link
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Unauthorized, Unreachable

__all__ = ["Life", "pause_after", "together"]

_log = structlog.get_logger("adapters.discord")
_LONGEST_PAUSE, _LONGEST_RESUME = 60.0, 10.0
"""Seconds. A session that is gone on with costs nothing."""
_STEP = 60.0
_STEADY = 120.0
"""Seconds after which a connection counts as good."""
_SESSIONS, _SESSION_EVERY = 50, 100.0
"""Discord allows 1,000 new sessions a day: so many at once, and one more in so many seconds."""


def pause_after(error: AdapterError, failures: int, chance: float, *, resumes: bool = False) -> float:
    """Seconds to wait after that many failures in a row; `chance` (0 to 1) spreads what fails together."""
    if isinstance(error, NotTaken) and error.retry_after is not None:
        return error.retry_after
    longest = _LONGEST_RESUME if resumes and isinstance(error, Dropped) else _LONGEST_PAUSE
    return min(longest, float(2 ** min(failures, 10))) * (0.5 + chance / 2)


class Knocks:
    """How many new sessions we may still begin. Pure."""

    def __init__(self) -> None:
        self._full_at = float("-inf")

    def wait(self, now: float) -> float:
        """Seconds until the next one, which is counted."""
        self._full_at = max(self._full_at, now) + _SESSION_EVERY
        return max(0.0, self._full_at - now - _SESSIONS * _SESSION_EVERY)


class Life:
    """One run of one bot."""

    def __init__(self, rest: Rest, clock: Clock, instance: str, intake: Intake) -> None:
        self._rest = rest
        self._clock = clock
        self._instance = instance
        self._intake = intake

    async def sign_in(self) -> str:
        """Our id, however long it takes to learn it. Raises `Unauthorized`."""
        failures = 0
        while True:
            try:
                return _account(await self._rest.call("GET", "/users/@me", name="GET me"))
            except Unauthorized:
                raise
            except AdapterError as e:
                failures += 1
                await self._pause(e, pause_after(e, failures, random.random()))

    async def keep_linked(self, link: Link, events: asyncio.Queue[Dispatch]) -> None:
        """One connection after the other, until cancelled. Raises `Unauthorized`."""
        failures, knocks = 0, Knocks()
        while True:
            began = self._clock.monotonic()
            try:
                await link.run(events.put, self._intake.alive)
            except Unauthorized:
                raise
            except AdapterError as e:
                lived = self._clock.monotonic() - began > _STEADY
                failures = 1 if lived else failures + 1
                begins = link.session is None and not isinstance(e, Unreachable)
                knock = knocks.wait(self._clock.monotonic()) if begins else 0.0
                if not isinstance(e, Dropped) or failures > 1:
                    pause = pause_after(e, failures, random.random(), resumes=link.session is not None)
                    await self._pause(e, max(knock, pause))
                elif link.session is None:
                    # https://discord.com/developers/docs/events/gateway#resuming: wait one to five seconds
                    await self._clock.sleep(max(knock, random.uniform(1.0, 5.0)))

    async def _pause(self, error: AdapterError, pause: float) -> None:
        """Say what is wrong, and wait. A server that answers is alive, however long it makes us wait."""
        self._intake.state("connecting", str(error))
        _log.warning("discord.not_connected", instance=self._instance, error=str(error))
        while pause > 0:
            if not isinstance(error, Unreachable | OutcomeUnknown):
                self._intake.alive()
            step = min(_STEP, pause)
            await self._clock.sleep(step)
            pause -= step

    async def offer(self, wanted: list[dict[str, Any]] | None) -> None:
        """Fill the platform's menu, best effort; `None` leaves it as it is."""
        if wanted is None:
            return
        try:
            app = await self._rest.call("GET", "/applications/@me", name="GET application")
            path = f"/applications/{app['id']}/commands"
            if not is_same(await self._rest.call("GET", path, name="GET commands"), wanted):
                await self._rest.call("PUT", path, wanted, name="PUT commands")
        except (AdapterError, KeyError, TypeError) as e:
            _log.info("discord.no_command_menu", instance=self._instance, error=str(e))


async def together(
    linked: Coroutine[Any, Any, None],
    taking: Coroutine[Any, Any, None],
    menu: Coroutine[Any, Any, None],
    *,
    name: str,
) -> None:
    """Run until the connection or the taking ends; then all end."""
    tasks = [
        asyncio.create_task(linked, name=f"gateway {name}"),
        asyncio.create_task(taking, name=f"taking {name}"),
    ]
    offer = asyncio.create_task(menu, name=f"commands {name}")
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (*tasks, offer):
            task.cancel()
        await asyncio.wait((*tasks, offer), timeout=4.0)


def _account(me: object) -> str:
    if isinstance(me, dict) and str(me.get("id", "")).isdigit():
        return str(me["id"])
    raise AdapterError("Discord's answer about the bot has no id; check base_url.")
