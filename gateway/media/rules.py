"""The bounds on files, as the settings have them at a moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.media.folder import MediaFolder, NotKept
from hermes.adapter import Keep
from hermes.clock import Clock
from hermes.errors import NotTaken, Rejected
from hermes.files import StoredFile

__all__ = ["MediaRules", "Room", "keep_in"]


@dataclass(frozen=True, slots=True)
class MediaRules:
    """largest: bytes of one file that comes in. files: of one message. documents: whether they are read.

    characters: of what the files of messages say that are answered together. quota: bytes of all that is kept.
    keep: seconds that a file stays after the last message that has it.
    starts: processes that may end while they fetch or read a file, before it is given up.
    """

    largest: int = 20_000_000
    files: int = 10
    documents: bool = True
    characters: int = 60_000
    quota: int = 1 << 30
    keep: float = 30 * 86_400.0
    starts: int = 3


@dataclass(frozen=True, slots=True)
class Room:
    """What those share who handle the files of messages. rules: as they are now. say: the table of system sentences."""

    folder: MediaFolder
    rules: Callable[[], MediaRules]
    say: Callable[..., str]
    clock: Clock


def keep_in(folder: MediaFolder, rules: Callable[[], MediaRules]) -> Keep:
    """What adapters keep files with that come inside of a message."""

    async def keep(data: bytes, name: str, *, spoken: bool = False) -> StoredFile:
        try:
            return await folder.put(data, name, limit=rules().largest, spoken=spoken)
        except NotKept as error:
            if error.reason == "room":
                raise NotTaken("There is no room on the disk.") from error
            most = f"it is larger than media.largest ({rules().largest:,} bytes)"
            raise Rejected(
                f"A file was refused: {most if error.reason == 'large' else 'it is empty'}."
            ) from error

    return keep
