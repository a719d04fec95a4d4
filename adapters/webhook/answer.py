"""What the sender of a webhook is told."""

from __future__ import annotations

import json

from aiohttp import web
from multidict import CIMultiDict

from hermes.events import Verdict

__all__ = ["error", "status"]

_JSON = "application/json"
_PLAIN = CIMultiDict({"Content-Type": _JSON})
_LATER = frozenset({"rate", "backlog"})
_CODES = {"accepted": 202, "duplicate": 200, "ignored": 200}


def error(code: int, text: str, retry_after: int | None = None) -> web.Response:
    """`{"error": TEXT}`."""
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    body = json.dumps({"error": text}, ensure_ascii=False).encode()
    return web.Response(status=code, body=body, content_type=_JSON, headers=headers)


def status(verdict: Verdict) -> web.Response:
    """`{"status": ..., "id": ...}` for what was taken, an error for what was refused."""
    code = _CODES.get(verdict.kind)
    if code is not None:
        body = f'{{"status": "{verdict.kind}", "id": {json.dumps(verdict.ticket)}}}'.encode()
        return web.Response(status=code, body=body, headers=_PLAIN)
    if verdict.reason in _LATER:
        return error(429, "Too much at once; send it again later.", retry_after=60)
    if verdict.reason == "too long":
        return error(413, "The prompt that this makes is longer than gateway.limits.message_chars.")
    return error(403, f"Refused: {verdict.reason or verdict.kind}.")
