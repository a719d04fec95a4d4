"""The files of a message. Pure.

Source: https://discord.com/developers/docs/resources/message#attachment-object . The address of a file holds for a day, so that
a file is known by the place where it stands too: its message can be asked for a new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from adapters.fields import objects
from hermes.events import Attachment
from hermes.messages import scrub_surrogates

__all__ = ["FilePlace", "attachments", "files_answered", "files_of", "is_drawn"]

Kind = Literal["image", "audio", "voice", "video", "document", "sticker", "other"]
_VOICE_MESSAGE = 1 << 13
_STICKERS: Mapping[int, tuple[str, str]] = {
    1: ("png", "image/png"),
    2: ("png", "image/apng"),
    4: ("gif", "image/gif"),
}
"""Ending and type by `format_type`; the third is drawn by Discord's own program and no picture."""
_PLACE = re.compile(r"(\d{1,20})/(\d{1,20})/(\d{1,20}) (\S+)")


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where a file stands. url: its address as last told; a path is one below the CDN.

    channel, message, file: ids, empty for what has no message of its own.
    """

    url: str
    channel: str = ""
    message: str = ""
    file: str = ""

    def to_text(self) -> str:
        """As `Attachment.ref` carries it."""
        where = f"{self.channel}/{self.message}/{self.file} {self.url}"
        return where if _PLACE.fullmatch(where) else self.url

    @classmethod
    def from_text(cls, text: str) -> FilePlace:
        """The inverse of `to_text`."""
        found = _PLACE.fullmatch(text)
        return cls(text) if found is None else cls(found[4], found[1], found[2], found[3])


def attachments(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """The files of a message and of those that it passes on; what makes no sense is left out."""
    found = ((_attachment(file, holder, message), holder is message) for file, holder in _files(message))
    files = [file if is_own else file.overheard() for file, is_own in found]
    return (*files, *(sticker for holder in _holders(message) for sticker in _stickers(holder)))


def files_answered(message: Mapping[str, Any], account: str) -> tuple[Attachment, ...]:
    """The files of what it answers: to reply to a picture is to speak of it. Ours are known already."""
    answered = message.get("referenced_message")
    if not isinstance(answered, Mapping):
        return ()
    author = answered.get("author")
    if isinstance(author, Mapping) and author.get("id") == account:
        return ()
    return tuple(map(Attachment.overheard, attachments(answered)))


def files_of(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The attachment objects of a message and of those that it passes on."""
    return (file for file, _ in _files(message))


def is_drawn(sticker: Mapping[str, Any]) -> bool:
    """Whether a sticker is no picture, so that only its name can be told."""
    return _picture(sticker) is None


def _picture(sticker: Mapping[str, Any]) -> tuple[str, str] | None:
    form = sticker.get("format_type")
    return _STICKERS.get(form) if isinstance(form, int) else None


def _files(message: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for holder in _holders(message):
        for file in objects(holder, "attachments"):
            if isinstance(file.get("url"), str):
                yield file, holder


def _holders(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield message
    for snapshot in objects(message, "message_snapshots"):
        if isinstance(snapshot.get("message"), Mapping):
            yield snapshot["message"]


def _attachment(file: Mapping[str, Any], holder: Mapping[str, Any], message: Mapping[str, Any]) -> Attachment:
    size = file.get("size")
    place = FilePlace(
        str(file["url"]), str(message.get("channel_id")), str(message.get("id")), str(file.get("id"))
    )
    return Attachment(
        kind=_kind(file, holder),
        ref=scrub_surrogates(place.to_text()),
        name=_name(file),
        mime=scrub_surrogates(str(file.get("content_type") or "")),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
    )


def _name(file: Mapping[str, Any]) -> str:
    """The name that the sender gave it: where that was changed, `title` still has it, without its ending."""
    name, title = str(file.get("filename") or ""), str(file.get("title") or "")
    ending = PurePath(name).suffix
    return (
        scrub_surrogates(title if title.endswith(ending) else title + ending)
        if title
        else scrub_surrogates(name)
    )


def _stickers(holder: Mapping[str, Any]) -> Iterator[Attachment]:
    for sticker in objects(holder, "sticker_items"):
        number, picture = str(sticker.get("id")), _picture(sticker)
        if number.isascii() and number.isdigit() and picture is not None:
            ending, mime = picture
            name = scrub_surrogates(str(sticker.get("name") or "sticker"))
            yield Attachment("sticker", f"stickers/{number}.{ending}", f"{name}.{ending}", mime)


def _kind(file: Mapping[str, Any], holder: Mapping[str, Any]) -> Kind:
    flags = holder.get("flags")
    if isinstance(flags, int) and flags & _VOICE_MESSAGE:
        return "voice"
    kinds: Mapping[str, Kind] = {"image": "image", "audio": "audio", "video": "video"}
    return kinds.get(str(file.get("content_type") or "").partition("/")[0], "document")
