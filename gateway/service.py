"""Telling the service manager how we are: sd_notify(3), over the datagram socket in `NOTIFY_SOCKET`.

Without that variable everything here does nothing. The watchdog is fed from the event loop itself, so that a
blocked loop is a silent one, and systemd restarts the process.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import clock_gettime_ns

import structlog

__all__ = ["Notifier", "watchdog_interval"]

_log = structlog.get_logger("hermes.service")


def watchdog_interval(environ: Mapping[str, str], pid: int) -> float | None:
    """Seconds between pings: half of `WATCHDOG_USEC` (sd_watchdog_enabled(3)); `None`: none are wanted."""
    if environ.get("WATCHDOG_PID", str(pid)).strip() != str(pid):
        return None
    try:
        microseconds = int(environ.get("WATCHDOG_USEC", ""))
    except ValueError:
        return None
    return microseconds / 2e6 if microseconds > 0 else None


@dataclass(slots=True)
class Notifier:
    """The line to the service manager. No method raises or blocks: a lost notice hurts nobody."""

    address: str | None = None
    interval: float | None = None
    _socket: socket.socket | None = None
    _feeding: asyncio.Task[None] | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] = os.environ, pid: int | None = None) -> Notifier:
        """The notifier that the environment asks for."""
        address = environ.get("NOTIFY_SOCKET", "")
        if not address.startswith(("/", "@")):
            return cls()
        interval = watchdog_interval(environ, os.getpid() if pid is None else pid)
        return cls("\0" + address[1:] if address.startswith("@") else address, interval)

    @property
    def enabled(self) -> bool:
        """Whether a service manager listens."""
        return self.address is not None

    def ready(self, status: str = "") -> None:
        """Everything is up."""
        self._send("READY=1", *([f"STATUS={_line(status)}"] if status else []))

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(f"STATUS={_line(text)}")

    def reloading(self) -> None:
        """The configuration is being read anew; `ready` ends that."""
        now = clock_gettime_ns(1) // 1000  # CLOCK_MONOTONIC
        self._send("RELOADING=1", f"MONOTONIC_USEC={now}")

    def stopping(self, status: str = "") -> None:
        """The end has begun."""
        self._send("STOPPING=1", *([f"STATUS={_line(status)}"] if status else []))

    def extend(self, seconds: float) -> None:
        """Start or stop takes up to so many seconds more, from now (a migration, a drain)."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}")

    def feed(self) -> None:
        """Start to feed the watchdog from the running loop, at once and then at each half of its interval."""
        if self.interval is not None and self.enabled and self._feeding is None:
            self._feeding = asyncio.create_task(self._feed(self.interval), name="watchdog")

    async def aclose(self) -> None:
        """Stop feeding and hang up."""
        if self._feeding is not None:
            self._feeding.cancel()
            with suppress(asyncio.CancelledError):
                await self._feeding
            self._feeding = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def _feed(self, interval: float) -> None:
        while True:
            self._send("WATCHDOG=1")
            await asyncio.sleep(interval * 0.9)  # so that a little lag never makes a gap longer than half

    def _send(self, *lines: str) -> None:
        if self.address is None:
            return
        try:
            if self._socket is None:
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                self._socket.settimeout(0)
            self._socket.sendto("\n".join(lines).encode(), self.address)
        except OSError as error:
            _log.warning("notify_failed", error=str(error), what=lines[0])


def _line(text: str) -> str:
    return " ".join(text.split())
