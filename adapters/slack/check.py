"""Asking Slack about tokens before they are used: auth.test with the scopes it tells, apps.connections.open.

https://docs.slack.dev/reference/methods/auth.test, /apps.connections.open
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adapters.slack.adapter import account_of
from adapters.slack.client import WebApi
from adapters.slack.manifest import NEEDED, REACTING
from adapters.slack.settings import SlackSettings
from hermes.adapter import Account
from hermes.config import Network, PlatformSettings
from hermes.errors import OutcomeUnknown, Unreachable

__all__ = ["check"]


async def check(settings: PlatformSettings, network: Network) -> Account:
    """The app that the tokens belong to. Changes nothing there.

    Raises `Unauthorized`, `Unreachable` (also when no answer comes), `AdapterError` for an answer that is none.
    """
    if not isinstance(settings, SlackSettings):
        raise TypeError("these are no settings of Slack")
    api = WebApi(settings.bot_token.get_secret_value(), settings.base_url, network)
    try:
        me = await api.call("auth.test")
        if settings.mode == "socket" and settings.app_token is not None:
            await api.call("apps.connections.open", token=settings.app_token.get_secret_value())
    except OutcomeUnknown as error:
        raise Unreachable(f"Slack did not answer: {error}") from error
    finally:
        await api.aclose()
    account = account_of(me)
    team = str(me.get("team") or account.team)
    return Account(
        f"@{me.get('user') or account.user} in {team}", tuple(_notes(api.scopes, _wanted(settings)))
    )


def _wanted(settings: SlackSettings) -> Mapping[str, str]:
    return NEEDED if settings.reactions == "off" else {**NEEDED, **REACTING}


def _notes(scopes: Sequence[str], wanted: Mapping[str, str]) -> Iterator[str]:
    """What the app cannot do for want of a scope; nothing where Slack did not tell its scopes."""
    missing = [scope for scope in wanted if scope not in scopes] if scopes else []
    if missing:
        lost = "; ".join(f"{scope}: {wanted[scope]}" for scope in missing)
        yield f"The app lacks scopes (OAuth & Permissions, then install it anew): {lost}."
