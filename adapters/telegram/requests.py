"""The way in by webhook: Telegram posts each update to the shared HTTP server, and hears "taken" once it is stored.

Source: https://core.telegram.org/bots/api#setwebhook. What is not answered with 2xx comes again, for a day.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from typing import Any

import structlog
from aiohttp import web

from adapters.telegram.parse import update_id
from adapters.telegram.taking import Taking
from hermes import failpoint
from hermes.adapter import Intake
from hermes.errors import StoreUnavailable

__all__ = ["Endpoint"]

_log = structlog.get_logger("adapters.telegram")
_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_OFF_THE_LOOP = 32 * 1024  # bytes of a body from which reading it is worth a thread


class Endpoint:
    """The address that Telegram calls. taking: `None` until Telegram has told us who we are."""

    def __init__(self, instance: str, secret: str, intake: Intake) -> None:
        self._instance = instance
        self._secret = secret.encode()
        self._intake = intake
        self.taking: Taking | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Secret, size (the server's), body, verdict: in this order."""
        given = request.headers.get(_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._secret):
            _log.warning("telegram.refused", instance=self._instance, peer=request.remote)
            return web.json_response({"error": f"{_HEADER} is missing or wrong."}, status=401)
        update = await _read(await request.read())
        if update_id(update) is None:
            return web.json_response({"error": "The body is no update."}, status=400)
        if self.taking is None or not await self._is_taken(self.taking, update):
            return web.json_response({"error": "Nothing can be stored now."}, status=503)
        response = web.Response()
        await response.prepare(request)
        await response.write_eof()
        failpoint.reached("intake.acknowledged")
        self._intake.alive()
        return response

    async def _is_taken(self, taking: Taking, update: Any) -> bool:  # noqa: ANN401  JSON
        moved, items = taking.moved([update]), taking.read([update])
        failpoint.reached("intake.parsed")
        try:
            if moved is not None:
                await self._intake.take([], moved)
            verdicts = await self._intake.take(items)
        except StoreUnavailable:
            return False
        taking.taken([update], items, verdicts)
        return True


async def _read(body: bytes) -> object:
    try:
        if len(body) < _OFF_THE_LOOP:
            return json.loads(body)
        return await asyncio.to_thread(json.loads, body)
    except (ValueError, RecursionError):
        return None
