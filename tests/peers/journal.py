"""A bounded record of what a peer saw, that can be waited on and written to a file."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar


class Entry(Protocol):
    """What a journal keeps."""

    def summary(self) -> dict[str, object]:
        """The entry as plain JSON."""
        ...


E = TypeVar("E", bound=Entry)


class Changes:
    """Lets tests wait for a condition instead of sleeping."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def notify(self) -> None:
        """Something changed: every waiter looks again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Return once `condition` holds. Raises `TimeoutError` after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            while not condition():
                await self._changed.wait()


class Journal(Generic[E]):
    """The newest `most` entries; once complete, each is also a line of JSON in `path` if one is given.

    The file is written off the loop and complete once `aclose` has returned.
    """

    def __init__(self, path: Path | None = None, most: int = 50_000) -> None:
        self._entries: deque[E] = deque(maxlen=most)
        self._path = path
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._writer: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[E]:
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: E) -> None:
        """Append an entry."""
        self._entries.append(entry)

    def write(self, entry: E) -> None:
        """Put an entry that is complete now into the file."""
        if self._path is not None:
            self._lines.put_nowait(json.dumps(entry.summary(), default=str) + "\n")

    def clear(self) -> None:
        """Forget the entries in memory."""
        self._entries.clear()

    def start(self) -> None:
        """Begin to write the file, if there is one."""
        if self._path is not None:
            self._writer = asyncio.create_task(self._write(self._path), name="peer-journal")

    async def aclose(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._lines.put_nowait(None)
            await self._writer
            self._writer = None

    async def _write(self, path: Path) -> None:
        ended = False
        while not ended:
            batch = [await self._lines.get()]
            while not self._lines.empty():
                batch.append(self._lines.get_nowait())
            ended = None in batch
            await asyncio.to_thread(_append, path, "".join(line for line in batch if line is not None))


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
