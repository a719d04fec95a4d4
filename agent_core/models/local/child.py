"""One run of the child process, from its start to its end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence

import structlog

from agent_core.models.local.orders import Orders
from hermes.errors import ModelError

__all__ = ["PROGRAM", "Child"]

log = structlog.get_logger(__name__)

PROGRAM: Sequence[str] = (sys.executable, "-P", "-m", "agent_core.models.local.serve")
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
# Threads that spin while they wait take the processors from everybody: ten times slower on a busy machine.
# An abort (out of memory) would start a debugger for its backtrace, which hangs where memory is short.
_FIXED = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "GGML_NO_BACKTRACE": "1"}
_KEPT_LINES = 20
_LINE = 500
_TO_END = 5.0


class Child:
    """A running child. Made by `Child.start`; `aclose` ends it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._listening = asyncio.create_task(self._listen(), name="local-model-log")
        self.url = ""

    @classmethod
    async def start(cls, orders: Orders, seconds: float, program: Sequence[str] = PROGRAM) -> Child:
        """A child that serves, within `seconds`. Raises `ModelError`: "config" where its file is to blame."""
        try:
            process = await asyncio.create_subprocess_exec(
                *program,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=_environment(os.environ),
                start_new_session=True,  # a terminal's Ctrl-C is for the daemon
            )
        except OSError as error:
            told = f"The embedded model's process cannot be started: {error.strerror or error}."
            raise ModelError(told, kind="overload") from error
        child = cls(process)
        try:
            async with asyncio.timeout(seconds):
                child.url = await child._greet(orders)
        except TimeoutError:
            await child.aclose()
            told = f"The embedded model was not ready after {seconds:.0f} s."
            raise ModelError(told, kind="timeout") from None
        except BaseException:
            await child.aclose()
            raise
        log.info("local_model.started", pid=child.pid, model=orders.name)
        return child

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet, as far as the loop has heard."""
        return self._process.returncode is None

    async def ended(self) -> int:
        """Wait for its end; the exit code, a signal as its negative number."""
        return await self._process.wait()

    async def aclose(self) -> None:
        """End it at once: it has nothing to save. Returns when it is gone."""
        if self.is_running:
            self._process.kill()
        try:
            async with asyncio.timeout(_TO_END):
                await self._process.wait()
        except TimeoutError:
            log.warning("local_model.stuck", pid=self.pid)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _greet(self, orders: Orders) -> str:
        process = self._process
        assert process.stdin is not None  # noqa: S101  # both were asked for
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(orders.line())  # and stays open: its end is ours
        answer = await process.stdout.readline()
        if not answer:
            code = await process.wait()
            await self._listening
            raise ModelError(f"The embedded model ended at its start ({_end(code)}).", kind="overload")
        try:
            told = json.loads(answer)
        except ValueError as error:
            raise ModelError("The embedded model's process spoke nonsense.", kind="overload") from error
        if "url" in told:
            return str(told["url"])
        await self._listening
        reason = _reason(self._lines) or str(told.get("error", "no reason was given"))
        raise ModelError(f"The model file {orders.model_file} cannot be used: {reason}.", kind="config")

    async def _listen(self) -> None:
        stream = self._process.stderr
        assert stream is not None  # noqa: S101  # it was asked for
        rest = b""
        while piece := await stream.read(8192):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._heard(line)
            rest = rest[-_LINE:]
        self._heard(rest)

    def _heard(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()[:_LINE]
        if text:
            self._lines.append(text)
            log.info("local_model.said", line=text)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Nothing secret goes to the child, nor what would change the library's behaviour."""
    return {name: environ[name] for name in _PASSED_ON if name in environ} | _FIXED


def _end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _reason(lines: Sequence[str]) -> str:
    """The first complaint of the loader: "... E llama_model_load: error loading model: REASON"."""
    for line in lines:
        _, found, reason = line.partition("error loading model: ")
        if found:
            return reason.rstrip(".")
    return ""
