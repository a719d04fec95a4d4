"""The installed daemon as a child process that can be killed at any time."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

HERMES = Path(sys.executable).with_name("hermes")
_READY = "ready http://"
_SECONDS_TO_START = 60.0


class DaemonEnded(Exception):
    """The daemon ended before it was ready."""


class Daemon:
    """One life of `hermes gateway run`; `stderr` is what it said so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self.ready = asyncio.Event()
        self._said = asyncio.Event()
        self._reader = asyncio.create_task(self._read(), name="daemon-stderr")

    @classmethod
    async def start(
        cls,
        home: Path,
        *,
        failpoint: str | None = None,
        under: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        program: Path = HERMES,
    ) -> "Daemon":
        """Start it, `under` a tracer if one is given. It may die before it is ready: see `until_ready`."""
        # Measuring coverage would double the time of a start, and what is killed writes no figures.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        env = {**kept, "HERMES_HOME": str(home), "HOME": str(home.parent), **(environ or {})}
        if failpoint is not None:
            env["HERMES_FAILPOINT"] = failpoint
        process = await asyncio.create_subprocess_exec(
            *under,
            str(program),
            "gateway",
            "run",
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        return cls(process)

    async def until_ready(self) -> None:
        """Wait for the line `ready http://...`. Raises `DaemonEnded`."""
        ready = asyncio.create_task(self.ready.wait())
        ended = asyncio.create_task(self.process.wait())
        try:
            async with asyncio.timeout(_SECONDS_TO_START):
                await asyncio.wait((ready, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            ended.cancel()
            await asyncio.gather(ready, ended, return_exceptions=True)
        if not self.ready.is_set():
            code = await self.wait()
            if not self.ready.is_set():
                raise DaemonEnded(f"exit {code}: {self.stderr[-4000:]}")

    async def until_said(self, words: str, timeout: float = 10.0) -> None:
        """Wait for these words in its log. Raises `TimeoutError`."""
        async with asyncio.timeout(timeout):
            while words not in self.stderr:
                self._said.clear()
                await self._said.wait()

    @property
    def stderr(self) -> str:
        """Everything it wrote to stderr so far."""
        return "".join(self.lines)

    @property
    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self.process.returncode is not None

    def signal(self, number: int) -> None:
        """Send a signal to it, if it is still there."""
        if not self.has_ended:
            self.process.send_signal(number)

    async def wait(self, timeout: float = 30.0) -> int:
        """Its exit code (negative: the signal). Raises `TimeoutError`."""
        async with asyncio.timeout(timeout):
            code = await self.process.wait()
            await self._reader
        return code

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        await self.wait()

    async def stop(self, timeout: float = 40.0) -> int:
        """SIGTERM, and wait: turns end, the outbox is flushed. The exit code."""
        self.signal(signal.SIGTERM)
        return await self.wait(timeout)

    async def _read(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            text = line.decode(errors="replace")
            self.lines.append(text)
            self._said.set()
            if text.startswith(_READY):
                self.ready.set()
