"""The control socket: how commands and chats reach the process that holds a home.

A Unix socket, lines of JSON, protocol version 1. A connection's first line is
`{"protocol": 1, "op": NAME, ...}`; the answer is `{"ok": true, "pid": N, "role": "daemon"|"chat", ...}` or
`{"ok": false, "error": SENTENCE, "code": EXIT_CODE}`, and the connection ends. After the answer to `chat` it
belongs to the terminal's adapter. Only the home's owner and root are served.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import stat
import struct
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import structlog

from gateway.control_client import PROTOCOL, decode, encode, recorded_path
from hermes.errors import HermesError, HomeError
from hermes.home import Home
from hermes.messages import JSONObject

__all__ = ["MAX_LINE", "ControlServer", "Handler", "Role", "Stream", "candidates", "connect"]

Handler = Callable[[JSONObject], Awaitable[JSONObject]]
Stream = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Role = Literal["daemon", "chat"]

MAX_LINE = 1 << 20
"""Bytes of one line from a client."""
MAX_CONNECTIONS = 64
HELLO_SECONDS = 10.0
PATH_BYTES = 100
"""Paths of sockets are short: 108 bytes with the closing zero on Linux (unix(7)), 104 on macOS."""

_log = structlog.get_logger("hermes.control")


# --- where it lies -------------------------------------------------------------------------------


def candidates(home: Home, environ: Mapping[str, str]) -> Sequence[Path]:
    """Where the socket may lie, best first; pure. Paths that are too long for a socket are left out."""
    digest = hashlib.sha256(os.fsencode(home.root)).hexdigest()[:16]
    found = []
    if unit := environ.get("RUNTIME_DIRECTORY", "").split(":")[0]:
        found.append(Path(unit))
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        found.append(Path(runtime) / f"hermes-{digest}")
    found += [Path(base) / f"hermes-{os.getuid()}-{digest}" for base in (tempfile.gettempdir(), "/tmp")]  # noqa: S108  made 0700 and checked
    paths = [folder / "control.sock" for folder in dict.fromkeys(found)]
    return [p for p in paths if p.is_absolute() and len(os.fsencode(p)) <= PATH_BYTES]


def _claim(folder: Path) -> bool:
    """Make `folder` 0700 or find it so; `False` where it is somebody else's or cannot be made."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        if found.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError:
        return False
    return True


def _choose(home: Home, environ: Mapping[str, str]) -> Path:
    for path in candidates(home, environ):
        if _claim(path.parent):
            return path
    # Somebody else sits on our names in the shared folder: a random one, which the home records.
    return Path(tempfile.mkdtemp(prefix="hermes-", dir="/tmp")) / "control.sock"


def _bind(home: Home, environ: Mapping[str, str]) -> tuple[socket.socket, Path]:
    """A bound socket of mode 0600, its path recorded in the home.

    What an ended process left there is replaced: the caller holds the lock.
    """
    try:
        path = _choose(home, environ)
        path.unlink(missing_ok=True)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0))
        bound.bind(str(path))
        path.chmod(0o600)
        _record(home, path)
    except OSError as error:
        raise HomeError(f"The control socket cannot be made: {error}.") from error
    return bound, path


