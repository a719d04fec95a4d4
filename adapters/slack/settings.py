"""Settings of the Slack adapter; no SDK is imported here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator

from hermes.config import Duration, PlatformSettings

__all__ = ["Pings", "SlackSettings"]

Pings = Literal["none", "users", "all"]
"""Whom the agent's words may notify: nobody, people by `<@U123>`, or also @here, @channel and user groups."""

Prompt = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]

_BOT_TOKEN = re.compile(r"(xoxe\.)?xoxb-[A-Za-z0-9-]{1,400}")
_APP_TOKEN = re.compile(r"xapp-[A-Za-z0-9-]{1,400}")
_ADDRESS = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?")


class SlackSettings(PlatformSettings):
    """`platforms.slack`."""

    bot_token: SecretStr = Field(description="The Bot User OAuth Token (xoxb-...), from OAuth & Permissions.")
    app_token: SecretStr | None = Field(
        default=None,
        description="The App-Level Token (xapp-...) with the scope connections:write; mode socket needs it.",
    )
    mode: Literal["socket", "http"] = Field(
        default="socket",
        description="How messages come: by a connection of our own, or as requests of Slack to our HTTP server.",
    )
    signing_secret: SecretStr | None = Field(
        default=None, description="The Signing Secret, from Basic Information; mode http needs it."
    )
    base_url: str = Field(default="https://slack.com/api/", description="Where the Web API is served.")
    mention: Literal["required", "off"] = Field(
        default="required",
        description="In channels and group messages: answer when mentioned; off: always.",
    )
    thread_mention: Literal["required", "off"] = Field(
        default="off",
        description="In a thread where we take part: answer every message, or (required) only mentions.",
    )
    reply_in: Literal["thread", "channel"] = Field(
        default="thread",
        description="Where a message in a channel is answered: in a thread below it, or in the channel.",
    )
    pings: Pings = Field(
        default="none",
        description="Whom the agent's words may notify: nobody, users (<@U123>), or all (also <!here>).",
    )
    reactions: Literal["off", "ack"] = Field(
        default="off",
        description="ack: a message that was taken gets a reaction (eyes) at once; scope reactions:write.",
    )
    prompts: tuple[Prompt, ...] = Field(
        default=(),
        max_length=4,
        description="Up to four questions that a new thread of the assistant view suggests.",
    )
    ping_every: Duration = Field(
        default=10.0,
        ge=0.05,
        le=60,
        description="Seconds without a word from Slack after which the connection is tested; twice: it is dead.",
    )

    @field_validator("bot_token")
    @classmethod
    def _is_a_bot_token(cls, value: SecretStr) -> SecretStr:
        token = value.get_secret_value().strip()
        if not _BOT_TOKEN.fullmatch(token):
            raise ValueError(
                "this is no Bot User OAuth Token; it begins with xoxb- and stands at api.slack.com/apps, your app, "
                "OAuth & Permissions, once the app is installed"
            )
        return SecretStr(token)

    @field_validator("app_token")
    @classmethod
    def _is_an_app_token(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        token = value.get_secret_value().strip()
        if not _APP_TOKEN.fullmatch(token):
            raise ValueError(
                "this is no App-Level Token; it begins with xapp- and is made at api.slack.com/apps, your app, "
                "Basic Information, App-Level Tokens (scope connections:write)"
            )
        return SecretStr(token)

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not _ADDRESS.fullmatch(value):
            raise ValueError('write for example "https://slack.com/api/"')
        return value if value.endswith("/") else f"{value}/"

    @model_validator(mode="after")
    def _has_what_its_mode_needs(self) -> Self:
        if self.mode == "socket" and self.app_token is None:
            raise ValueError("app_token is missing (xapp-..., scope connections:write), or set mode: http")
        if self.mode == "http" and not (self.signing_secret and self.signing_secret.get_secret_value()):
            raise ValueError("mode: http needs signing_secret, from the app's Basic Information")
        return self

    def exclusive(self) -> Mapping[str, tuple[str, ...]]:
        """See `PlatformSettings.exclusive`. Of connections with one app token Slack chooses any for each message."""
        mine = {"bot_token": (self.base_url, self.bot_token.get_secret_value())}
        if self.mode == "socket" and self.app_token is not None:
            mine["app_token"] = (self.base_url, self.app_token.get_secret_value())
        return mine
