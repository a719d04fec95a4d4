"""Many runs of `hermes` at the price of one start: a process that has imported everything forks for each of them.

`python -m tests.forked` reads one JSON request a line and answers with one. Each run is a process of its own with real
descriptors, an exit code, and the standard streams that an interpreter would have made at its start.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

Stdout = Literal["kept", "closed", "full", "unread"]
_PROJECT = Path(__file__).resolve().parents[1]
_USED = ("gateway.app", "gateway.backup", "gateway.restore", "gateway.wiring", "agent_core.host")
_NEEDS_THE_INTERPRETER = ("concurrent.futures.thread",)  # which another user may not be able to read
_CRASHED = 99


@dataclass(frozen=True)
class Run:
    """What one run gave; `code` is negative for a signal."""

    code: int
    out: str
    err: str


class Forked:
    """The process that forks, from this side."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_PROJECT,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def hermes(
        self,
        home: Path,
        *words: str,
        stdout: Stdout = "kept",
        encoding: str = "utf-8",
        user: int | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Run:
        """Run a command to its end, with stdin empty. `user`: as this user id, which needs root."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "words": words,
            "environ": {"HERMES_HOME": str(home), **(environ or {})},
            "stdout": stdout,
            "encoding": encoding,
            "user": user,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Run(answer["code"], answer["out"], answer["err"])


# --- the other side ------------------------------------------------------------------------------


def _serve() -> None:
    from gateway.cli import COMMANDS

    for module in (
        *(place.partition(":")[0] for place, _ in COMMANDS.values()),
        *_USED,
        *_NEEDS_THE_INTERPRETER,
    ):
        import_module(module)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), file=answers, flush=True)


def _run(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            try:
                _become(request, out.fileno(), err.fileno())
                _end(_main(request["words"]))
            finally:
                os._exit(_CRASHED)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "out": out.read().decode(errors="replace"),
            "err": err.read().decode(errors="replace"),
        }


def _become(request: dict[str, Any], out: int, err: int) -> None:
    os.environ.update(request["environ"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(_stdout(request["stdout"], out), 1)
    os.dup2(err, 2)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding=request["encoding"], closefd=False)
    if request["stdout"] == "closed":
        os.close(1)
        sys.stdout = None  # as the interpreter has it
    else:
        sys.stdout = os.fdopen(1, "w", encoding=request["encoding"], closefd=False)
    if request["user"] is not None:
        os.setgroups([])
        os.setgid(request["user"])
        os.setuid(request["user"])


def _stdout(kind: Stdout, kept: int) -> int:
    if kind == "full":
        return os.open("/dev/full", os.O_WRONLY)
    if kind == "unread":
        reading, writing = os.pipe()
        os.close(reading)
        return writing
    return kept


def _main(words: Sequence[str]) -> int:
    from gateway.cli import main

    try:
        return main(words)
    except BaseException:  # noqa: BLE001  a traceback is what is looked for
        import traceback

        traceback.print_exc()
        return _CRASHED


def _end(code: int) -> None:
    """As an interpreter ends: what is not written yet is tried once more."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    _serve()
