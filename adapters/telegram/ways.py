"""By which methods a file can go out, the best one first. Pure.

Source: https://core.telegram.org/bots/api#sending-files and the methods' own pages. Telegram looks into what is sent
as a photo, a video or a voice message and may refuse it; it takes everything as a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes.files import StoredFile

__all__ = ["LARGEST", "LARGEST_LOCAL", "Way", "is_about_the_file", "ways"]

LARGEST = 50_000_000
LARGEST_LOCAL = 2_000_000_000
_LARGEST_PHOTO = 10_000_000
_PHOTOS = ("image/jpeg", "image/png", "image/webp")
_MUSIC = ("audio/mpeg", "audio/mp4", "audio/x-m4a", "audio/m4a")
_SPEECH = ("audio/ogg", *_MUSIC)
_WORDS = ("photo", "image", "video", "voice", "audio", "animation", "media", "dimensions", "file is too big")


@dataclass(frozen=True, slots=True)
class Way:
    """A method, the parameter that the file is, and what else it wants."""

    method: str
    part: str
    more: Mapping[str, Any] = field(default_factory=dict)


_DOCUMENT = Way("sendDocument", "document")


def ways(file: StoredFile) -> tuple[Way, ...]:
    """At least one; the last takes any file."""
    return (*_special(file), _DOCUMENT)


def _special(file: StoredFile) -> tuple[Way, ...]:
    match file.kind:
        case "image" if file.mime in _PHOTOS and file.size <= _LARGEST_PHOTO:
            return (Way("sendPhoto", "photo"),)
        case "image" if file.mime == "image/gif":
            return (Way("sendAnimation", "animation"),)
        case "voice" if file.mime in _SPEECH:
            return (Way("sendVoice", "voice"), *_music(file))
        case "audio":
            return _music(file)
        case "video" if file.mime == "video/mp4":
            return (Way("sendVideo", "video", {"supports_streaming": True}),)
    return ()


def _music(file: StoredFile) -> tuple[Way, ...]:
    return (Way("sendAudio", "audio"),) if file.mime in _MUSIC else ()


def is_about_the_file(refusal: str) -> bool:
    """Whether a refusal, in lower case, is about what was sent and how (PHOTO_INVALID_DIMENSIONS ...)."""
    return any(word in refusal for word in _WORDS)
