"""Asking Telegram about a token before it is used: https://core.telegram.org/bots/api#getme, #getwebhookinfo."""

from __future__ import annotations

from adapters.telegram.client import BotApi
from adapters.telegram.settings import TelegramSettings
from hermes.adapter import Account
from hermes.config import Network, PlatformSettings
from hermes.errors import AdapterError, OutcomeUnknown, Unreachable

__all__ = ["check"]

_SECONDS = 15.0


async def check(settings: PlatformSettings, network: Network) -> Account:
    """The bot that the token belongs to. Changes nothing there.

    Raises `Unauthorized`, `Unreachable` (also when no answer comes), `AdapterError` for an answer that is none.
    """
    if not isinstance(settings, TelegramSettings):
        raise TypeError("these are no settings of Telegram")
    api = BotApi(settings.token.get_secret_value(), settings.base_url, settings.file_url(), network)
    try:
        me = await api.call("getMe", answer_within=_SECONDS)
        hook = await api.call("getWebhookInfo", answer_within=_SECONDS)
    except OutcomeUnknown as error:
        raise Unreachable(f"Telegram did not answer: {error}") from error
    finally:
        await api.aclose()
    if not isinstance(me, dict) or not isinstance(me.get("id"), int):
        raise AdapterError("Telegram's answer to getMe has no id; check base_url.")
    url = hook.get("url") if isinstance(hook, dict) else None
    notes = (
        (
            f"Another program has set a webhook for this bot ({_host(str(url))}); Hermes takes its place when it starts.",
        )
        if url and (settings.webhook is None or url != settings.webhook.url)
        else ()
    )
    return Account(f"@{me.get('username') or me['id']}", notes)


def _host(url: str) -> str:
    """Addresses of webhooks often hold a secret: only the host is shown."""
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2] or "unknown"
