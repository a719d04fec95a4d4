"""The home's folder of files that came with messages or go out with answers.

Each lies under the SHA-256 of its bytes, 0600, and appears as a whole or not at all. Equal files are one.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gateway.disk import is_full
from gateway.media.names import clean_name
from gateway.swap import sync
from hermes.failpoint import reached
from hermes.files import FileKind, StoredFile
from hermes.home import Home

__all__ = ["KindOf", "Lying", "MediaFolder", "NotKept"]

KindOf = Callable[[bytes, str], tuple[FileKind, str]]
"""Kind and MIME type by the first bytes of a file; the name helps where the bytes say nothing."""

_HEAD = 64 * 1024
_BLOCK = 256 * 1024
_SPARE = 64 * 1024 * 1024
"""Bytes that stay free on the disk for what must be written."""


class NotKept(Exception):
    """The file was not put into the folder, and nothing of it is left: too large, empty, or no room on the disk."""

    def __init__(self, reason: Literal["large", "empty", "room"]) -> None:
        super().__init__(reason)
        self.reason: Literal["large", "empty", "room"] = reason


@dataclass(frozen=True, slots=True)
class Lying:
    """A file as it lies in the folder. `at`: when it was last put there, epoch seconds."""

    digest: str
    path: Path
    size: int
    at: float


class MediaFolder:
    """Puts files into the folder and takes them out.

    used: bytes that it took when it was last looked through, and what this process has put there since.
    """

    def __init__(self, home: Home, kind_of: KindOf) -> None:
        self._home = home
        self._root = home.media
        self._kind_of = kind_of
        self._moving = threading.Lock()
        self.used = 0

    def path(self, file: StoredFile) -> Path:
        """Where a file lies, if it is still kept. Raises `FileNotFoundError` for what names none."""
        return self._home.stored(file)

    async def put(
        self, source: bytes | Path, name: str, *, limit: int | None = None, spoken: bool = False
    ) -> StoredFile:
        """A copy of the bytes, or of the file at a path, as `keep` puts it there. Raises `OSError` where it cannot be read."""
        if isinstance(source, Path):
            return await self.keep(_read(source), name, limit=limit, spoken=spoken)
        return await self.keep(_given(source), name, limit=limit, spoken=spoken)

    async def keep(
        self, chunks: AsyncIterator[bytes], name: str, *, limit: int | None = None, spoken: bool = False
    ) -> StoredFile:
        """Everything that `chunks` gives, as one file; on disk when this returns.

        limit: the most bytes; counted while it is read. spoken: audio in it was spoken to us. Raises `NotKept`.
        """
        draft = await asyncio.to_thread(_Draft, self._root)
        try:
            await _fill(draft, chunks, limit)
            reached("media.fetched")
            stored = await asyncio.to_thread(self._finish, draft, name, spoken=spoken)
        except OSError as error:
            if is_full(error):
                raise NotKept("room") from error
            raise
        finally:
            await asyncio.to_thread(draft.drop)
        reached("media.stored")
        self.used += stored.size
        return stored

    def _finish(self, draft: _Draft, name: str, *, spoken: bool) -> StoredFile:
        size, head, digest = draft.seal()
        if not size:
            raise NotKept("empty")
        kind, mime = self._kind_of(head, name)
        if spoken and kind == "audio":
            kind = "voice"
        stored = StoredFile(digest, kind, mime, clean_name(name, mime), size)
        target = self.path(stored)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        with self._moving:
            draft.path.replace(target)
        sync(target.parent)
        sync(self._root)
        return stored

    def lying(self) -> list[Lying]:
        """All files that lie there. Blocks."""
        return list(self._lying())

    def _lying(self) -> Iterator[Lying]:
        for path in sorted(self._root.glob("??/*")):
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            if len(path.name) == 64:
                yield Lying(path.name, path, status.st_size, status.st_mtime)

    def sweep(self, before: float) -> None:
        """Remove what was cut on its way in before `before` (epoch seconds). Blocks."""
        for path in self._root.glob(".in-*.tmp"):
            try:
                if path.lstat().st_mtime < before:
                    path.unlink()
            except FileNotFoundError:
                continue

    def remove(self, files: list[Lying]) -> list[str]:
        """Remove files that were not put there again meanwhile; the digests of those that are gone. Blocks."""
        gone: list[str] = []
        for file in files:
            with self._moving:
                try:
                    if file.path.lstat().st_mtime <= file.at:
                        file.path.unlink()
                        gone.append(file.digest)
                except FileNotFoundError:
                    gone.append(file.digest)
        return gone


class _Draft:
    """A file on its way in. Every method blocks; a lock parts them, since a cancelled caller leaves a thread behind."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if shutil.disk_usage(root).free < _SPARE:
            raise NotKept("room")
        descriptor, name = tempfile.mkstemp(prefix=".in-", suffix=".tmp", dir=root)
        self.path = Path(name)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._lock = threading.Lock()
        self._hash = hashlib.sha256()
        self._head = b""
        self._size = 0

    def add(self, data: bytes) -> None:
        with self._locked():
            self._hash.update(data)
            self._head += data[: _HEAD - len(self._head)]
            self._size += len(data)
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) or 0 :]

    def seal(self) -> tuple[int, bytes, str]:
        """All of it is on disk: its size, its beginning, its digest."""
        with self._locked():
            os.fsync(self._file.fileno())
            return self._size, self._head, self._hash.hexdigest()

    def drop(self) -> None:
        with self._lock:
            self._file.close()
            self.path.unlink(missing_ok=True)  # it is there only where it did not become a file of the folder

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            if not self._file.closed:
                yield
                return
        raise NotKept("empty")  # its caller was cancelled, nobody hears it


async def _fill(draft: _Draft, chunks: AsyncIterator[bytes], limit: int | None) -> None:
    block, size = bytearray(), 0
    async for chunk in chunks:
        size += len(chunk)
        if limit is not None and size > limit:
            raise NotKept("large")
        block += chunk
        if len(block) >= _BLOCK:
            await asyncio.to_thread(draft.add, bytes(block))
            block.clear()
    await asyncio.to_thread(draft.add, bytes(block))


async def _given(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _read(path: Path) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while block := await asyncio.to_thread(file.read, _BLOCK):
            yield block
    finally:
        await asyncio.to_thread(file.close)
