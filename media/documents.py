"""Documents to text. Their bytes may be made to do harm, so a process of its own reads each of them.

The process gets the file as its standard input and nothing else: no path, no secret, no address. What it says is taken as it
comes, so that a document which kills its reader half way is known up to there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import IO, get_args

import structlog

from hermes.reading import Reading, ReadingLimits, Reason
from media.readable import reader_of

__all__ = ["INSTALL", "PROGRAM", "Documents"]

log = structlog.get_logger(__name__)

INSTALL = "pip install 'hermes-gateway[documents]'"
"""What makes good for the reason "not_installed"."""

PROGRAM: Sequence[str] = (sys.executable, "-P", "-m", "media.child")
_PASSED_ON = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL")
_LONGEST_LINE = 1 << 20
_REASONS: dict[int, Reason] = {
    -signal.SIGXCPU: "timeout",
    -signal.SIGKILL: "memory",  # the system's own killer, or the limit on processor time that was not heard
    -signal.SIGABRT: "memory",  # what C++ and C libraries do when they get none
}


class Documents:
    """Reads documents, at most `at_once` at a time; who comes later waits."""

    def __init__(self, at_once: int = 2, program: Sequence[str] = PROGRAM) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._program = program

    async def read(self, path: Path, mime: str, limits: ReadingLimits) -> Reading:
        """What the file at `path` says, read as `mime`. See `hermes.reading.ReadDocument`."""
        if reader_of(mime) is None:
            return Reading(reason="unsupported")
        async with self._free:
            return await self._read(path, mime, limits)

    async def _read(self, path: Path, mime: str, limits: ReadingLimits) -> Reading:
        try:
            with await asyncio.to_thread(path.open, "rb", 0) as file:
                child = await _start(self._program, file, mime, limits)
        except OSError as error:
            log.warning("documents.not_started", reason=error.strerror)
            return Reading(reason="failed")
        return await _heard(child, mime, limits)


async def _start(program: Sequence[str], file: IO[bytes], mime: str, limits: ReadingLimits) -> Process:
    return await asyncio.create_subprocess_exec(
        *program,
        *(mime, str(limits.characters), f"{limits.seconds:g}", str(limits.memory)),
        stdin=file,
        stdout=PIPE,
        stderr=DEVNULL,
        cwd="/",
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        start_new_session=True,
        limit=_LONGEST_LINE,
    )


async def _heard(child: Process, mime: str, limits: ReadingLimits) -> Reading:
    """All that the child says until its end or its time is over; then it is gone."""
    words = _Words(limits.characters)
    in_time = True
    try:
        async with asyncio.timeout(limits.seconds):
            await words.hear(child)
    except TimeoutError:
        in_time = False
    finally:
        await _end(child)
    if words.reason is None and not words.is_whole:
        words.reason = "timeout" if not in_time else _REASONS.get(child.returncode or 0, "damaged")
        log.warning("documents.reader_died", mime=mime, reason=words.reason, code=child.returncode)
    return Reading(words.text, words.reason, words.place if words.reason else "")


class _Words:
    """What the child has said so far: lists of a text and its place, at last an object with the reason.

    is_whole: it needs no more listening to.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._parts: list[str] = []
        self.place = ""
        self.reason: Reason | None = None
        self.is_whole = False

    @property
    def text(self) -> str:
        return "".join(self._parts).strip()

    async def hear(self, child: Process) -> None:
        """Listen until the child has ended, has said all, or says what it must not."""
        assert child.stdout is not None  # noqa: S101  # it was asked for
        with contextlib.suppress(
            ValueError, TypeError, RecursionError
        ):  # a line too long, or no word of ours
            async for line in child.stdout:
                self._take(json.loads(line))
                if self.is_whole:
                    return
        await child.wait()

    def _take(self, told: object) -> None:
        if isinstance(told, list):
            text, place = told
            self._parts.append(text[: self._left])
            self.place = str(place)
            self._left -= len(text)
            if self._left < 0:
                self.reason, self.is_whole = "too_long", True
        elif isinstance(told, dict):
            reason = told["reason"]
            self.reason = reason if reason is None or reason in get_args(Reason) else "damaged"
            self.is_whole = True


async def _end(child: Process) -> None:
    """Kill the child and whatever it began, and wait for it."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    await child.wait()
