"""How spoken words become text: who does it, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field, SecretStr, field_validator

from hermes.config import ByteSize, Duration, Section, is_address

__all__ = ["Transcribe", "Transcript", "VoiceSettings"]


class VoiceSettings(Section):
    """Who writes down what was spoken."""

    provider: Literal["", "openai", "groq", "custom"] = Field(
        default="",
        description="Who does it; empty: nobody. `custom` is any server with OpenAI's /audio/transcriptions.",
    )
    base_url: str | None = Field(
        default=None,
        description="The API's address; absent: the provider's own.",
        examples=["http://127.0.0.1:8000/v1"],
    )
    api_key: SecretStr | None = Field(
        default=None, description="The key; best kept in .env as MEDIA_VOICE_API_KEY."
    )
    model: str = Field(default="", description="The model; empty: the provider's usual one.")
    language: str | None = Field(
        default=None,
        pattern=r"^[a-z]{2,3}$",
        description="What is spoken, as ISO 639 writes it; absent: the model finds out.",
        examples=["de"],
    )
    timeout: Duration = Field(default=120.0, gt=0, description="How long one recording may take.")
    largest: ByteSize = Field(default=25_000_000, gt=0, description="A larger recording is not sent.")

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not is_address(value):
            raise ValueError('write for example "http://127.0.0.1:8000/v1"')
        return value


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was spoken; "" where nothing was. `seconds` of sound, where the provider told."""

    text: str
    seconds: float | None = None


class Transcribe(Protocol):
    """Writes down what was spoken in a file."""

    async def transcribe(self, path: Path, mime: str) -> Transcript:
        """The words of the recording at `path`, whose content is `mime`. Raises `ModelError`."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
