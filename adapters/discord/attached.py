"""What a message holds beside its text. Pure.

Source: https://discord.com/developers/docs/resources/message#attachment-object .
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from hermes.events import Attachment
from hermes.messages import scrub_surrogates

__all__ = ["attachments", "unsupported"]

Kind = Literal["image", "audio", "voice", "video", "document", "sticker", "other"]
_VOICE_MESSAGE = 1 << 13
_WORDS: Mapping[Kind, str] = {
    "image": "picture",
    "audio": "audio",
    "voice": "voice message",
    "video": "video",
    "document": "file",
}


def attachments(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """The files of a message; those that make no sense are left out."""
    listed = message.get("attachments")
    found = [a for a in listed if isinstance(a, Mapping)] if isinstance(listed, list) else []
    return tuple(_attachment(a, message) for a in found if isinstance(a.get("url"), str))


def unsupported(message: Mapping[str, Any]) -> str | None:
    """A word for what the message holds that is no text; `None`: nothing."""
    for file in attachments(message):
        return _WORDS[file.kind]
    for key, word in (("sticker_items", "sticker"), ("poll", "poll"), ("embeds", "embed")):
        if message.get(key):
            return word
    return None


def _attachment(file: Mapping[str, Any], message: Mapping[str, Any]) -> Attachment:
    size = file.get("size")
    return Attachment(
        kind=_kind(file, message),
        ref=scrub_surrogates(str(file["url"])),
        name=scrub_surrogates(str(file.get("filename") or "")),
        mime=scrub_surrogates(str(file.get("content_type") or "")),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
    )


def _kind(file: Mapping[str, Any], message: Mapping[str, Any]) -> Kind:
    flags = message.get("flags")
    if isinstance(flags, int) and flags & _VOICE_MESSAGE:
        return "voice"
    kinds: Mapping[str, Kind] = {"image": "image", "audio": "audio", "video": "video"}
    return kinds.get(str(file.get("content_type") or "").partition("/")[0], "document")
