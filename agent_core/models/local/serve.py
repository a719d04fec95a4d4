"""The child: serves one model file over HTTP on a free port of 127.0.0.1 until its parent is gone.

Reads `Orders` from stdin and writes {"url": ...} or {"error": ...} to stdout; the library's own words go to
stderr.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import threading
from pathlib import Path

from agent_core.models.local.orders import Orders

__all__ = ["main"]

_FAILED = 3
_PR_SET_PDEATHSIG = 1  # prctl(2)
_EASY_TO_KILL = "800"  # when memory runs out this process goes, not the daemon (proc_pid_oom_score_adj(5))


def main() -> int:
    """Serve. The exit code, 3 when the model cannot be served."""
    orders = Orders.read(sys.stdin.buffer.readline())
    _bind_to_parent(orders.parent)
    _limit(orders)
    told = _take_stdout()
    try:
        server, url = _start(orders)
    except (RuntimeError, MemoryError, OSError, ImportError, ValueError) as error:
        os.write(told, json.dumps({"error": str(error) or type(error).__name__}).encode() + b"\n")
        return _FAILED
    os.write(told, json.dumps({"url": url}).encode() + b"\n")
    threading.Event().wait()
    del server  # served until here
    return 0


def _bind_to_parent(parent: int) -> None:
    """End with the parent, however it ends: by signal where the kernel offers it, else by the closed pipe."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before
        sys.exit(0)
    threading.Thread(target=_end_with_stdin, name="parent", daemon=True).start()


def _end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _limit(orders: Orders) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = orders.memory if most == resource.RLIM_INFINITY else min(orders.memory, most)
    # Darwin refuses limits on address space.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_EASY_TO_KILL, encoding="ascii")
    os.nice(5)  # the daemon answers others meanwhile


def _take_stdout() -> int:
    """A descriptor of stdout that nobody else writes to; the library's prints go to stderr from here on."""
    told = os.dup(1)
    os.dup2(2, 1)
    return told


def _start(orders: Orders) -> tuple[object, str]:
    import xllamacpp  # noqa: PLC0415  # after the limits, and only in the child

    params = xllamacpp.CommonParams()
    params.model.path = orders.model_file
    params.model_alias = {orders.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [orders.key]
    params.n_ctx = orders.context
    params.n_parallel = 1
    params.n_threads_http = 4
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = orders.threads
    params.use_jinja = True
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.cache_ram_mib = 0  # no second prompt cache beside the context
    params.warmup = False
    params.verbosity = 1
    params.sampling.temp = 0.2
    params.sampling.top_p = 0.9
    params.sampling.penalty_repeat = 1.05
    server = xllamacpp.Server(params)
    return server, str(server.listening_address)


if __name__ == "__main__":
    sys.exit(main())
