"""Who listens on a TCP port, read from /proc (proc(5)); blocking, so it is called in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["holder_of"]

_LISTEN = "0A"  # TCP_LISTEN in include/net/tcp_states.h


def holder_of(port: int, proc: Path = Path("/proc")) -> str | None:
    """`name (pid N)` of the process that listens on `port`; `None` where that cannot be seen."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port, proc)}
    if not inodes:
        return None
    for process in proc.glob("[0-9]*"):
        if _holds(process, inodes):
            return f"{_name(process)} (pid {process.name})"
    return None


def _listening_inodes(port: int, proc: Path) -> Iterator[str]:
    for table in ("net/tcp", "net/tcp6"):
        try:
            lines = (proc / table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _holds(process: Path, inodes: set[str]) -> bool:
    try:
        return any(str(fd.readlink()) in inodes for fd in (process / "fd").iterdir())
    except OSError:  # gone meanwhile, or somebody else's
        return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a process"
