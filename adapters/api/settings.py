"""Settings of the API."""

from __future__ import annotations

from pydantic import Field, SecretStr, field_validator

from hermes.config import PlatformSettings

__all__ = ["ApiSettings"]


class ApiSettings(PlatformSettings):
    """`platforms.api`."""

    key: SecretStr = Field(description="What clients send as `Authorization: Bearer KEY`.")

    @field_validator("key")
    @classmethod
    def _key_is_not_empty(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().strip():
            raise ValueError("the key is empty; anybody could use the API")
        return value
