"""Media objects as the server describes what people send. https://core.telegram.org/bots/api#available-types"""

from collections.abc import Mapping
from typing import Any

_SHAPES: Mapping[str, Mapping[str, Any]] = {
    "voice": {"duration": 3, "mime_type": "audio/ogg"},
    "audio": {"duration": 180, "mime_type": "audio/mpeg", "title": "Song", "performer": "Band"},
    "video": {"width": 640, "height": 480, "duration": 9, "mime_type": "video/mp4"},
    "video_note": {"length": 240, "duration": 9},
    "animation": {"width": 320, "height": 240, "duration": 2, "mime_type": "video/mp4"},
    "document": {"mime_type": "text/plain"},
    "sticker": {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False},
}
_NAMED = ("audio", "video", "animation", "document")
_FOLDERS = {"voice": "voice", "audio": "music", "video": "videos", "animation": "animations"}


def folder(kind: str) -> str:
    """Where the server keeps such files."""
    return _FOLDERS.get(kind, f"{kind}s")


def described(
    kind: str, stored: Mapping[str, Any], name: str, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The part of a message that tells of a file; `stored` is its ids and size, `more` is what else is said of it.

    An animation is told of as a document too, for old clients.
    """
    told = {
        **_SHAPES[kind],
        **stored,
        **({"file_name": name} if name and kind in _NAMED else {}),
        **(more or {}),
    }
    if kind == "animation":
        kept = ("file_id", "file_unique_id", "file_size", "file_name", "mime_type")
        return {kind: told, "document": {key: told[key] for key in kept if key in told}}
    return {kind: told}
