"""Reading the log back: its files in order, its records, and what is written while one looks on."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

from hermes.messages import JSONObject

__all__ = ["LEVELS", "Filter", "Log", "Record", "parse", "records"]

LEVELS = ("debug", "info", "warning", "error", "critical")
_NAME = "hermes.log"
_LOOK_EVERY = 0.2
_PIECE = 1 << 16
_HEAD = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) (debug|info|warning|error|critical) +(\S+): ")


@dataclass(frozen=True, slots=True)
class Record:
    """One record. text: its lines as they stand in the file. at: epoch seconds."""

    at: float
    level: str
    text: str
    fields: JSONObject

    def to_json(self) -> JSONObject:
        """The record for programs: what a JSON log holds anyway, or the text with its time, level and logger."""
        return self.fields


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records are wanted: of `level` and worse, not older than `since` (epoch seconds)."""

    level: str = "debug"
    since: float = 0.0

    def takes(self, record: Record) -> bool:
        """Whether the record is wanted."""
        return record.at >= self.since and LEVELS.index(record.level) >= LEVELS.index(self.level)


def parse(text: str) -> Record | None:
    """The record that begins with this text's first line; `None` when the line belongs to the one before. Pure."""
    head = _HEAD.match(text)
    if head is not None:
        when, level, logger = head.groups()
        said, _, trace = text[head.end() :].partition("\n")
        fields: JSONObject = {"time": when, "level": level, "logger": logger, "text": said}
        return Record(_epoch(when), level, text, {**fields, "exception": trace} if trace else fields)
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
        level, at = str(found["level"]), _epoch(str(found["time"]))
    except (ValueError, KeyError, TypeError):
        return None
    return Record(at, level, text, found) if level in LEVELS else None


def _epoch(when: str) -> float:
    return datetime.strptime(when, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp()


def records(lines: Iterable[str]) -> Iterator[Record]:
    """The records of whole lines. Lines before the first one are left out. Pure."""
    held: list[str] = []
    for line in lines:
        if parse(line) is not None:
            yield from _joined(held)
            held = [line]
        elif held:
            held.append(line)
    yield from _joined(held)


def _joined(held: list[str]) -> Iterator[Record]:
    record = parse("\n".join(held)) if held else None
    if record is not None:
        yield record


class Log:
    """The log in `folder`: read `stored` to its end, then `follow` goes on from there. Blocks. Raises `OSError`."""

    def __init__(self, folder: Path, pause: Callable[[float], None] = time.sleep) -> None:
        self._folder = folder
        self._path = folder / _NAME
        self._pause = pause
        self._file: IO[str] | None = None
        self._rest = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def stored(self) -> Iterator[Record]:
        """All records in the files, oldest first."""
        return records(self._stored_lines())

    def _stored_lines(self) -> Iterator[str]:
        for path in _rotated(self._folder):
            yield from _lines(path)
        self._file = _opened(self._path)
        yield from self._written()

    def follow(self) -> Iterator[Record]:
        """Every record that is written from now on, for ever, over rotations.

        It looks again every 0.2 s: files tell nobody of their changes on every system.
        """
        while True:
            yield from records(self._written())
            fresh = self._replaced()
            if fresh is None:
                self._pause(_LOOK_EVERY)
                continue
            if self._file is not None:
                self._file.close()
            self._file, self._rest = fresh, ""

    def _written(self) -> Iterator[str]:
        """Whole lines from where we are to the end."""
        while self._file is not None and (piece := self._file.read(_PIECE)):
            *lines, self._rest = (self._rest + piece).split("\n")
            yield from lines

    def _replaced(self) -> IO[str] | None:
        """The file that has the name now, if it is another one."""
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return None
        if self._file is not None:
            mine = os.fstat(self._file.fileno())
            read = os.lseek(
                self._file.fileno(), 0, os.SEEK_CUR
            )  # to its end: the text layer's own place is opaque
            if (mine.st_dev, mine.st_ino) == (now.st_dev, now.st_ino) and now.st_size >= read:
                return None
        return _opened(self._path)


def _rotated(folder: Path) -> list[Path]:
    """`hermes.log.N`, the oldest first."""
    found = [(int(p.suffix[1:]), p) for p in folder.glob(f"{_NAME}.*") if p.suffix[1:].isdecimal()]
    return [path for _, path in sorted(found, reverse=True)]


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                yield line.rstrip("\n")
    except FileNotFoundError:  # rotated away meanwhile
        return


def _opened(path: Path) -> IO[str] | None:
    try:
        return path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