def _record(home: Home, path: Path) -> None:
    fresh = home.control.with_name(f".control.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, os.fsencode(path) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(home.control)


def _remove(home: Home, path: Path, made: int) -> None:
    """Unless it is another's by now: who takes over a home that was removed has his socket in the same place."""
    with suppress(OSError):
        if path.stat().st_ino != made:
            return
    path.unlink(missing_ok=True)
    if path.parent.name.startswith("hermes-"):  # ours, not the service manager's
        with suppress(OSError):
            path.parent.rmdir()
    if recorded_path(home) == str(path):
        home.control.unlink(missing_ok=True)


def _peer_uid(writer: asyncio.StreamWriter) -> int | None:
    """Who connected (SO_PEERCRED, unix(7)); `None` where only the folder's mode protects."""
    connection = writer.get_extra_info("socket")
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
    return int(struct.unpack("3i", raw)[1])


# --- the server ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Refusal(Exception):
    sentence: str
    code: int = 1


class ControlServer:
    """Serves `handlers` and, for the operation `chat`, `stream`.

    The caller holds the home's lock from before `start` until after `aclose`.
    """

    def __init__(
        self, home: Home, handlers: Mapping[str, Handler], stream: Stream | None = None, role: Role = "daemon"
    ) -> None:
        self._home = home
        self._handlers = dict(handlers)
        self._stream = stream
        self._role: Role = role
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.path: Path | None = None
        self._made = 0  # its number in the file system (stat(2), st_ino)

    async def start(self, environ: Mapping[str, str] = os.environ) -> Path:
        """Listen; returns where. Raises `HomeError` when there is no place for a socket."""
        bound, path = await asyncio.to_thread(_bind, self._home, environ)
        self.path = path
        self._made = await asyncio.to_thread(lambda: path.stat().st_ino)
        self._server = await asyncio.start_unix_server(self._accept, sock=bound, limit=MAX_LINE)
        return path

    async def aclose(self) -> None:
        """Stop listening, end what is connected and remove the socket."""
        if self._server is None or self.path is None:
            return
        self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(tuple(self._connections), timeout=5.0)
        await asyncio.to_thread(_remove, self._home, self.path, self._made)
        self._server = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="control connection")
        self._connections.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("connection_failed", exc_info=error)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await self._hello(reader, writer)
            if request["op"] == "chat" and self._stream is not None:
                await self._say(writer, {"ok": True})
                await self._stream(reader, writer)
            else:
                await self._say(writer, await self._answer(request))
        except _Refusal as refusal:
            with suppress(OSError):
                await self._say(writer, {"ok": False, "error": refusal.sentence, "code": refusal.code})
        except OSError:
            pass  # the client went away; what it asked for is done or was not begun
        except asyncio.CancelledError:
            pass  # we are closing, and nobody waits for this task but `aclose`
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await asyncio.wait_for(writer.wait_closed(), 1.0)

    async def _hello(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> JSONObject:
        uid = _peer_uid(writer)
        if uid not in (None, 0, os.geteuid()):
            raise _Refusal("This home belongs to another user; ask as that user or as root.")
        if len(self._connections) > MAX_CONNECTIONS:
            raise _Refusal(f"More than {MAX_CONNECTIONS} commands and chats are connected; try again later.")
        try:
            line = await asyncio.wait_for(reader.readline(), HELLO_SECONDS)
        except TimeoutError:
            raise _Refusal(f"Nothing was asked within {HELLO_SECONDS:g} s.") from None
        except ValueError:
            raise _Refusal(f"The request is longer than {MAX_LINE} bytes.") from None
        return self._parse(line)

    def _parse(self, line: bytes) -> JSONObject:
        try:
            request = json.loads(line)
        except ValueError:
            request = None
        if not isinstance(request, dict) or not isinstance(request.get("op"), str):
            raise _Refusal('The request is no line of JSON such as {"protocol": 1, "op": "status"}.')
        if request.get("protocol") != PROTOCOL:
            raise _Refusal(
                f"The command speaks control protocol {request.get('protocol')}, "
                f"the running daemon {PROTOCOL}; stop the daemon and start it from the same installation."
            )
        if request["op"] not in self._handlers and not (request["op"] == "chat" and self._stream):
            raise _Refusal(f"The {self._role} that runs does not know the request {request['op'][:40]!r}.")
        return request

    async def _answer(self, request: JSONObject) -> JSONObject:
        try:
            return {"ok": True, **await self._handlers[request["op"]](request)}
        except HermesError as error:
            return {"ok": False, "error": str(error), "code": error.exit_code}
        except Exception:  # noqa: BLE001  neither the daemon nor who asks may hang on a broken handler
            _log.exception("control_failed", op=request["op"])
            return {
                "ok": False,
                "error": f"The daemon failed at {request['op']!r}; its log says why.",
                "code": 1,
            }

    async def _say(self, writer: asyncio.StreamWriter, answer: JSONObject) -> None:
        writer.write(json.dumps({"pid": os.getpid(), "role": self._role, **answer}).encode() + b"\n")
        await writer.drain()


# --- the client that stays connected -----------------------------------------------------------------


async def connect(
    home: Home, op: str = "chat", **fields: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, JSONObject] | None:
    """A connection that stays, and its first answer; `None`: nobody listens. Raises `ControlRefused`."""
    path = await asyncio.to_thread(recorded_path, home)
    if path is None:
        return None
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=8 * MAX_LINE)
    except (OSError, ValueError):
        return None
    try:
        writer.write(encode(op, fields))
        line = await asyncio.wait_for(reader.readline(), HELLO_SECONDS)
        if not line:  # it was closing
            writer.close()
            return None
        return reader, writer, decode(line)
    except OSError:
        writer.close()
        return None
    except BaseException:
        writer.close()
        raise
