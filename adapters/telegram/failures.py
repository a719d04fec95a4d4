"""What the Bot API's error answers mean for us. Pure.

Source: https://core.telegram.org/bots/api#making-requests and #responseparameters. An answer with `ok: false`
is the server's word that the call was not carried out; an error without it (a gateway's page) is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes.errors import AdapterError, Conflict, NotTaken, OutcomeUnknown, Rejected, Unauthorized

__all__ = ["Refused", "failure"]


class Refused(Rejected):
    """The Bot API refused a call for good.

    description: its own words. migrated_to: the chat's new id, when it became a supergroup.
    """

    def __init__(self, method: str, code: int, description: str, migrated_to: int | None = None) -> None:
        super().__init__(f"Telegram refused {method} ({code}): {description}")
        self.description = description
        self.migrated_to = migrated_to


def failure(method: str, status: int, body: bytes) -> AdapterError:
    """The error that an answer with an HTTP status of 300 or more stands for."""
    verdict = _verdict(body)
    if verdict is None:
        return _without_verdict(method, status)
    code, description = verdict.get("error_code", status), str(verdict.get("description", ""))[:500]
    parameters = verdict.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    if code == 401 or (code == 404 and method == "getMe"):
        return Unauthorized(
            f"Telegram refused the bot's token ({code} {description}); check it with @BotFather.",
            setting="token",
        )
    if code == 409:
        return Conflict(f"Another program receives this bot's messages: {description}")
    if code == 429:
        return NotTaken(f"Telegram asks to slow down: {description}", retry_after=_seconds(parameters))
    if code >= 500:
        return NotTaken(f"Telegram could not carry out {method} ({code}): {description}")
    return Refused(method, code, description, _integer(parameters.get("migrate_to_chat_id")))


def _verdict(body: bytes) -> Mapping[str, Any] | None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if (
        isinstance(answer, dict)
        and answer.get("ok") is False
        and _integer(answer.get("error_code", 0)) is not None
    ):
        return answer
    return None


def _without_verdict(method: str, status: int) -> AdapterError:
    if status == 413:
        return Rejected(f"A server before Telegram takes nothing as large as what {method} was to send.")
    if status >= 500:
        return OutcomeUnknown(f"A server before Telegram answered {method} with HTTP {status}.")
    return NotTaken(
        f"{method} was answered with HTTP {status}, and not by the Bot API; check base_url and network.proxy."
    )


def _seconds(parameters: Mapping[str, Any]) -> float | None:
    seconds = _integer(parameters.get("retry_after"))
    return None if seconds is None else float(max(0, seconds))


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
