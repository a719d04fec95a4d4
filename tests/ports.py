"""Ports for servers that must be told theirs before they start.

They lie below those that the system gives away by itself (`ip_local_port_range`), so that nobody who asks for any port
gets one of ours; each process begins at another place.
"""

import itertools
import os
import socket

__all__ = ["free_port"]

_FIRST, _COUNT = 12_000, 20_000
_next = itertools.count(os.getpid() * 97)


def free_port() -> int:
    """A port of 127.0.0.1 that is free now and was not given before by this process."""
    for number in itertools.islice(_next, _COUNT):
        port = _FIRST + number % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError("no port is free")
