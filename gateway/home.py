"""Making, claiming and locking the home directory; replacing files in it so that no reader sees half of one.

Sources: flock(2), rename(2); PEP 446 (the lock's descriptor is not inherited by children).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from gateway import swap
from hermes.errors import HomeError, HomeHeld
from hermes.home import APPLICATION_ID, Home

__all__ = [
    "FOREIGN_KEYS",
    "HomeLock",
    "atomic_write",
    "check_made",
    "check_ours",
    "file_lock",
    "prepare",
    "read_pid",
]

FOREIGN_KEYS = frozenset(
    {
        "_config_version",
        "auxiliary",
        "browser",
        "checkpoints",
        "code_execution",
        "command_allowlist",
        "custom_providers",
        "database",
        "fallback_model",
        "fallback_providers",
        "human_delay",
        "mcp_servers",
        "model",
        "personalities",
        "platform_toolsets",
        "plugins",
        "prompt_caching",
        "providers",
        "quick_commands",
        "security",
        "smart_model_routing",
        "stt",
        "terminal",
        "toolsets",
        "tts",
    }
)
"""Top-level keys that hermes-agent's config.yaml has and ours never will.

That program has the same default home, command and file names.
"""

_OFFER = "Set HERMES_HOME to another folder to use Hermes beside it"

_AS_OWNER = "Start Hermes as that user, or set HERMES_HOME to a folder of your own."
_AS_THE_SERVICE = (
    "It is the service's; as root run the command as its user: systemd-run -q --pty --wait --collect -p User=hermes "
    "-p DynamicUser=yes -p StateDirectory=hermes -E HERMES_HOME=/var/lib/hermes HERMES ... "
    "(HERMES: the program's whole path)"
)


def prepare(home: Home) -> str | None:
    """Make the home, 0700, or see that it is ours and usable; before that nothing is written.

    Blocks on files. To be called before the store is opened, since it looks at the database's first bytes.
    A restore that was cut is finished. Returns a sentence for the log when the mode had to be narrowed.
    Raises `HomeError`.
    """
    try:
        status = home.root.stat()
    except FileNotFoundError:
        _make(home)
        return None
    except OSError as error:
        raise HomeError(f"The home {home.root} cannot be used: {error.strerror}.") from None
    if not stat.S_ISDIR(status.st_mode):
        raise HomeError(f"The home {home.root} is no folder. Move it away, or set HERMES_HOME.")
    if status.st_uid != os.geteuid():
        raise HomeError(
            f"The home {home.root} belongs to another user (uid {status.st_uid}, we are uid {os.geteuid()}). "
            + (_AS_THE_SERVICE if _is_the_services(home) else _AS_OWNER)
        )
    check_ours(home)
    _check_writable(home)
    if swap.is_decided(home.root):  # a restore was cut, or goes on: then the lock is held
        with HomeLock(home):
            pass
    return _narrow(home, stat.S_IMODE(status.st_mode))


def _is_the_services(home: Home) -> bool:
    """Whether systemd keeps the home for a user that it invents (systemd.exec(5), `DynamicUser`)."""
    return home.root.resolve().is_relative_to("/var/lib/private")


def _make(home: Home) -> None:
    try:
        home.root.mkdir(mode=0o700, parents=True)
        home.root.chmod(0o700)
    except OSError as error:
        raise HomeError(
            f"The home {home.root} cannot be made: {error.strerror}. Set HERMES_HOME to a folder of your own."
        ) from None


def _narrow(home: Home, mode: int) -> str | None:
    if mode == 0o700:
        return None
    try:
        home.root.chmod(0o700)
    except OSError as error:
        raise HomeError(f"The mode of {home.root} cannot be set to 0700: {error.strerror}.") from None
    return f"The home {home.root} had mode {mode:04o}; it is 0700 now, for your eyes only."


def _check_writable(home: Home) -> None:
    # root passes access(2) even where nothing can be written, but it is told of a read-only file system.
    if not os.access(home.root, os.W_OK | os.X_OK):
        raise HomeError(f"The home {home.root} cannot be written to. Make it writable, or set HERMES_HOME.")


def check_made(home: Home) -> None:
    """See that somebody has made the home. Raises `HomeError`; writes nothing.

    What may not be looked at is `prepare`'s to tell.
    """
    try:
        found = {path.name for path in home.root.iterdir()}
    except FileNotFoundError:
        found = set()
    except OSError:
        return
    ours = (home.config, home.env, home.state, home.lock, home.control, home.logs)
    if not found & {swap.STAGE, *(path.name for path in ours)}:
        raise HomeError(
            f"There is no home at {home.root}, so there is nothing to look at or to change. If yours lies elsewhere, set "
            "HERMES_HOME to it; `hermes chat` and `hermes run` make a new one."
        )


def check_ours(home: Home) -> None:
    """Raise `HomeError` when another program uses the home. Writes nothing; a missing home is fine."""
    if _is_foreign_database(home.state):
        raise HomeError(f"{home.state} was made by another program, probably hermes-agent. {_OFFER}.")
    foreign = _foreign_keys(home.config)
    if foreign:
        raise HomeError(
            f"{home.config} looks like the configuration of hermes-agent (it has {', '.join(foreign)}). "
            f"{_OFFER}; if you wrote it for Hermes, see docs/configuration.md (the model stands under llm)."
        )


def _is_foreign_database(path: Path) -> bool:
    """Whether a database lies there that has content and lacks our mark; an empty file is nobody's."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise HomeError(f"{path} cannot be read: {error.strerror}.") from None
    return (
        bool(header)
        and int.from_bytes(header[68:72], "big") != APPLICATION_ID
        and not _is_blank(path, header)
    )


