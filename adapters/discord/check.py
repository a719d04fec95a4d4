"""Asking Discord about a token before it is used.

Source: https://discord.com/developers/docs/resources/application#application-object .
"""

from __future__ import annotations

from adapters.discord.client import Rest
from adapters.discord.settings import DiscordSettings
from hermes.adapter import Account
from hermes.clock import SystemClock
from hermes.config import Network, PlatformSettings
from hermes.errors import AdapterError, OutcomeUnknown, Unreachable

__all__ = ["PERMISSIONS", "check"]

_SECONDS = 15.0
_MESSAGE_CONTENT = 1 << 18 | 1 << 19
PERMISSIONS = sum(1 << bit for bit in (10, 11, 14, 15, 16, 35, 38))
"""View channels, send messages, embed links, attach files, read history, create threads, send in threads."""
_ADD_REACTIONS = 1 << 6
_INTENT_IS_OFF = (
    "The Message Content Intent is off, and Discord will refuse the bot. Switch it on at discord.com/developers: your "
    "application, Bot, Privileged Gateway Intents. Or do without, with message_content: false"
)
_HAS_ENDPOINT = (
    "The application has an Interactions Endpoint URL: slash commands and presses of buttons go there and "
    "not to Hermes. Clear it at discord.com/developers, General Information."
)


async def check(settings: PlatformSettings, network: Network) -> Account:
    """The bot that the token belongs to. Changes nothing there.

    Raises `Unauthorized`, `Unreachable` (also when no answer comes), `AdapterError` for an answer that is none.
    """
    if not isinstance(settings, DiscordSettings):
        raise TypeError("these are no settings of Discord")
    rest = Rest(settings.token.get_secret_value(), settings.base_url, network, SystemClock())
    try:
        me = await rest.call("GET", "/users/@me", name="GET me", answer_within=_SECONDS)
        app = await rest.call("GET", "/applications/@me", name="GET application", answer_within=_SECONDS)
    except OutcomeUnknown as error:
        raise Unreachable(f"Discord did not answer: {error}") from error
    finally:
        await rest.aclose()
    if not isinstance(me, dict) or not me.get("id") or not isinstance(app, dict):
        raise AdapterError("Discord's answer about the bot has no id; check base_url.")
    return Account(f"@{me.get('username') or me['id']}", tuple(_notes(settings, app, str(me["id"]))))


def _notes(settings: DiscordSettings, app: dict[str, object], bot: str) -> list[str]:
    notes = []
    flags = app.get("flags")
    if settings.message_content and isinstance(flags, int) and not flags & _MESSAGE_CONTENT:
        notes.append(_INTENT_IS_OFF)
    if app.get("interactions_endpoint_url"):
        notes.append(_HAS_ENDPOINT)
    permissions = PERMISSIONS | (_ADD_REACTIONS if settings.reactions == "ack" else 0)
    invite = (
        f"https://discord.com/oauth2/authorize?client_id={app.get('id') or bot}&permissions={permissions}"
    )
    return [*notes, f"Invite the bot to a server with {invite}&scope=bot+applications.commands"]
