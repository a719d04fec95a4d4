"""Transcript files: append-only JSON Lines, whole lines only (https://jsonlines.org).

Everything here blocks; call it off the event loop.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from agent_core.store.replacement import write_all
from hermes.messages import JSONObject

__all__ = [
    "Tail",
    "append_lines",
    "mend_tail",
    "read_lines",
    "session_folder",
    "transcript_path",
]

_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a transcript: its last message's id (0 without one), and how many bytes were cut as torn."""

    last_id: int
    cut: int = 0


def session_folder(home: Path, agent_id: str) -> Path:
    """`agents/<agentId>/sessions`; no id leads out of it."""
    return home / "agents" / _segment(agent_id) / "sessions"


def transcript_path(home: Path, agent_id: str, session_id: str) -> Path:
    """`agents/<agentId>/sessions/<sessionId>.jsonl`."""
    return session_folder(home, agent_id) / f"{_segment(session_id)}.jsonl"


def _segment(name: str) -> str:
    encoded = quote(name, safe="")
    return encoded.replace(".", "%2E") if encoded.strip(".") == "" else encoded


def mend_tail(path: Path) -> Tail:
    """Cut what follows the last whole line, and lines at the end that are no JSON object."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return Tail(0)
    try:
        size = os.fstat(descriptor).st_size
        end, last_id = _sound_end(descriptor, size)
        if end < size:
            os.ftruncate(descriptor, end)
    finally:
        os.close(descriptor)
    return Tail(last_id, size - end)


def _sound_end(descriptor: int, size: int) -> tuple[int, int]:
    """Where the sound lines end, and the id of the last message among them."""
    end: int | None = None
    for start, line in _lines_backward(descriptor, size):
        value = _parse(line)
        if value is None:
            continue  # at the end it is cut; before sound lines it is the doctor's business
        if end is None:
            end = start + len(line)
        if isinstance(value.get("id"), int):
            return end, value["id"]
    return end or 0, 0


def _lines_backward(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """(offset, line with its newline), last line first; a torn rest comes without a newline."""
    position, rest = size, b""
    while position > 0:
        start = max(0, position - _CHUNK)
        rest = os.pread(descriptor, position - start, start) + rest
        position = start
        while (cut := rest.rfind(b"\n", 0, len(rest) - 1)) >= 0:
            yield position + cut + 1, rest[cut + 1 :]
            rest = rest[: cut + 1]
    if rest:
        yield 0, rest


def _parse(line: bytes) -> JSONObject | None:
    if not line.endswith(b"\n"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def append_lines(path: Path, lines: Sequence[str]) -> None:
    """Append whole lines. Raises `OSError`, and then nothing of them stays in the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, data)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> Iterator[JSONObject | None]:
    """Every line of a transcript as an object, `None` for one that is none. Raises `OSError`."""
    with path.open("rb") as file:
        for line in file:
            yield _parse(line if line.endswith(b"\n") else line + b"\n")
