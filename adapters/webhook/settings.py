"""Settings of the webhook adapter."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from adapters.webhook.template import Template
from hermes.config import Duration, PlatformSettings, Section

__all__ = ["Route", "Scheme", "WebhookSettings", "standard_key"]

Scheme = Literal["github", "standard", "gitlab", "hmac"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def standard_key(secret: str) -> bytes:
    """The key of a Standard Webhooks secret (base64, usually with `whsec_` in front). Raises `ValueError`."""
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as e:
        raise ValueError("a Standard Webhooks secret is base64, usually with whsec_ in front") from e


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class Route(Section):
    """One address, `/webhooks/NAME`."""

    secret: SecretStr | None = Field(default=None, description="What the sender signs with.")
    scheme: Scheme = Field(
        default="hmac",
        description="How it signs: github, standard (Standard Webhooks, Svix), gitlab, or hmac "
        "(X-Signature over X-Timestamp and body).",
    )
    prompt: str = Field(
        min_length=1,
        description="The message for the agent; {{ payload.a.b }} and {{ payload.list.0 }} are filled in.",
    )
    deliver: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        default=(), description="Where the answer goes, such as telegram:1; absent: it is only kept."
    )
    session: Literal["route"] | None = Field(
        default=None, description='"route": all deliveries share one session; absent: each has its own.'
    )
    replay_window: Duration = Field(
        default=0.0,
        ge=0,
        description="For github and gitlab: seconds in which an equal body counts as the same delivery "
        "under whatever id.",
    )
    insecure: bool = Field(default=False, description="Take unsigned requests from anybody.")

    @field_validator("prompt")
    @classmethod
    def _prompt_is_a_template(cls, value: str) -> str:
        Template(value)
        return value

    @field_validator("deliver")
    @classmethod
    def _names_a_chat(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "origin" in value:
            raise ValueError(
                "a request comes from no chat, so it has no origin; name a chat, such as telegram:1"
            )
        return value

    @field_validator("secret")
    @classmethod
    def _secret_is_not_empty(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value():
            raise ValueError("the secret is empty; leave the key out, or give it a value")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.insecure and self.secret is not None:
            raise ValueError("insecure: true and a secret exclude each other")
        if self.scheme == "standard" and self.secret is not None:
            standard_key(self.secret.get_secret_value())
        if self.replay_window and self.scheme not in ("github", "gitlab"):
            raise ValueError(f"replay_window is for github and gitlab; {self.scheme} signs its time anyway")
        return self


class WebhookSettings(PlatformSettings):
    """`platforms.webhook`."""

    routes: dict[str, Route] = Field(default_factory=dict, description="Route name to what it takes.")

    def deliveries(self) -> Mapping[tuple[str, ...], Sequence[str]]:
        """See `PlatformSettings.deliveries`."""
        return {("routes", name, "deliver"): route.deliver for name, route in self.routes.items()}

    @field_validator("routes")
    @classmethod
    def _names_fit_into_an_address(cls, value: dict[str, Route]) -> dict[str, Route]:
        for name in value:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} cannot be a route; use letters, digits, dots, - and _ (at most 64)"
                )
        return value
