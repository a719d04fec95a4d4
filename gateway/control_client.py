"""Asking the running daemon over its control socket.

Imports nothing but the standard library and little of that, since `hermes status` has a few milliseconds.
One line of JSON goes out, one comes back; protocol version 1.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from hermes.errors import EXIT_CONFIG, HermesError
from hermes.home import Home

__all__ = ["PROTOCOL", "ControlRefused", "ask", "decode", "encode", "recorded_path", "running_daemon"]

PROTOCOL = 1
MAX_ANSWER = 8 << 20
"""Bytes of one answer; a longer one is no answer of ours."""


class ControlRefused(HermesError):
    """The daemon did not do what it was asked."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = code


def encode(op: str, fields: dict[str, Any]) -> bytes:
    """The first line of a connection."""
    return json.dumps({"protocol": PROTOCOL, "op": op, **fields}).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The answer in `line`. Raises `ControlRefused` with the daemon's own sentence when it says no."""
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ControlRefused("The daemon's answer was cut; its log may say why.")
    if not answer.get("ok"):
        raise ControlRefused(str(answer.get("error") or "The daemon refused."), int(answer.get("code") or 1))
    return answer


def recorded_path(home: Home) -> str | None:
    """The socket that the home names; nobody may listen there any more."""
    try:
        return home.control.read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def ask(home: Home, op: str, *, seconds: float = 10.0, **fields: Any) -> dict[str, Any] | None:
    """The daemon's answer to `op`; `None` when no daemon listens for this home.

    Blocks for at most about `seconds`. Raises `ControlRefused` when it says no, does not answer or may not
    be asked.
    """
    path = recorded_path(home)
    if path is None:
        _check_reachable(home)
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(seconds)
        try:
            connection.connect(path)
            connection.sendall(encode(op, fields))
            line = _read_line(connection)
        except PermissionError:
            raise ControlRefused(f"{path} belongs to another user; ask as the user who runs it.") from None
        except TimeoutError:
            raise ControlRefused(f"The daemon did not answer within {seconds:g} s ({path}).") from None
        except (OSError, ValueError):  # nobody listens, or it went away just now
            return None
    return decode(line) if line else None


def _check_reachable(home: Home) -> None:
    """That no socket is named says nothing where we may not look."""
    try:
        home.control.stat()
    except PermissionError:
        raise ControlRefused(
            f"The home {home.root} cannot be read; ask as the user who owns it.", EXIT_CONFIG
        ) from None
    except OSError:
        return


def running_daemon(home: Home, *, seconds: float = 10.0) -> dict[str, Any] | None:
    """The status of the daemon that runs in the home; `None` for none, and when only a chat has it. As `ask`."""
    answer = ask(home, "status", seconds=seconds)
    return answer if answer is not None and answer.get("role") == "daemon" else None


def _read_line(connection: socket.socket) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece or len(line) > MAX_ANSWER:
            break
        line += piece
    return bytes(line)
