"""What comes with a message that is no text. Pure. Source: https://docs.slack.dev/reference/objects/file-object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from hermes.events import Attachment
from hermes.messages import scrub_surrogates

__all__ = ["read_files", "word_for"]

_Kind = Literal["image", "audio", "voice", "video", "document", "sticker", "other"]
_WORDS: Mapping[_Kind, str] = {
    "image": "photo",
    "voice": "voice message",
    "audio": "audio",
    "video": "video",
    "document": "file",
}


def read_files(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """The message's files; those that cannot be read are passed over."""
    return tuple(_attachment(file) for file in _files(message))


def word_for(message: Mapping[str, Any]) -> str | None:
    """What the message holds beside its text, in one word."""
    first = next(_files(message), None)
    if first is not None:
        return _WORDS[_kind(first)]
    return "shared message" if message.get("attachments") else None


def _files(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    files = message.get("files")
    for file in files if isinstance(files, list) else ():
        if isinstance(file, Mapping) and isinstance(file.get("id"), str):
            yield file


def _attachment(file: Mapping[str, Any]) -> Attachment:
    size = file.get("size")
    return Attachment(
        kind=_kind(file),
        ref=_word(file, "id"),
        name=_word(file, "name"),
        mime=_word(file, "mimetype"),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
    )


def _kind(file: Mapping[str, Any]) -> _Kind:
    if file.get("subtype") == "slack_audio":
        return "voice"
    match _word(file, "mimetype").partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
    return "document"


def _word(file: Mapping[str, Any], key: str) -> str:
    value = file.get(key)
    return scrub_surrogates(value)[:1000] if isinstance(value, str) else ""
