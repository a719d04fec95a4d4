"""The app's manifest: what to give Slack so that it makes the app with everything that is needed. Pure.

Source: https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

from collections.abc import Mapping

from hermes.messages import JSONObject

__all__ = ["NEEDED", "REACTING", "manifest"]

NEEDED: Mapping[str, str] = {
    "chat:write": "it cannot write at all",
    "im:history": "it hears no direct messages",
    "app_mentions:read": "it hears no mentions",
    "channels:history": "it hears nothing more in threads of public channels",
    "groups:history": "it hears nothing more in threads of private channels",
    "mpim:history": "it hears nothing in group messages",
    "im:write": "it cannot begin a conversation with somebody",
    "users:read": "it knows nobody's name",
    "files:read": "it cannot read files that people send",
    "files:write": "it cannot send files",
}
"""Scopes of the bot token, and what is missing without each."""

REACTING: Mapping[str, str] = {"reactions:write": "it cannot react to messages"}
"""The scope that `reactions: ack` needs."""

_MORE = ("channels:read", "chat:write.public", "commands", "groups:read", "im:read", "mpim:read", *REACTING)
_EVENTS = ("app_mention", "message.channels", "message.groups", "message.im", "message.mpim")


def manifest(*, name: str = "Hermes", url: str | None = None, assistant: bool = False) -> JSONObject:
    """The manifest. url: the request URL of mode http, else Socket Mode. assistant: with Slack's assistant view."""
    command: JSONObject = {
        "command": "/hermes",
        "description": "Ask Hermes",
        "usage_hint": "a question, or a command such as new, stop, status",
        "should_escape": True,
    }
    events: JSONObject = {"bot_events": list(_EVENTS)}
    features: JSONObject = {
        "app_home": {
            "home_tab_enabled": False,
            "messages_tab_enabled": True,
            "messages_tab_read_only_enabled": False,
        },
        "bot_user": {"display_name": name, "always_online": True},
        "slash_commands": [command],
    }
    presses: JSONObject = {"is_enabled": True}
    scopes = [*NEEDED, *_MORE]
    if url is not None:
        command["url"] = events["request_url"] = presses["request_url"] = url
    if assistant:
        features["assistant_view"] = {"assistant_description": "Answers in threads of their own."}
        events["bot_events"] = [*_EVENTS, "assistant_thread_started", "assistant_thread_context_changed"]
        scopes.append("assistant:write")
    return {
        "display_information": {"name": name, "description": "An AI agent"},
        "features": features,
        "oauth_config": {"scopes": {"bot": sorted(scopes)}},
        "settings": {
            "event_subscriptions": events,
            "interactivity": presses,
            "org_deploy_enabled": False,
            "socket_mode_enabled": url is None,
            "token_rotation_enabled": False,
        },
    }
