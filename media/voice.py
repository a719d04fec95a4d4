"""Speech to text by a provider with OpenAI's route.

Source: https://platform.openai.com/docs/api-reference/audio/createTranscription ; Groq, vLLM, whisper.cpp, Speaches and
LocalAI serve the same.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from hermes.errors import ModelError, ModelErrorKind
from hermes.messages import scrub_surrogates
from hermes.voice import Transcript, VoiceSettings

__all__ = ["Answer", "Connection", "Transcriber", "Voice", "Wire", "voice_of"]

_PATH = "/audio/transcriptions"
_LARGEST_ANSWER = 4 * 1024**2
_MOST_CHARACTERS = 200_000
_LONGEST = 1e6  # seconds; also keeps out what JSON may hold and a float does not
_USUAL = MappingProxyType(
    {
        "openai": ("https://api.openai.com/v1", "gpt-transcribe"),
        "groq": ("https://api.groq.com/openai/v1", "whisper-large-v3-turbo"),
        "custom": ("", "whisper-1"),
    }
)
# Providers tell the format by the name's end, so it is made from the content; Telegram's .oga they do not know.
_ENDINGS = MappingProxyType(
    {
        "audio/ogg": "ogg",
        "audio/mpeg": "mp3",
        "audio/mp4": "m4a",
        "audio/3gpp": "3gp",
        "audio/wav": "wav",
        "audio/webm": "webm",
        "audio/flac": "flac",
        "audio/aac": "aac",
        "audio/amr": "amr",
        "video/mp4": "mp4",
        "video/webm": "webm",
    }
)


class Answer(Protocol):
    """A response whose body has not been read."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers, with any case of their names."""
        ...

    async def body(self, limit: int) -> bytes:
        """The body, cut at `limit` bytes."""
        ...


class Wire(Protocol):
    """HTTP to the provider. Its errors are `ModelError`."""

    def post(self, path: str, body: bytes, content_type: str) -> AbstractAsyncContextManager[Answer]:
        """Send a body to the provider's address with `path` after it."""
        ...


class Connection(Protocol):
    """The way to the provider, opened when first asked for."""

    async def transport(self) -> Wire:
        """The wire, the same one for all."""
        ...

    async def aclose(self) -> None:
        """Close it. It opens again when asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Voice:
    """Who transcribes, without anything left open. `headers` hold the key."""

    provider: str
    base_url: str
    model: str
    headers: Mapping[str, str] = field(repr=False)


def voice_of(settings: VoiceSettings) -> Voice | None:
    """Who transcribes as the settings say; `None`: nobody. Raises `ModelError` (kind "config") with what is missing."""
    if not settings.provider:
        return None
    usual_url, usual_model = _USUAL[settings.provider]
    base_url = settings.base_url or usual_url
    key = settings.api_key.get_secret_value().strip() if settings.api_key else ""
    if not base_url:
        raise ModelError("`media.voice` needs `base_url`.", kind="config")
    if not key and settings.provider != "custom":
        told = f"{settings.provider} needs a key for voice; set `media.voice.api_key` (MEDIA_VOICE_API_KEY)."
        raise ModelError(told, kind="config")
    if not key.isascii() or not key.isprintable():
        raise ModelError("`media.voice.api_key` holds characters that cannot be sent.", kind="config")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return Voice(settings.provider, base_url, settings.model or usual_model, headers)


class Transcriber:
    """See `hermes.voice.Transcribe`."""

    def __init__(self, settings: VoiceSettings, voice: Voice, connection: Connection) -> None:
        self._settings = settings
        self._voice = voice
        self._connection = connection

    async def transcribe(self, path: Path, mime: str) -> Transcript:
        """The words of the recording at `path`, whose content is `mime`. Raises `ModelError`.

        Its kind says what may be done: "bad_request" and "overflow" are the recording's fault, the others the way's.
        """
        sound = await asyncio.to_thread(self._sound, path)
        content_type, body = self._form(sound, mime)
        try:
            async with asyncio.timeout(self._settings.timeout):
                wire = await self._connection.transport()
                async with wire.post(_PATH, body, content_type) as answer:
                    told = await answer.body(_LARGEST_ANSWER)
        except TimeoutError as error:
            raise ModelError(f"{self._voice.provider} did not answer in time.", kind="timeout") from error
        if answer.status != 200:
            raise _refusal(answer, self._voice)
        return _transcript(told, self._voice.provider)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._connection.aclose()

    def _sound(self, path: Path) -> bytes:
        most = self._settings.largest
        try:
            with path.open("rb") as file:
                sound = file.read(most + 1)
        except OSError as error:
            raise ModelError(
                f"The recording cannot be read: {error.strerror}.", kind="bad_request"
            ) from error
        if len(sound) > most:
            raise ModelError(f"The recording is larger than {most:,} bytes.", kind="overflow")
        return sound

    def _form(self, sound: bytes, mime: str) -> tuple[str, bytes]:
        """RFC 7578. The file's own name stays here: it says nothing that the provider needs."""
        fields = {"model": self._voice.model, "response_format": "json"}
        if self._settings.language:
            fields["language"] = self._settings.language
        boundary = secrets.token_hex(16)
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in fields.items()
        ]
        name = f"sound.{_ENDINGS.get(mime, 'bin')}"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        parts += [f"{head}Content-Type: {mime}\r\n\r\n".encode(), sound, f"\r\n--{boundary}--\r\n".encode()]
        return f"multipart/form-data; boundary={boundary}", b"".join(parts)


def _refusal(answer: Answer, voice: Voice) -> ModelError:
    """What a status means. The provider's own words are not passed on: they may quote a part of the key."""
    kind, sentence = _verdict(answer.status, voice.model)
    return ModelError(
        f"{voice.provider} {sentence} (HTTP {answer.status}).",
        kind=kind,
        status=answer.status,
        retry_after=_wait(answer.headers) if kind in ("rate_limit", "overload") else None,
    )


def _wait(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds; dates are not written by those who serve models."""
    said = headers.get("retry-after", "")
    return float(said) if re.fullmatch(r"\d{1,6}(\.\d+)?", said) else None


def _verdict(status: int, model: str) -> tuple[ModelErrorKind, str]:
    if status in (401, 402, 403):
        return "auth", "refused the key or has no credit left for it; see `media.voice`"
    if status == 404:
        return "config", f"does not know the address or the model {model}; see `media.voice`"
    if status == 408:
        return "timeout", "took too long"
    if status == 413:
        return "overflow", "takes no recording as large as this one"
    if status == 429:
        return "rate_limit", "limits how often it may be asked"
    if status >= 500 or status in (409, 425):
        return "overload", "is overloaded or down"
    return "bad_request", "could not read the recording"


def _transcript(body: bytes, provider: str) -> Transcript:
    try:
        told = json.loads(body)
        text = told["text"]
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise ModelError(f"{provider} sent an answer without a text.", kind="malformed") from error
    if not isinstance(text, str):
        raise ModelError(f"{provider} sent an answer without a text.", kind="malformed")
    return Transcript(scrub_surrogates(text).strip()[:_MOST_CHARACTERS], _seconds(told))


def _seconds(told: Mapping[str, Any]) -> float | None:
    """`usage: {type: "duration", seconds}` as OpenAI bills Whisper, or `duration` as the verbose answer has it."""
    usage = told.get("usage")
    found = usage.get("seconds") if isinstance(usage, Mapping) else None
    found = told.get("duration") if found is None else found
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < _LONGEST:
        return None
    return float(found)
