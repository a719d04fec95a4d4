"""A call's body with a file in it, read from disk piece by piece while it is sent.

Source: https://discord.com/developers/docs/reference#uploading-files and RFC 7578. The length is known before, since Discord
judges a file by it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hermes.errors import Rejected
from hermes.files import StoredFile

__all__ = ["Form", "Upload"]

_CHUNK = 256 * 1024
# As browsers write names: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
_NAME = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that goes out, and where it lies."""

    file: StoredFile
    path: Path


class Form:
    """One body. length: bytes of the whole. is_whole: the last of it was handed on, so that it may have been taken."""

    def __init__(self, body: Mapping[str, Any], upload: Upload, handle: IO[bytes], size: int) -> None:
        self._handle = handle
        self._boundary = secrets.token_hex(16)
        self._head = self._opening(body, upload.file)
        self._tail = f"\r\n--{self._boundary}--\r\n".encode()
        self.length = len(self._head) + size + len(self._tail)
        self.is_whole = False

    @classmethod
    @asynccontextmanager
    async def opened(cls, body: Mapping[str, Any], upload: Upload) -> AsyncIterator[Form]:
        """The body while the file stands open. Raises `Rejected` when it cannot be read."""
        try:
            handle, size = await asyncio.to_thread(_open, upload.path)
        except OSError as e:
            raise Rejected(f"The file {upload.file.name} cannot be read any more.") from e
        try:
            yield cls(body, upload, handle, size)
        finally:
            await asyncio.to_thread(handle.close)

    @property
    def headers(self) -> Mapping[str, str]:
        """What the call says of its body."""
        return {
            "Content-Type": f"multipart/form-data; boundary={self._boundary}",
            "Content-Length": str(self.length),
        }

    async def chunks(self, moved: Callable[[], None]) -> AsyncIterator[bytes]:
        """The body in order. `moved` is called whenever more of it was taken over."""
        yield self._head
        while chunk := await asyncio.to_thread(self._handle.read, _CHUNK):
            moved()
            yield chunk
        moved()
        self.is_whole = True
        yield self._tail

    def _opening(self, body: Mapping[str, Any], file: StoredFile) -> bytes:
        told = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return (
            f"--{self._boundary}\r\n"
            'Content-Disposition: form-data; name="payload_json"\r\n'
            "Content-Type: application/json\r\n\r\n"
            f"{told}\r\n"
            f"--{self._boundary}\r\n"
            f'Content-Disposition: form-data; name="files[0]"; filename="{file.name.translate(_NAME)}"\r\n'
            f"Content-Type: {file.mime or 'application/octet-stream'}\r\n\r\n"
        ).encode(errors="replace")


def _open(path: Path) -> tuple[IO[bytes], int]:
    handle = path.open("rb")
    return handle, os.fstat(handle.fileno()).st_size
