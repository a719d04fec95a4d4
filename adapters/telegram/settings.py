"""Settings of the Telegram adapter; no SDK is imported here."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from hermes.config import Duration, PlatformSettings, is_address

__all__ = ["TelegramSettings"]

_TOKEN = re.compile(r"\d{1,20}:[A-Za-z0-9_-]{1,200}")


class TelegramSettings(PlatformSettings):
    """`platforms.telegram`."""

    token: SecretStr = Field(description="The bot's token, from @BotFather.")
    base_url: str = Field(
        default="https://api.telegram.org/bot",
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

    def file_url(self) -> str:
        """Where files are served; the token is appended to it."""
        if self.base_file_url is not None:
            return self.base_file_url
        head, found, tail = self.base_url.rpartition("/bot")
        return f"{head}/file/bot{tail}" if found else self.base_url
