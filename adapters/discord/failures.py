"""What the API's error answers mean for us. Pure.

Source: https://discord.com/developers/docs/topics/opcodes-and-status-codes and .../topics/rate-limits.
An answer below 500 is the server's word that the call was not carried out; 5xx says nothing about it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Rejected, Unauthorized

__all__ = ["Refused", "failure", "is_global", "pause_of"]

_UNCHANGEABLE = (
    50005,
    50083,
)  # somebody else's; in a thread that is archived, which a new message opens again
_TOO_LARGE = 40005
_SIZES = (
    "The file is too large for that place. Discord takes 10 MiB from a bot, in servers with boost level 2 50 MiB, "
    "with level 3 100 MiB."
)
_BAN_PAUSE = 60.0
"""Seconds to keep still when a server before Discord sends us away and does not say for how long."""


class Refused(Rejected):
    """Discord refused a call for good. status: of HTTP. code: Discord's own, 0 where there is none."""

    def __init__(self, call: str, status: int, code: int, told: str) -> None:
        super().__init__(f"Discord refused {call} ({status}, code {code}): {told}")
        self.status = status
        self.code = code

    @property
    def is_gone(self) -> bool:
        """Whether what was called for is no longer there, or no longer ours to change."""
        return self.status == 404 or self.code in _UNCHANGEABLE


def failure(call: str, status: int, headers: Mapping[str, str], body: bytes) -> AdapterError:
    """The error that an answer with an HTTP status of 300 or more stands for.

    `call` names it without secrets ("POST message"). A 401 of an interaction's own address is no verdict on our token.
    """
    answer = _object(body)
    code, told = _code(answer), _told(answer)
    if status == 401 and not call.endswith("interaction"):
        return Unauthorized(
            "Discord refused the bot's token (401); take a new one from the Bot page of discord.com/developers.",
            setting="token",
        )
    if status == 429:
        return NotTaken(f"Discord asks to slow down: {told}", retry_after=pause_of(headers, body))
    if status >= 500:
        return OutcomeUnknown(f"Discord answered {call} with HTTP {status}.")
    if status == 413 or code == _TOO_LARGE:
        return Refused(call, status, code, _SIZES)
    if answer is None and status != 401:
        return NotTaken(
            f"{call} was answered with HTTP {status}, and not by Discord; check base_url and network.proxy.",
            retry_after=None,
        )
    return Refused(call, status, code, told)


def is_global(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a 429 is about everything that we do.

    One without Discord's own words is a ban by the server before it (too many refused requests).
    """
    answer = _object(body)
    scope = headers.get("X-RateLimit-Scope", "")
    return (
        answer is None or answer.get("global") is True or scope == "global" or "X-RateLimit-Global" in headers
    )


def pause_of(headers: Mapping[str, str], body: bytes) -> float:
    """Seconds that a 429 asks to wait."""
    answer = _object(body)
    for told in ((answer or {}).get("retry_after"), headers.get("Retry-After")):
        try:
            return max(0.0, float(told))  # type: ignore[arg-type]  # None is a TypeError like any other nonsense
        except (TypeError, ValueError):
            continue
    return _BAN_PAUSE


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _code(answer: Mapping[str, Any] | None) -> int:
    code = (answer or {}).get("code", 0)
    return code if isinstance(code, int) else 0


def _told(answer: Mapping[str, Any] | None) -> str:
    """Discord's words with the fields that it complains about, which are what says why."""
    told = str((answer or {}).get("message", ""))[:300]
    errors = (answer or {}).get("errors")
    return f"{told} {json.dumps(errors)[:300]}" if errors else told
