"""Sockets for one host and port, and errors that say what to change."""

from __future__ import annotations

import asyncio
import errno
import os
import socket

from gateway.http.holder import holder_of
from hermes.errors import ConfigError, PortTaken

__all__ = ["bind"]

# What the kernel takes in before we look at it. Small, so that a body over the limit is noticed soon after
# the limit.
_RECEIVE_BUFFER = 32 * 1024


async def bind(host: str, port: int) -> list[socket.socket]:
    """Bound sockets, one per address of `host`; with port 0 all get the same free port.

    Raises `PortTaken` with the name of the process that holds the port, `ConfigError` for an address that
    is not ours.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as e:
        raise ConfigError(f"gateway.http.host: {host!r} is no address of this machine ({e.strerror}).") from e
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            chosen = sockets[0].getsockname()[1] if sockets else port
            sockets.append(_bound(family, (address[0], chosen, *address[2:])))
    except OSError as e:
        for open_socket in sockets:
            open_socket.close()
        raise await _explained(e, host, port) from e
    return sockets


def _bound(family: int, address: tuple[str | int | bytes, ...]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)  # accepted sockets inherit it
        bound.settimeout(0)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


async def _explained(error: OSError, host: str, port: int) -> PortTaken | ConfigError:
    if error.errno == errno.EADDRINUSE:
        holder = await asyncio.to_thread(holder_of, port)
        by = holder or "a process that this user cannot see"
        return PortTaken(
            f"Port {port} on {host} is taken by {by}; stop it, or set gateway.http.port to another port."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return ConfigError(
            f"gateway.http.port: this user may not listen on port {port}; use one above 1023, such as 8642."
        )
    return ConfigError(f"gateway.http.host: cannot listen on {host} port {port} ({error.strerror}).")
