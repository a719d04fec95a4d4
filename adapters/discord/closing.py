"""Why the gateway has closed a connection for good, and what a person can do. Pure.

Source: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes .
"""

from __future__ import annotations

from collections.abc import Mapping

from hermes.errors import AdapterError, Unauthorized

__all__ = ["judge_close"]

_TOKEN = 4004
_FINAL: Mapping[int, str] = {
    _TOKEN: "Discord refused the bot's token (4004); take a new one from the Bot page of discord.com/developers.",
    4010: "Discord refused the shard (4010).",
    4011: "The bot is in too many servers for one connection (4011), and Hermes makes only one.",
    4012: "Discord does not speak version 10 of the gateway any more (4012); update Hermes.",
    4013: "Discord does not know an intent that we asked for (4013); update Hermes.",
    4014: "Discord does not grant the bot the message content intent (4014). Switch it on at discord.com/developers: "
    "your application, Bot, Privileged Gateway Intents, Message Content Intent. "
    "Or do without, with message_content: false in the platform's settings.",
}


def judge_close(code: int | None) -> AdapterError:
    """The error that a close code stands for; `Unauthorized` where trying again cannot help."""
    told = _FINAL.get(code or 0)
    if told is None:
        return AdapterError(f"The gateway closed the connection ({code}).")
    return Unauthorized(told, setting="token" if code == _TOKEN else None)
