"""Files of the peer: their bytes, addresses that hold for a while, and uploads as they come.

https://discord.com/developers/docs/reference#signed-attachment-cdn-urls and .../reference#uploading-files
"""

import base64
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from aiohttp import BodyPartReader, web

DAY = 86_400.0
LARGEST = 10 * 1024**2
_PART = re.compile(r"files\[(\d)\]")


@dataclass(frozen=True, slots=True)
class File:
    """What somebody sends. `seconds` of a voice message."""

    name: str
    mime: str
    data: bytes
    seconds: float | None = None
    title: str = ""

    @property
    def served_name(self) -> str:
        """As Discord writes it: letters, digits and a few marks."""
        return re.sub(r"[^A-Za-z0-9._-]+", "_", self.name)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "File":
        """A file as JSON: `name`, `mime`, and `text` or `base64`."""
        data = base64.b64decode(told["base64"]) if "base64" in told else str(told["text"]).encode()
        return cls(told["name"], told.get("mime", "application/octet-stream"), data)


@dataclass(frozen=True, slots=True)
class Upload:
    """A part of a call."""

    part: str
    file: File


class Cdn:
    """Where files lie, by their ids; `stickers` by their file's name."""

    def __init__(self, base: Callable[[], str]) -> None:
        self._base = base
        self._files: dict[str, tuple[str, File]] = {}
        self._secret = secrets.token_hex(8)
        self.stickers: dict[str, bytes] = {}

    def keep(self, number: str, channel: str, file: File, *, holds: float = DAY) -> dict[str, Any]:
        """Store a file; its attachment object."""
        self._files[number] = channel, file
        return self.wire(number, holds=holds)

    def wire(self, number: str, *, holds: float = DAY) -> dict[str, Any]:
        """The attachment object, with an address that holds so many seconds from now."""
        channel, file = self._files[number]
        end = f"{int(time.time() + holds):x}"
        where = f"/attachments/{channel}/{number}/{file.served_name}"
        signed = f"?ex={end}&is={int(time.time()):x}&hm={self._secret}{end}&"
        found: dict[str, Any] = {
            "id": number,
            "filename": file.served_name,
            "size": len(file.data),
            "url": f"{self._base()}{where}{signed}",
            "proxy_url": f"{self._base()}{where}{signed}",
            "content_type": file.mime,
        }
        if file.title or file.served_name != file.name:
            found["title"] = file.title or PurePath(file.name).stem
        return found if file.seconds is None else {**found, "duration_secs": file.seconds, "waveform": "AAAA"}

    def again(self, told: dict[str, Any]) -> dict[str, Any]:
        """An attachment object with an address of now, if the file is one of ours."""
        return self.wire(told["id"]) if told["id"] in self._files else told

    def data(self, number: str) -> bytes:
        """The bytes of a file."""
        return self._files[number][1].data

    def revoke(self) -> None:
        """Addresses that were given out so far are no longer taken."""
        self._secret = secrets.token_hex(8)

    def lose(self, number: str) -> None:
        """The file is gone."""
        del self._files[number]

    def get(self, path: str, query: Mapping[str, str]) -> bytes | None:
        """The bytes at an address; `None` where nothing is to be had."""
        kind, *rest = path.split("/")
        if kind == "stickers":
            return self.stickers.get(rest[0])
        end = query.get("ex", "0")
        holds = query.get("hm") == f"{self._secret}{end}" and int(end, 16) > time.time()
        return self._files[rest[1]][1].data if holds and rest[1] in self._files else None


async def read_call(request: web.Request) -> tuple[Any, list[Upload]]:
    """The body of a call and the files in it."""
    if not request.content_type.startswith("multipart/"):
        return json.loads(await request.read() or b"null"), []
    body: Any = None
    uploads = []
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        data = bytes(await part.read())
        if part.name == "payload_json":
            body = json.loads(data)
        else:
            mime = part.headers.get("Content-Type", "")
            uploads.append(Upload(part.name or "", File(part.filename or "", mime, data)))
    titles = {a.get("id"): a.get("title") or "" for a in (body or {}).get("attachments") or ()}
    return body, [replace(u, file=replace(u.file, title=titles.get(u.part[6:-1], ""))) for u in uploads]


def upload_breaches(call: str, body: Any, uploads: list[Upload], request: web.Request) -> list[str]:
    """What no correct client uploads."""
    found = []
    if uploads and "Content-Length" not in request.headers:
        found.append(f"{call}: an upload that does not say its length")
    listed = {str(a.get("id")) for a in (body or {}).get("attachments") or ()} if uploads else set()
    for upload in uploads:
        number = _PART.fullmatch(upload.part)
        if number is None or number[1] not in listed:
            found.append(f"{call}: the file {upload.part} is not among the attachments")
        if not upload.file.name:
            found.append(f"{call}: the file {upload.part} has no name")
    return found
