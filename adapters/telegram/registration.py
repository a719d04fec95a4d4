"""Where Telegram shall post updates: said to it at the start, and looked after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.telegram.client import BotApi
from adapters.telegram.parse import allowed_updates
from adapters.telegram.reading import Reading
from adapters.telegram.settings import WebhookMode
from adapters.troubles import Troubles
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import AdapterError, Conflict

__all__ = ["Registration"]

_EVERY = 60.0
"""Seconds between two looks. Telegram tells of deliveries that failed only when it is asked."""


class Registration:
    """One bot's address."""

    def __init__(self, api: BotApi, settings: WebhookMode, reading: Reading, clock: Clock) -> None:
        self._api = api
        self._settings = settings
        self._reading = reading
        self._clock = clock
        self._last_failure: object = None
        self._is_failing = False

    async def run(self, intake: Intake, troubles: Troubles) -> None:
        """Until cancelled. Another program's address is replaced, ever more slowly. Raises `Unauthorized`."""
        is_ours = False
        while True:
            try:
                if is_ours:
                    await self._look()
                else:
                    await self._register()
            except AdapterError as e:
                is_ours = is_ours and not isinstance(e, Conflict)
                await troubles.met(e)
                continue
            is_ours = True
            troubles.over()
            intake.alive()
            await self._clock.sleep(_EVERY)

    async def _register(self) -> None:
        params = {
            "url": self._settings.url,
            "secret_token": self._settings.secret_token.get_secret_value(),
            "max_connections": self._settings.max_connections,
            "allowed_updates": allowed_updates(self._reading),
        }
        await self._api.call("setWebhook", params)
        self._last_failure = (await self._info()).get("last_error_date")

    async def _look(self) -> None:
        """Raises `Conflict` when the address is another's, `AdapterError` when Telegram fails to reach ours."""
        info = await self._info()
        if info.get("url") != self._settings.url:
            raise Conflict("Another program has set or removed this bot's webhook.")
        failed, self._last_failure = (
            info.get("last_error_date") != self._last_failure,
            info.get("last_error_date"),
        )
        self._is_failing = bool(info.get("pending_update_count")) and (failed or self._is_failing)
        if self._is_failing:
            raise AdapterError(f"Telegram cannot deliver to webhook.url: {info.get('last_error_message')}")

    async def _info(self) -> Mapping[str, Any]:
        info = await self._api.call("getWebhookInfo")
        if not isinstance(info, dict):
            raise AdapterError("Telegram's answer to getWebhookInfo makes no sense; check base_url.")
        return info
