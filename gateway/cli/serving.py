"""The daemon in this process, without the command-line library: it stays in memory as long as the daemon runs."""

from __future__ import annotations

import mimetypes
import os
import sys

from hermes.errors import EXIT_RESTART
from hermes.home import Home, default_home
from hermes.trust import import_aiohttp

__all__ = ["serve_here"]

_UNUSED = ("rich", "httpx._main", "frozenlist._frozenlist")
"""What libraries import where it is installed; a daemon paints nothing, and a list in C++ brings a library of 1 MB."""


def serve_here(only: str | None = None, ready_fd: int | None = None) -> int:
    """Serve until asked to stop; the exit code. Does not return when a restart is asked for: it becomes the next daemon.

    `ready_fd`: a pipe to tell when ready; -1: detached, but nobody waits any longer.
    """
    from gateway.cli.loop import end_if_busy

    code = _serve(Home(default_home()), only, ready_fd)
    if code == EXIT_RESTART and "NOTIFY_SOCKET" not in os.environ:  # no service manager will start us again
        words = ["gateway", "run", *(["--gateway", only] if only else [])]
        _start_again([*words, *([] if ready_fd is None else ["--ready-fd", "-1"])])
    end_if_busy(code)
    return code


def _serve(home: Home, only: str | None, ready_fd: int | None) -> int:
    for name in _UNUSED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # None: as if it were not installed
    # It would look through all that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    mimetypes.inited = True  # else aiohttp reads the machine's table, for files that we do not serve
    import_aiohttp()
    from gateway.app import RunOptions, serve
    from gateway.cli.detach import ready_notice
    from gateway.cli.loop import run_daemon

    notice = ready_notice(home, ready_fd) if ready_fd is not None and ready_fd >= 0 else None
    options = RunOptions(only=only, on_ready=notice, stderr_log=ready_fd is None)
    return run_daemon(serve(home, options))


def _start_again(words: list[str]) -> None:
    from gateway.cli.detach import command

    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command(words))  # noqa: S606  ourselves
