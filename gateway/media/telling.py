"""What a turn is told of a file: the text of a document, the words of a recording, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import structlog

from gateway.media.names import shown_name
from gateway.media.rules import Room
from hermes.agent import GivenFile
from hermes.errors import ModelError
from hermes.files import StoredFile
from hermes.reading import Reading, Reason
from hermes.voice import Transcript

__all__ = ["Readers", "Telling"]

log = structlog.get_logger("gateway.media")

_CUT: Mapping[Reason, str] = {
    "too_long": "file_cut",
    "timeout": "file_cut_timeout",
    "memory": "file_cut_memory",
}
"""Why only a first part of a document is shown; else the rest of it cannot be read."""


class Readers(Protocol):
    """Who reads files here."""

    async def document(self, path: Path, mime: str) -> Reading:
        """What a document says. Never raises for what is in it."""
        ...

    async def speech(self, path: Path, mime: str) -> Transcript | None:
        """What was spoken; `None` where nobody is set up for that. Raises `ModelError`."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class Telling:
    """Turns files that are kept into what a turn gets of them."""

    def __init__(self, room: Room, readers: Readers) -> None:
        self._folder = room.folder
        self._rules = room.rules
        self._say = room.say
        self._readers = readers

    async def tell(self, file: StoredFile) -> GivenFile:
        """The file with what it says. Pictures are looked at later, by whoever asks the model."""
        try:
            return await self._told(file)
        except Exception:  # a reader's fault must not lose the message
            log.exception("media.reader_failed", kind=file.kind, mime=file.mime)
            return self._silent(file, "file_unread_failed")

    async def _told(self, file: StoredFile) -> GivenFile:
        match file.kind:
            case "image":
                return GivenFile(file)
            case "video":
                return self._silent(file, "file_video")
            case "voice" | "audio":
                return await self._heard(file)
            case "document":
                return await self._read(file)

    async def _read(self, file: StoredFile) -> GivenFile:
        if not self._rules().documents:
            return self._silent(file, "file_documents_off")
        reading = await self._readers.document(self._folder.path(file), file.mime)
        if reading.reason is None:
            return GivenFile(file, reading.text)
        if not reading.text:
            return self._silent(file, f"file_unread_{reading.reason}")
        place = f", {reading.place}" if reading.place else ""
        key = _CUT.get(reading.reason, "file_cut_damaged")
        return GivenFile(file, reading.text, self._say(key, name=shown_name(file.name), place=place))

    async def _heard(self, file: StoredFile) -> GivenFile:
        key = "voice" if file.kind == "voice" else "audio"
        try:
            transcript = await self._readers.speech(self._folder.path(file), file.mime)
        except ModelError as error:
            log.warning("media.not_transcribed", kind=error.kind, reason=str(error))
            its_own = error.kind in ("bad_request", "overflow")
            return self._silent(file, f"file_{key}_unread" if its_own else f"file_{key}_unreachable")
        if transcript is None:
            return self._silent(file, f"file_{key}_off")
        if not transcript.text:
            return self._silent(file, f"file_{key}_silent")
        return GivenFile(file, transcript.text)

    def _silent(self, file: StoredFile, key: str) -> GivenFile:
        return GivenFile(file, note=self._say(key, name=shown_name(file.name), mime=file.mime))
