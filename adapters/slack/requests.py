"""Mode http: what Slack posts to our HTTP server, believed by its signature alone.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack (v0, five minutes) and
https://docs.slack.dev/apis/events-api/using-http-request-urls (an answer within three seconds, else it comes again),
https://docs.slack.dev/interactivity/handling-user-interaction (presses: a form whose `payload` is JSON; they come once).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import structlog
from aiohttp import web

from adapters.slack.taking import Taking
from hermes import failpoint
from hermes.adapter import Intake
from hermes.clock import Clock
from hermes.errors import StoreUnavailable

__all__ = ["Endpoint", "fault_of", "other_app"]

_log = structlog.get_logger("adapters.slack")
_TOLERANCE = 300.0
_DIGITS = re.compile(r"[0-9]{1,12}")
_PATIENCE = 2.5  # seconds


def fault_of(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> str | None:
    """Why a request is not believed; `None`: it is Slack's. Pure."""
    stamp, given = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not stamp or not given:
        return "X-Slack-Request-Timestamp or X-Slack-Signature is missing."
    if not _DIGITS.fullmatch(stamp):
        return "X-Slack-Request-Timestamp is no unix time in seconds."
    right = "v0=" + hmac.digest(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hex()
    if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode()):
        return "X-Slack-Signature does not fit the body; check signing_secret."
    if abs(now - int(stamp)) > _TOLERANCE:
        return f"X-Slack-Request-Timestamp is more than {_TOLERANCE:.0f} seconds off."
    return None


def other_app(payload: object, app: str) -> str | None:
    """Why a request is not for us although its signature is right; `None`: it is, or our app's id (`app`) is "". Pure."""
    told = payload.get("api_app_id") if isinstance(payload, Mapping) else None
    if not app or not isinstance(told, str) or told == app:
        return None
    return f"It is for the app {told[:40]!r}, and bot_token is of {app}; check that signing_secret is of the same app."


class Endpoint:
    """The request URL.

    taking: `None` until Slack has told us who we are. app: our app's id, "" where it is not known.
    """

    def __init__(self, instance: str, secret: str, clock: Clock, intake: Intake) -> None:
        self._instance = instance
        self._secret = secret
        self._clock = clock
        self._intake = intake
        self.taking: Taking | None = None
        self.app = ""
        self._under_way: set[asyncio.Task[Any]] = set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Size (the server's), signature, body, app, verdict: in this order."""
        body = await request.read()
        fault = fault_of(request.headers, body, self._secret, self._clock.time())
        if fault is not None:
            return self._refused(request, fault)
        read = _read(request.content_type, body)
        if read is None:
            return web.json_response({"error": "The body cannot be read."}, status=400)
        kind, payload = read
        if kind == "url_verification":
            return web.json_response({"challenge": payload.get("challenge")})
        if (fault := other_app(payload, self.app)) is not None:
            return self._refused(request, fault)
        if self.taking is None or not await self._taken(self.taking, kind, payload):
            return web.json_response({"error": "Nothing can be stored now."}, status=503)
        response = web.Response()
        await response.prepare(request)
        await response.write_eof()
        failpoint.reached("intake.acknowledged")
        self._intake.alive()
        return response

    def _refused(self, request: web.Request, fault: str) -> web.Response:
        _log.warning("slack.refused", instance=self._instance, peer=request.remote, reason=fault)
        return web.json_response({"error": fault}, status=401)

    async def _taken(self, taking: Taking, kind: str, payload: Any) -> bool:  # noqa: ANN401  JSON
        """Whether it is stored in time. What takes longer is stored all the same, and its repeat is a duplicate."""
        task = asyncio.create_task(taking.take([(kind, payload)], self._intake), name="slack request")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            async with asyncio.timeout(_PATIENCE):
                await asyncio.shield(task)
        except (StoreUnavailable, TimeoutError):
            return False
        return True


def _read(content_type: str, body: bytes) -> tuple[str, Any] | None:
    """The request's kind, in the words of envelopes, and what it holds."""
    try:
        if content_type == "application/x-www-form-urlencoded":
            form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
            return (
                ("interactive", json.loads(form["payload"]))
                if "payload" in form
                else ("slash_commands", form)
            )
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_check = isinstance(payload, dict) and payload.get("type") == "url_verification"
    return ("url_verification" if is_check else "events_api"), payload