def _is_blank(path: Path, header: bytes) -> bool:
    """A database without a table on its first page: a start that was killed at once. The store looks further.

    The page's B-tree header lies at byte 100, its cells are counted at 103; sqlite.org/fileformat2.html, 1.6.
    """
    if not header.startswith(b"SQLite format 3\0"):
        return False
    with path.open("rb") as file:
        file.seek(103)
        return file.read(2) in {b"", b"\0\0"}


def _foreign_keys(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HomeError(f"{path} cannot be read: {error.strerror}.") from None
    keys = re.findall(r"^[\"']?([A-Za-z_][A-Za-z0-9_]*)[\"']?\s*:", text.removeprefix("\ufeff"), re.MULTILINE)
    return sorted(FOREIGN_KEYS.intersection(keys))


class HomeLock:
    """The home's lock (flock on `Home.lock`): one process that writes.

    The holder's pid stands in the file and, for people and scripts, in `Home.pid`. The kernel lets go when
    the process ends, however it ends, so whatever an old pid file says counts for nothing.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def acquire(self) -> None:
        """Take it at once, and finish a restore that was cut.

        Raises `HomeHeld` with the holder's pid, `HomeError` when it cannot be locked.
        """
        try:
            fd = os.open(self._home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HomeError(f"{self._home.lock} cannot be opened: {error.strerror}.") from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(fd, 0o600)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
            atomic_write(self._home.pid, f"{os.getpid()}\n".encode())
        except OSError as error:
            os.close(fd)
            if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
                raise self._refusal() from None
            raise HomeError(f"{self._home.lock} cannot be locked: {error.strerror}.") from None
        self._fd = fd
        try:
            swap.finish(self._home.root)
        except HomeError:
            self.release()
            raise

    def release(self) -> None:
        """Let go; the pid file goes first. Nothing happens when it is not held."""
        if self._fd is None:
            return
        if read_pid(self._home.pid) == os.getpid():
            self._home.pid.unlink(missing_ok=True)
        # The file stays: removing a lock file lets two processes lock two files of one name.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)
        self._fd = None

    def _refusal(self) -> HomeHeld:
        pid = read_pid(self._home.lock)
        who = "another Hermes" if pid is None else f"another Hermes, process {pid}"
        stop = "stop it with `hermes gateway stop`" if pid is None else f"stop it (`kill {pid}`)"
        return HomeHeld(
            f"The home {self._home.root} is in use by {who}. Use that one, {stop}, or set HERMES_HOME.",
            pid=pid,
        )

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def read_pid(path: Path) -> int | None:
    """The process id in the file; `None` when there is none that could be one."""
    try:
        text = path.read_bytes()[:32].decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if re.fullmatch(r"[1-9]\d{0,9}", text) else None


def atomic_write(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace the file's content as a whole, on disk when this returns. Blocks. Raises `OSError`.

    A symbolic link is followed, so that a linked file stays linked.
    """
    target = path.resolve()
    fd, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    swap.sync(target.parent)


@contextlib.contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Alone in changing `path`, among those who ask (a lock file beside it). Waits. Re-read under it."""
    fd = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
