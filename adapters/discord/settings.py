"""Settings of the Discord adapter; no SDK is imported here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from hermes.config import ByteSize, PlatformSettings, Rate, RateLimit

__all__ = ["CDN", "DiscordSettings"]

CDN = "https://cdn.discordapp.com"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,200}(\.[A-Za-z0-9_-]{1,200}){2}")
_HTTP = re.compile(r"https?://[^\s/]+(/\S*)?")
_SOCKET = re.compile(r"wss?://[^\s/]+(/\S*)?")


def _channels(value: object) -> object:
    """A list of ids as strings, since YAML reads them as numbers."""
    if isinstance(value, list | tuple):
        return [str(v) for v in value]
    return [str(value)] if isinstance(value, str | int) else value


Channels = Annotated[tuple[str, ...], BeforeValidator(_channels)]


class DiscordSettings(PlatformSettings):
    """`platforms.discord`."""

    token: SecretStr = Field(description="The bot's token, from the Bot page of discord.com/developers.")
    base_url: str = Field(default="https://discord.com/api/v10", description="Where the REST API is served.")
    gateway_url: str = Field(default="wss://gateway.discord.gg/", description="Where the gateway is served.")
    cdn_url: str = Field(default=CDN, description="Where files are served.")
    largest_file: ByteSize = Field(
        default=10 * 1024**2,
        gt=0,
        description="The largest file to send: 10 MiB, in servers with boost level 2 50 MiB, with level 3 100 MiB.",
    )
    mention: Literal["required", "off"] = Field(
        default="required",
        description="In servers: answer when mentioned, replied to, commanded, or in a thread that we take part in; off: always.",
    )
    channels: Channels | None = Field(
        default=None,
        description="Channels of servers in which we answer; a thread counts as its channel. Absent: all.",
    )
    free_channels: Channels = Field(
        default=(), description="Channels (and their threads) in which nobody must mention us."
    )
    auto_thread: bool = Field(
        default=False, description="Answer a mention in a channel in a new thread that begins at it."
    )
    allow_bots: Literal["off", "mentions", "all"] = Field(
        default="off",
        description="Other bots: never heard; when their text names us; always. allow_from holds for them too.",
    )
    bot_rate: RateLimit = Field(
        default=Rate(5, 60.0),
        description="How many messages of one other bot are heard, so that no two answer for ever.",
    )
    reactions: Literal["off", "ack"] = Field(
        default="off", description="ack: a message that was taken gets a reaction (eyes) at once."
    )
    slash_commands: bool = Field(default=True, description="Offer the commands in Discord's own menu.")
    message_content: bool = Field(
        default=True,
        description="Ask for the message content intent; without it only mentions, replies to us and direct messages have text.",
    )

    @field_validator("token")
    @classmethod
    def _is_a_token(cls, value: SecretStr) -> SecretStr:
        token = value.get_secret_value().strip().removeprefix("Bot ")
        if not _TOKEN.fullmatch(token):
            raise ValueError(
                "this is no bot token: that has three parts with dots between them; Reset Token on the Bot page of "
                "discord.com/developers shows it (the client secret, the public key and the application's id are others)"
            )
        return SecretStr(token)

    @field_validator("base_url", "cdn_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not _HTTP.fullmatch(value):
            raise ValueError('write for example "http://127.0.0.1:9002/api/v10"')
        return value.rstrip("/")

    @field_validator("gateway_url")
    @classmethod
    def _is_a_socket(cls, value: str) -> str:
        if not _SOCKET.fullmatch(value):
            raise ValueError('write for example "ws://127.0.0.1:9002/gw"')
        return value

    @model_validator(mode="after")
    def _both_are_of_one_server(self) -> Self:
        host = urlsplit(self.base_url).hostname or ""
        if f".{host}".endswith(".discord.com") or "gateway_url" in self.model_fields_set:
            return self
        raise ValueError(
            f"gateway_url is missing: base_url is at {host}, and the token would go to Discord's gateway; "
            f"write for example {type(self).model_fields['gateway_url'].get_default()}"
        )

    def exclusive(self) -> Mapping[str, tuple[str, ...]]:
        """See `PlatformSettings.exclusive`."""
        return {"token": (self.base_url, self.token.get_secret_value())}
