"""Who reads files here, as the settings say at that moment; imported when the first one comes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway import wiring
from gateway.settings import MediaSettings
from hermes.config import Network, SettingsSource
from hermes.reading import ReadDocument, Reading, ReadingLimits
from hermes.voice import Transcribe, Transcript, VoiceSettings

__all__ = ["ChosenReaders"]


class ChosenReaders:
    """See `gateway.media.telling.Readers`."""

    def __init__(self, settings: SettingsSource) -> None:
        self._settings = settings
        self._documents: ReadDocument | None = None
        self._voice: tuple[VoiceSettings, Network, Transcribe | None] | None = None

    async def document(self, path: Path, mime: str) -> Reading:
        """See `Readers.document`."""
        if self._documents is None:
            self._documents = await asyncio.to_thread(wiring.document_reader)
        most = self._settings.current().get("media", MediaSettings).characters
        return await self._documents(path, mime, ReadingLimits(characters=most))

    async def speech(self, path: Path, mime: str) -> Transcript | None:
        """See `Readers.speech`."""
        snapshot = self._settings.current()
        own, way = snapshot.get("media", MediaSettings).voice, wiring.network(snapshot)
        if not own.provider:
            return None
        if self._voice is None or self._voice[:2] != (own, way):
            await self.aclose()
            self._voice = (own, way, await asyncio.to_thread(wiring.transcriber, own, way))
        transcribe = self._voice[2]
        return None if transcribe is None else await transcribe.transcribe(path, mime)

    async def aclose(self) -> None:
        """See `Readers.aclose`."""
        voice, self._voice = self._voice, None
        if voice is not None and voice[2] is not None:
            await voice[2].aclose()
