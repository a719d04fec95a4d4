"""The files of a message as attachments. Pure; what is described wrongly is no file.

An attachment's `ref` is the file's id. It holds for this bot however old the message is:
https://core.telegram.org/bots/api#sending-files
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from adapters.fields import objects
from hermes.events import Attachment
from hermes.messages import scrub_surrogates

__all__ = ["attachments"]

_NAME = 255
Kind = Literal["image", "audio", "voice", "video", "document"]
Files = tuple[Attachment, ...]


def attachments(message: Mapping[str, Any]) -> Files:
    """The files that a message holds itself, those of what it answers aside."""
    found = next((read for key, read in _READERS.items() if key in message), None)
    return found(message) if found is not None else ()


def _one(key: str, kind: Kind, mime: str = "") -> Callable[[Mapping[str, Any]], Files]:
    def read(message: Mapping[str, Any]) -> Files:
        file = message[key]
        return _attached(file, kind, mime) if isinstance(file, Mapping) else ()

    return read


def _attached(file: Mapping[str, Any], kind: Kind, mime: str, name: str = "") -> Files:
    ref, size = file.get("file_id"), file.get("file_size")
    if not isinstance(ref, str) or not ref:
        return ()
    known = size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None
    name = name or _line(file, "file_name") or _line(file, "title")
    return (Attachment(kind, ref, name[:_NAME], _line(file, "mime_type") or mime, known),)


def _line(file: Mapping[str, Any], key: str) -> str:
    value = file.get(key)
    return scrub_surrogates(value) if isinstance(value, str) else ""


def _photo(message: Mapping[str, Any]) -> Files:
    """A photo comes in several sizes; the largest is what was sent."""
    largest = max(objects(message, "photo"), key=_area, default=None)
    return _attached(largest, "image", "image/jpeg") if largest is not None else ()


def _area(size: Mapping[str, Any]) -> int:
    width, height = size.get("width"), size.get("height")
    return width * height if isinstance(width, int) and isinstance(height, int) else 0


def _sticker(message: Mapping[str, Any]) -> Files:
    """A sticker as a picture; one that moves as its still, since nothing here shows its format."""
    sticker = message["sticker"]
    if not isinstance(sticker, Mapping):
        return ()
    name = f"sticker {_line(sticker, 'emoji')}".strip()
    if sticker.get("is_animated") is not True and sticker.get("is_video") is not True:
        return _attached(sticker, "image", "image/webp", name)
    still = sticker.get("thumbnail")
    return _attached(still, "image", "", name) if isinstance(still, Mapping) else ()


def _paid(message: Mapping[str, Any]) -> Files:
    """What of paid media is shown to us; a preview is not."""
    held = message["paid_media"]
    if not isinstance(held, Mapping):
        return ()
    return tuple(file for item in objects(held, "paid_media") for file in attachments(item))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Files]] = {
    "photo": _photo,
    "live_photo": _one("live_photo", "video", "video/mp4"),  # with `photo` too, which is its still
    "voice": _one("voice", "voice", "audio/ogg"),
    "audio": _one("audio", "audio"),
    "video": _one("video", "video"),
    "video_note": _one("video_note", "video", "video/mp4"),
    "animation": _one("animation", "video"),  # with `document` too, for old clients
    "document": _one("document", "document"),
    "sticker": _sticker,
    "paid_media": _paid,
}
