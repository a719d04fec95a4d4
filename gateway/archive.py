"""The file that a backup is: a gzipped tar of a home's entries, its manifest last.

Everything here blocks. What is read is anybody's: nothing but regular files of known names under `target` is written,
and nothing counts before the manifest's hashes agree.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hermes.errors import HermesError, StoreTooNew
from hermes.messages import scrub_surrogates

__all__ = ["FORMAT", "SCOPE", "SPARE_BYTES", "Entry", "Manifest", "is_holdable", "pack", "unpack"]

FORMAT = 1
SCOPE = (
    "config.yaml",
    ".env",
    "state.db",
    "SOUL.md",
    "memories",
    "memory",
    "skills",
    "tools",
    "agents",
    "spills",
    "media",
    "platforms",
    "hooks",
    "cron",
    "chat_history",
    "workspace",
)
"""The entries of a home that a backup may hold."""
SPARE_BYTES = 16 * 1024 * 1024
_MANIFEST = "manifest.json"
_MANIFEST_BYTES = 256 * 1024 * 1024
_BLOCK = 256 * 1024
_LEVEL = 3
_VERSION = r"^[A-Za-z0-9.+!_-]{1,64}$"
_LATEST = 253_402_214_400.0  # the last day of the year 9999, where dates end


class Entry(BaseModel):
    """One file: its size in bytes and SHA-256 in hexadecimal digits."""

    model_config = ConfigDict(frozen=True)

    size: int = Field(ge=0)
    sha256: str


class Manifest(BaseModel):
    """What a backup says of itself. `at` in epoch seconds; `left_out`: the names of secrets that are not in it."""

    model_config = ConfigDict(frozen=True)

    format: int
    hermes: str = Field(pattern=_VERSION)
    at: float = Field(ge=0, le=_LATEST)
    schemas: Mapping[str, int] = Field(default_factory=dict)
    left_out: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = ()
    files: Mapping[str, Entry] = Field(default_factory=dict)


def is_holdable(name: str) -> bool:
    """Whether a backup can hold a file of that name, and give it back: UTF-8, and nothing that leads elsewhere."""
    parts = name.split("/")
    if name.startswith("/") or "\0" in name or "\\" in name or any(p in ("", ".", "..") for p in parts):
        return False
    return scrub_surrogates(name) is name


class _Hashing:
    """Reads a file and remembers the hash of what was read."""

    def __init__(self, file: IO[bytes], told: Callable[[int], None]) -> None:
        self._file = file
        self._told = told
        self.hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.hash.update(data)
        self._told(len(data))
        return data


# --- writing -------------------------------------------------------------------------------------


def pack(
    file: IO[bytes], entries: Sequence[tuple[str, Path]], manifest: Manifest, told: Callable[[int], None]
) -> Manifest:
    """Write the entries (name in the archive, path on disk) and the manifest; the manifest as it was written.

    `told` hears of bytes read. A file that grows is taken up to the length it had when it was opened; one that was
    removed meanwhile is left out. Raises `OSError`, `HermesError` for a file that became shorter.
    """
    files: dict[str, Entry] = {}
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_LEVEL, format=tarfile.PAX_FORMAT) as tar:
        for name, path in entries:
            entry = _pack_one(tar, name, path, told)
            if entry is not None:
                files[name] = entry
        whole = manifest.model_copy(update={"files": files})
        data = whole.model_dump_json().encode()
        tar.addfile(_header(_MANIFEST, len(data), 0o600, manifest.at), io.BytesIO(data))
    return whole


def _pack_one(tar: tarfile.TarFile, name: str, path: Path, told: Callable[[int], None]) -> Entry | None:
    try:
        source = path.open("rb")
    except FileNotFoundError:
        return None
    with source:
        status = os.fstat(source.fileno())
        reader = _Hashing(source, told)
        mode = 0o700 if status.st_mode & 0o100 else 0o600
        try:
            tar.addfile(_header(name, status.st_size, mode, status.st_mtime), reader)
        except OSError as error:
            if error.errno is not None:
                raise
            raise HermesError(f"{path} became shorter while it was read; try again.") from error
    return Entry(size=status.st_size, sha256=reader.hash.hexdigest())


def _header(name: str, size: int, mode: int, at: float) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mode, header.mtime = size, mode, int(at)
    return header


# --- reading -------------------------------------------------------------------------------------


def unpack(archive: Path, target: Path) -> Manifest:
    """Put what a backup holds under the empty folder `target`, checked; its manifest.

    Raises `HermesError` that names what is wrong, `StoreTooNew` for a format of a later version; `target` may hold
    anything then.
    """
    with _translated(archive), tarfile.open(archive, "r:gz") as tar:
        found: dict[str, Entry] = {}
        manifest: Manifest | None = None
        for member in tar:
            if manifest is not None or member.name in found:
                raise HermesError(
                    f"{archive} holds {member.name!r} where nothing may follow; it was refused."
                )
            if member.name == _MANIFEST and member.isreg():
                manifest = _manifest(archive, tar, member)
            else:
                found[member.name] = _unpack_one(archive, tar, member, target)
    if manifest is None:
        raise HermesError(f"{archive} has no manifest: it is no backup of Hermes, or it was cut.")
    _compare(archive, manifest, found)
    return manifest


@contextmanager
def _translated(archive: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise HermesError(f"There is no {archive}.") from None
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise HermesError(f"{archive} cannot be read as a backup: {error}.") from error


def _manifest(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo) -> Manifest:
    source = tar.extractfile(member)
    if source is None or member.size > _MANIFEST_BYTES:
        raise HermesError(f"{archive} has a manifest that cannot be read.")
    try:
        raw: Any = json.loads(source.read())
        if isinstance(raw, dict) and isinstance(raw.get("format"), int) and raw["format"] > FORMAT:
            by = str(raw.get("hermes"))
            raise StoreTooNew(
                f"{archive} was made by a newer Hermes ({by if re.match(_VERSION, by) else '?'}); "
                "restore it with that one."
            )
        return Manifest.model_validate(raw)
    except (ValueError, ValidationError, RecursionError) as error:
        raise HermesError(f"{archive} has a manifest that cannot be read.") from error


def _unpack_one(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> Entry:
    _check_name(archive, member)
    source = tar.extractfile(member)
    if source is None:
        raise HermesError(f"{archive} holds {member.name!r}, which is no file; it was refused.")
    free = shutil.disk_usage(target).free
    if member.size + SPARE_BYTES > free:
        raise HermesError(f"There is no room for {member.name}: {member.size:,} bytes, {free:,} are free.")
    path = target.joinpath(*PurePosixPath(member.name).parts)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    mode = 0o700 if member.mode & 0o100 else 0o600
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as out:  # noqa: PTH123  a descriptor
        while block := source.read(_BLOCK):
            digest.update(block)
            out.write(block)
    return Entry(size=member.size, sha256=digest.hexdigest())


def _check_name(archive: Path, member: tarfile.TarInfo) -> None:
    name = member.name
    parts = name.split("/")
    if not member.isreg():
        raise HermesError(
            f"{archive} holds {name!r}, which is no plain file (a link or a device); it was refused."
        )
    if not is_holdable(name):
        raise HermesError(f"{archive} holds {name!r}, which leads out of the home; it was refused.")
    if parts[0] not in SCOPE:
        raise HermesError(f"{archive} holds {name!r}, which no backup of Hermes has; it was refused.")


def _compare(archive: Path, manifest: Manifest, found: Mapping[str, Entry]) -> None:
    missing = sorted(set(manifest.files) - set(found))
    extra = sorted(set(found) - set(manifest.files))
    changed = sorted(n for n in found if n in manifest.files and found[n] != manifest.files[n])
    for names, what in ((missing, "lacks"), (extra, "holds, unlisted,"), (changed, "holds a changed")):
        if names:
            raise HermesError(f"{archive} {what} {names[0]!r}; it is damaged and was refused.")
