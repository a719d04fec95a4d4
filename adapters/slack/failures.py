"""What the Web API's error answers mean for us. Pure.

Source: https://docs.slack.dev/apis/web-api/ and the errors of each method's page. An answer with `ok: false` is
the server's word that the call was not carried out, but for two errors of which Slack says that some of it may
have been; an error without it (a gateway's page) is no word at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Rejected, Unauthorized

__all__ = ["GONE", "Refused", "failure"]

GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"})
"""Errors of an edit after which the message can no longer be changed."""

_TOKENS = {
    "invalid_auth": "is wrong",
    "not_authed": "is missing",
    "account_inactive": "belongs to an app or a workspace that was removed",
    "token_revoked": "was revoked",
    "token_expired": "has expired",
}
_OPENING = (
    "apps.connections.open"  # its token does nothing else, so whatever is refused there is the token's fault
)
_MAY_HAVE_BEEN_DONE = frozenset({"fatal_error", "internal_error"})
_LATER = frozenset({"service_unavailable", "request_timeout", "team_added_to_org", "ekm_access_denied"})
_SLOWER = frozenset({"ratelimited", "rate_limited", "accesslimited", "message_limit_exceeded"})
_SENTENCES = {
    "channel_not_found": "there is no such channel, or the app cannot see it; write its id (C..., D..., G...) "
    "and invite the app to it",
    "not_in_channel": "the app is not in this channel; invite it with /invite",
    "is_archived": "the channel is archived",
    "msg_too_long": "the message is too long",
    "no_text": "the message has no text",
    "restricted_action": "the workspace's owners do not allow it there",
    "user_not_found": "there is no such user",
    "cannot_dm_bot": "bots cannot be written to",
    "invalid_channel": "there is no such channel, or the app cannot see it; invite the app to it",
    "posting_to_channel_denied": "the app may not write in this channel",
    "file_type_not_allowed": "the workspace does not allow this type of file",
    "file_uploads_disabled": "the workspace allows no files",
    "file_uploads_except_images_disabled": "the workspace allows no files but images",
    "file_upload_size_restricted": "the file is larger than the workspace allows",
    "storage_limit_reached": "the workspace has no room left for files",
}


class Refused(Rejected):
    """The Web API refused a call for good. error: its own word for the reason."""

    def __init__(self, method: str, error: str, told: str) -> None:
        super().__init__(f"Slack refused {method} ({error}): {told}.")
        self.error = error


def failure(method: str, status: int, answer: object, retry_after: str | None = None) -> AdapterError:
    """The error that an answer stands for. `retry_after`: the header of that name."""
    verdict = answer if isinstance(answer, Mapping) and isinstance(answer.get("error"), str) else None
    if status == 429 or (verdict is not None and verdict["error"] in _SLOWER):
        return NotTaken(f"Slack asks to slow down at {method}.", retry_after=_seconds(retry_after))
    if verdict is None or verdict.get("ok") is not False:
        return _without_verdict(method, status)
    return _refusal(method, str(verdict["error"])[:100], verdict)


def _refusal(method: str, error: str, verdict: Mapping[str, Any]) -> AdapterError:
    if error in _TOKENS or (method == _OPENING and error not in _MAY_HAVE_BEEN_DONE | _LATER):
        setting = "app_token" if method == _OPENING else "bot_token"
        return Unauthorized(_token_told(method, error), setting=setting)
    if error in _MAY_HAVE_BEEN_DONE:
        return OutcomeUnknown(f"Slack failed at {method} ({error}).")
    if error in _LATER:
        return NotTaken(f"Slack cannot carry out {method} at the moment ({error}).")
    if error == "missing_scope":
        needed = str(verdict.get("needed", "?"))[:200]
        return Refused(
            method,
            error,
            f"the app has not the scope {needed}; add it under OAuth & Permissions and install the app anew",
        )
    return Refused(method, error, _SENTENCES.get(error, "see this error on the method's page"))


def _token_told(method: str, error: str) -> str:
    if method == _OPENING:
        why = _TOKENS.get(error, "does not allow Socket Mode")
        return (
            f"Slack refused the app token: it {why} ({error}). Make one in the app's settings, under App-Level "
            "Tokens, with the scope connections:write, and switch Socket Mode on."
        )
    return (
        f"Slack refused the bot token: it {_TOKENS[error]} ({error}). Install the app to the workspace and take "
        "the Bot User OAuth Token from OAuth & Permissions."
    )


def _without_verdict(method: str, status: int) -> AdapterError:
    if status >= 500 or status < 300:
        return OutcomeUnknown(f"{method} was answered with HTTP {status}, and not by Slack's Web API.")
    return NotTaken(
        f"{method} was answered with HTTP {status}, and not by Slack's Web API; check base_url and network.proxy."
    )


def _seconds(header: str | None) -> float:
    """Seconds to wait; without a usable header half a minute, which is what Slack's own client does."""
    try:
        return max(0.0, float(header or ""))
    except ValueError:
        return 30.0
