"""Files that go out, put into the home before anything names them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import structlog

from gateway.media.folder import MediaFolder, NotKept
from hermes.errors import HermesError, ToolError
from hermes.files import StoredFile

__all__ = ["OutgoingFiles", "keep_answer", "keep_paths"]

log = structlog.get_logger("gateway.media")


class OutgoingFiles:
    """See `hermes.services.FileKeeper`."""

    def __init__(self, folder: MediaFolder) -> None:
        self._folder = folder

    async def keep(self, chunks: AsyncIterator[bytes], name: str, *, limit: int) -> StoredFile:
        """See `FileKeeper.keep`."""
        try:
            return await self._folder.keep(chunks, name, limit=limit)
        except NotKept as error:
            raise ToolError(f"{name} cannot be sent: {_why(error, limit)}.") from error


async def keep_answer(folder: MediaFolder, data: bytes, name: str) -> StoredFile | None:
    """The file; `None` where it cannot be kept now, and then the answer goes out as it is."""
    try:
        return await folder.put(data, name)
    except (NotKept, OSError) as error:
        log.warning("answer.not_kept", reason=str(error))
        return None


def keep_paths(folder: MediaFolder, paths: Sequence[Path], limit: int) -> list[StoredFile]:
    """Copies of files that somebody may read. Blocks; to be called where no loop runs. Raises `HermesError`."""
    return asyncio.run(_kept(folder, paths, limit))


async def _kept(folder: MediaFolder, paths: Sequence[Path], limit: int) -> list[StoredFile]:
    kept: list[StoredFile] = []
    for path in paths:
        try:
            kept.append(await folder.put(path, path.name, limit=limit))
        except NotKept as error:
            raise HermesError(f"{path} cannot be sent: {_why(error, limit)}.") from error
        except OSError as error:
            raise HermesError(f"{path} cannot be read: {error.strerror or error}.") from error
    return kept


def _why(error: NotKept, limit: int) -> str:
    return {
        "large": f"it is larger than the platform takes ({limit:,} bytes at most)",
        "empty": "it is empty",
        "room": "there is no room on the disk for a copy",
    }[error.reason]
