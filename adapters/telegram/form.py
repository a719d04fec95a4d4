"""A call with a file in it, as multipart/form-data (RFC 7578) whose file is read off the loop while it is sent."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

__all__ = ["Form", "Upload"]

_CHUNK = 1 << 16
_PLAIN = str.maketrans({'"': "'", "\\": "_", "\r": " ", "\n": " "})
"""Servers do not agree on how these are escaped in a name, so none of them is sent."""
_MIME = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a call. field: the parameter that it is. name, mime: what people will see it as."""

    field: str
    path: Path
    name: str
    mime: str


class Form:
    """The body of one request; open while it is used. whole: all of it was handed on, so it may have arrived.

    Entering raises `OSError` when the file cannot be opened, and so may reading it.
    """

    def __init__(self, params: Mapping[str, Any], upload: Upload) -> None:
        boundary = secrets.token_hex(16)
        fields = (_field(boundary, name, value) for name, value in params.items())
        self._head = "".join((*fields, _file_head(boundary, upload))).encode("utf-8", "replace")
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._path = upload.path
        self._type = f"multipart/form-data; boundary={boundary}"
        self._file: IO[bytes] | None = None
        self.size = 0
        self.whole = False

    async def __aenter__(self) -> Self:
        self._file, length = await asyncio.to_thread(_open, self._path)
        self.size = len(self._head) + length + len(self._tail)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def headers(self) -> dict[str, str]:
        """The request's headers; a length, so that nobody takes half of it for the whole."""
        return {"Content-Type": self._type, "Content-Length": str(self.size)}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body."""
        if self._file is None:
            raise ValueError("the form is not open")
        yield self._head
        while chunk := await asyncio.to_thread(self._file.read, _CHUNK):
            yield chunk
        self.whole = True
        yield self._tail


def _open(path: Path) -> tuple[IO[bytes], int]:
    file = path.open("rb")
    return file, os.fstat(file.fileno()).st_size


def _field(boundary: str, name: str, value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'


def _file_head(boundary: str, upload: Upload) -> str:
    name = upload.name.translate(_PLAIN) or "file"
    mime = upload.mime if _MIME.fullmatch(upload.mime) else "application/octet-stream"
    return (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{upload.field}"; filename="{name}"\r\n'
        f"Content-Type: {mime}\r\n\r\n"
    )
