"""Settings of the Telegram adapter; no SDK is imported here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from hermes.config import Duration, PlatformSettings, Section, is_address

__all__ = ["TelegramSettings", "WebhookMode"]

_OFFICIAL = "https://api.telegram.org/bot"
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_TOKEN = re.compile(r"\d{1,20}:[A-Za-z0-9_-]{1,200}")


class WebhookMode(Section):
    """`platforms.telegram.webhook`."""

    url: str = Field(
        description="The address that Telegram calls; it must lead to /INSTANCE/updates of our HTTP server."
    )
    secret_token: SecretStr = Field(
        description="Telegram sends it with each update: up to 256 of A-Z, a-z, 0-9, _ and -."
    )
    max_connections: int = Field(
        default=1, ge=1, le=100, description="Updates at once; with more than one their order may get lost."
    )

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not is_address(value):
            raise ValueError('write for example "https://bot.example.org/telegram/updates"')
        return value

    @field_validator("secret_token")
    @classmethod
    def _is_a_secret(cls, value: SecretStr) -> SecretStr:
        if not _SECRET.fullmatch(value.get_secret_value()):
            raise ValueError("Telegram takes 1 to 256 characters of A-Z, a-z, 0-9, _ and -")
        return value


class TelegramSettings(PlatformSettings):
    """`platforms.telegram`."""

    token: SecretStr = Field(description="The bot's token, from @BotFather.")
    base_url: str = Field(
        default=_OFFICIAL,
        description="Where the Bot API is served; the token is appended to it.",
    )
    base_file_url: str | None = Field(
        default=None,
        description="Where its files are served; absent: base_url with /bot replaced by /file/bot.",
    )
    mention: Literal["required", "off"] = Field(
        default="required",
        description="In groups and channels: answer when mentioned, replied to or commanded; off: always.",
    )
    local_files: Path | None = Field(
        default=None,
        description="Folder in which a Bot API server of your own that runs with --local keeps its files.",
    )
    reactions: Literal["off", "ack"] = Field(
        default="off", description="ack: a message that was taken gets a reaction (eyes) at once."
    )
    hear_reactions: bool = Field(
        default=False,
        description="Whether a reaction that somebody sets in a private chat is a message for the agent.",
    )
    quote_replies: Literal["groups", "always", "off"] = Field(
        default="groups", description="Where an answer quotes the message that it answers."
    )
    webhook: WebhookMode | None = Field(
        default=None, description="Updates come as requests of Telegram to our HTTP server; absent: by polls."
    )
    poll_timeout: Duration = Field(
        default=30.0,
        ge=1,
        le=50,
        description="Seconds that the server holds a poll open when there is no news.",
    )

    @field_validator("token")
    @classmethod
    def _is_a_token(cls, value: SecretStr) -> SecretStr:
        token = value.get_secret_value().strip()
        if not _TOKEN.fullmatch(token):
            raise ValueError("this is no bot token; @BotFather gives one that looks like 123456789:AAbbCC")
        return SecretStr(token)

    @field_validator("base_url", "base_file_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not is_address(value):
            raise ValueError('write for example "http://127.0.0.1:8081/bot"')
        return value

    @model_validator(mode="after")
    def _telegram_calls_by_tls(self) -> Self:
        hook = self.webhook
        if hook is not None and self.base_url == _OFFICIAL and not hook.url.startswith("https://"):
            raise ValueError("webhook.url must begin with https://, Telegram calls no other addresses")
        return self

    def exclusive(self) -> Mapping[str, tuple[str, ...]]:
        """See `PlatformSettings.exclusive`."""
        return {"token": (self.base_url, self.token.get_secret_value())}

    def file_url(self) -> str:
        """Where files are served; the token is appended to it."""
        if self.base_file_url is not None:
            return self.base_file_url
        head, found, tail = self.base_url.rpartition("/bot")
        return f"{head}/file/bot{tail}" if found else self.base_url
