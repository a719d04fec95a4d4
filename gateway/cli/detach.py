"""`hermes gateway run --daemon`: a daemon that outlives the terminal.

The child leads a session of its own and belongs to nobody once we end. It keeps a pipe of ours: one byte
means READY, its end without one means that it did not come up.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO

from hermes.home import Home

__all__ = ["command", "detach", "ready_notice"]

FILE = "daemon.log"
"""What the interpreter itself says (a crash); the log proper is beside it."""
KEPT_LINES = 200


def command(words: Sequence[str]) -> list[str]:
    """How this program is started anew with `words`; `-P` keeps the working directory off the module path."""
    return [sys.executable, "-P", "-m", "gateway.cli", *words]


def detach(home: Home, words: Sequence[str]) -> int:
    """Start `hermes WORDS --ready-fd N` on its own and wait until it is ready: 0, else the child's exit code.

    What it says on stderr until then comes out here.
    """
    ready, notice = os.pipe()
    with subprocess.Popen(
        command([*words, "--ready-fd", str(notice)]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(notice,),
        start_new_session=True,
        cwd="/",
        env={**os.environ, "HERMES_HOME": str(home.root)},
    ) as child:
        os.close(notice)
        said: deque[bytes] = deque(maxlen=KEPT_LINES)
        reading = Thread(target=_keep, args=(child.stderr, said), daemon=True)
        reading.start()
        came_up = os.read(ready, 1) == b"1"
        os.close(ready)
        if came_up:
            reading.join(1.0)
            _pass_on(said)
            child.returncode = 0  # it lives on, and is not ours to wait for
            return 0
        code = child.wait()
        reading.join(1.0)
    _pass_on(said)
    return code if code >= 0 else 128 - code


def _keep(stream: IO[bytes] | None, said: deque[bytes]) -> None:
    if stream is not None:
        with suppress(ValueError, OSError):
            said.extend(stream)


def _pass_on(said: deque[bytes]) -> None:
    sys.stderr.write(b"".join(said).decode(errors="replace"))
    sys.stderr.flush()


def ready_notice(home: Home, descriptor: int) -> Callable[[], None]:
    """What the child does when it is ready: let go of its parent's stderr, and tell the parent."""

    def tell() -> None:
        _redirect(home.logs / FILE)
        with suppress(OSError):  # the parent was killed
            os.write(descriptor, b"1")
        os.close(descriptor)

    return tell


def _redirect(path: Path) -> None:
    # Begun anew at each start, so that it does not grow.
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
