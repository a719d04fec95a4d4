"""A small Debian, and the program's packages, for tests that boot a unit or build an image.

Both are made once and kept in `.cache`, which git does not see. What they need (debootstrap, systemd-nspawn, podman, runc)
`scripts/test --all` installs as root.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache"
SUITE = "bookworm"
PACKAGES = "systemd,systemd-sysv,dbus,libpam-systemd,procps,python3,python3-venv,ca-certificates"
PYTHON = "/usr/bin/python3"
"""The system's own, of the same version as the small machine's."""


def missing(*programs: str) -> str | None:
    """Why these tests cannot run here; `None` when they can."""
    lacking = [p for p in programs if shutil.which(p) is None]
    if lacking:
        return f"{', '.join(lacking)} is not installed"
    return None if os.geteuid() == 0 else "only root can do this"


def run(*words: str | Path, seconds: float = 300.0, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; its output is shown when it fails."""
    done = subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@contextmanager
def once(name: str) -> Iterator[tuple[Path, Path]]:
    """The kept folder and a fresh one that takes its place when the block ends well; nobody else makes it meanwhile."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept, fresh = CACHE / name, CACHE / f"{name}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        yield kept, fresh
        if fresh.exists():
            fresh.rename(kept)


def small_machine() -> Path:
    """The root of a small Debian with systemd and Python; not to be changed."""
    with once(f"rootfs-{SUITE}") as (kept, fresh):
        if not kept.exists():
            run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, fresh, seconds=600)
    return kept


def wheels() -> Path:
    """Every package that the lock file names, for the small machine's Python, and this checkout as a wheel."""
    lock = ROOT / "requirements.lock"
    with once("wheels") as (kept, fresh):
        stamp = kept / "made-from"
        if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
            shutil.rmtree(kept, ignore_errors=True)
            run(PYTHON, "-m", "venv", CACHE / "pip")
            pip: Sequence[str | Path] = (CACHE / "pip" / "bin" / "python", "-m", "pip", "download", "-q")
            run(*pip, "--require-hashes", "-r", lock, "-d", fresh, seconds=600)
            (fresh / "made-from").write_bytes(lock.read_bytes())
    return kept
